# shellcheck shell=sh
# Read by the scripts that make BPF of algorithms: build.sh, and crates/replay/bpf/build.sh. They define `missing`,
# which says what they lack and ends them, and `fail`.
#
# The compiler of Rust writes assembly for BPF, and clang assembles it: the object files of both hold the code
# of their own LLVM, and these versions do not read each other's.

scripts=$root/bpf
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}/bpf"
export CARGO_TARGET_DIR
target=bpfel-unknown-none
# Functions of numbers, whose result is one, that the verifier looks at once, for any arguments, and not at each call.
# They must be none of those that the compiler inlines for BPF.
alone='div_wide mul_div opaque power shift_div stretched_bits'

# find_tools: sets clang, bpftool and python.
find_tools() {
    # Debian has clang with the number of its version.
    clang=${CLANG:-}
    for name in clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19; do
        [ -n "$clang" ] || clang=$(command -v "$name" || true)
    done
    [ -n "$clang" ] || missing "clang (apt install clang-14)"
    bpftool=${BPFTOOL:-$(PATH="$PATH:/usr/sbin" command -v bpftool || true)}
    [ -n "$bpftool" ] || missing "bpftool (apt install bpftool)"
    [ -f /usr/include/bpf/bpf_helpers.h ] || missing "the headers of libbpf (apt install libbpf-dev)"
    python=$(command -v python3 || true)
    [ -n "$python" ] || missing "python3"
    command -v flock >/dev/null || missing "flock (apt install util-linux)"
    core="$(rustc --print sysroot)/lib/rustlib/src/rust/library/core/src/lib.rs"
    [ -f "$core" ] || { command -v rustup >/dev/null && rustup component add rust-src >/dev/null 2>&1; } || true
    [ -f "$core" ] || missing "the source of Rust's core library (rustup component add rust-src)"
}

# algorithms: a line for each, as crates/cc/bpf/src/kernels.rs prints it.
algorithms() {
    cargo run --quiet --locked --manifest-path "$root/crates/cc/bpf/Cargo.toml" --bin kernels
}

# assemble CRATE MODULE FOLDER: the functions of one algorithm of a crate, as FOLDER/MODULE.o. Those of crates/cc/bpf are
# kept, because the objects for `incast kernel`, those that record and those that replay are made of the same ones.
assemble() {
    crate=$1
    [ "$crate" = "$root/crates/cc/bpf" ] || { assemble_now "$2" "$3"; return; }
    kept=$CARGO_TARGET_DIR/kept/$( (rustc -vV; "$clang" --version) | cksum | tr ' ' -)
    mkdir -p "$kept"
    # One at a time: cargo would build them one after the other, too.
    exec 8>"$CARGO_TARGET_DIR/kept/lock"
    flock 8
    if ! [ -f "$kept/$2.o" ] || [ -n "$(find "$crate" "$root/crates/cc/src" "$root/crates/cc/Cargo.toml" \
        "$root/crates/units/src" "$root/crates/units/Cargo.toml" "$root/Cargo.toml" "$scripts/compile.sh" \
        "$scripts/tidy.awk" "$scripts/tidy_types.py" -newer "$kept/$2.o" -type f)" ]; then
        # As old as its sources were read, not as it was written.
        touch "$kept/$2.began"
        assemble_now "$2" "$kept"
        touch -r "$kept/$2.began" "$kept/$2.o"
    fi
    cp "$kept/$2.o" "$3/$2.o"
    exec 8>&-
}

# assemble_now MODULE FOLDER: the same of $crate, whether it has been done before or not.
assemble_now() {
    package=$(sed -n 's/^name = "\(.*\)"$/\1/p' "$crate/Cargo.toml" | head -n 1)
    built=$CARGO_TARGET_DIR/$target/release
    listing=$(printf '%s' "$package" | tr - _)
    # cargo would not write the assembly of what it has built before.
    rm -rf "$built/deps/$listing"*.s "$built/.fingerprint/$package"-*
    # RUSTC_BOOTSTRAP lets the stable compiler build the core library; the crates use no unstable feature.
    (cd "$crate" && RUSTC_BOOTSTRAP=1 CARGO_PROFILE_RELEASE_DEBUG=2 cargo rustc --locked --lib \
        --release --target "$target" -Zbuild-std=core -- --emit=asm -C target-cpu=v3 --cfg one \
        --cfg "$1") >"$2/$1.log" 2>&1 || { cat "$2/$1.log" >&2; fail "$1 does not compile"; }
    awk -v "prefix=incast_$1_" -v "alone=$alone" -f "$scripts/tidy.awk" "$built/deps/$listing"*.s >"$2/$1.s"
    "$clang" -target bpf -mcpu=v3 -c "$2/$1.s" -o "$2/$1.o"
    "$python" "$scripts/tidy_types.py" "$2/$1.o"
}

# compile FROM TO OPTION…: C to BPF.
compile() {
    from=$1
    object=$2
    shift 2
    "$clang" -O2 -g -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 \
        "-I/usr/include/$(uname -m)-linux-gnu" "$@" -c "$from" -o "$object"
}

# types OBJECT: the types of an object file, as text.
types() { "$bpftool" btf dump file "$1" format raw; }
