#!/bin/sh
# build.sh [FOLDER]: makes the algorithms of crates/cc into congestion controls for the Linux kernel, one
# object NAME.bpf.o for each, in FOLDER (by default where `incast kernel load` looks for them).
# build.sh --own CRATE MODULE TYPE NAME [FOLDER]: makes an algorithm that is in none of them into MODULE.bpf.o; see
# examples/custom-algorithm/kernel for the crate, and docs/guide/from-simulator-to-kernel.md. NAME is that in the kernel:
# incast_ and at most eight characters.
# build.sh --check: only says which tool is missing, and fails then.
#
# The compiler of Rust writes assembly for BPF, and clang assembles it: the object files of both hold the code
# of their own LLVM, and these versions do not read each other's. bpftool links that with glue.bpf.c.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
check=false
own=
if [ "${1:-}" = --check ]; then
    check=true
    shift
elif [ "${1:-}" = --own ]; then
    [ $# -ge 5 ] || { echo "bpf: build.sh --own CRATE MODULE TYPE NAME [FOLDER]" >&2; exit 2; }
    own=$(cd "$2" && pwd)
    algorithm="$3 $4 $5 0 NONE"
    case $5 in
    incast_?*) ;;
    *) echo "bpf: $5 must begin with incast_, by which incast kernel list knows it" >&2; exit 2 ;;
    esac
    [ ${#5} -le 15 ] || { echo "bpf: $5 has more than 15 characters, which the kernel does not take" >&2; exit 2; }
    shift 5
fi
to=${1:-$root/python/incast/kernel/objects}
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}/bpf"
export CARGO_TARGET_DIR
target=bpfel-unknown-none
work="$CARGO_TARGET_DIR/objects"

# Name in scenarios; module, type of the state, name in the kernel (15 characters at most), ECN, and what it can want
# in a TCP option (echo.h).
algorithms='
oscar Oscar incast_oscar 0 DELAY
ccc Ccc incast_ccc 0 NONE
theta_powertcp ThetaPowerTcp incast_theta 0 NONE
powertcp PowerTcp incast_powertcp 0 TELEMETRY
hpcc Hpcc incast_hpcc 0 TELEMETRY
swift Swift incast_swift 0 NONE
mswift MSwift incast_mswift 0 NONE
timely Timely incast_timely 0 NONE
sqcc Sqcc incast_sqcc 0 NONE
dctcp Dctcp incast_dctcp 1 NONE
'

fail() {
    printf 'bpf: %s\n' "$*" >&2
    exit 1
}

# Debian has clang with the number of its version.
clang=${CLANG:-}
for name in clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19; do
    [ -n "$clang" ] || clang=$(command -v "$name" || true)
done
[ -n "$clang" ] || fail "clang is missing (apt install clang-14)"
bpftool=${BPFTOOL:-$(PATH="$PATH:/usr/sbin" command -v bpftool || true)}
[ -n "$bpftool" ] || fail "bpftool is missing (apt install bpftool)"
[ -f /usr/include/bpf/bpf_helpers.h ] || fail "the headers of libbpf are missing (apt install libbpf-dev)"
python=$(command -v python3 || true)
[ -n "$python" ] || fail "python3 is missing"
core="$(rustc --print sysroot)/lib/rustlib/src/rust/library/core/src/lib.rs"
[ -f "$core" ] || { command -v rustup >/dev/null && rustup component add rust-src >/dev/null 2>&1; } || true
[ -f "$core" ] || fail "the source of Rust's core library is missing (rustup component add rust-src)"

! "$check" || exit 0
mkdir -p "$work" "$to"
to=$(cd "$to" && pwd)

# compile FROM TO OPTION…: C to BPF.
compile() {
    from=$1
    object=$2
    shift 2
    "$clang" -O2 -g -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 \
        "-I/usr/include/$(uname -m)-linux-gnu" "$@" -c "$from" -o "$object"
}

# The types of an object file, as text.
types() { "$bpftool" btf dump file "$1" format raw; }

# members NAME: the size of a struct, its members and their places, of what `types` prints.
members() {
    awk -v name="'$1'" '
        /^\[/ && ours { exit }
        /^\[/ { ours = $2 == "STRUCT" && $3 == name; if (ours) print $4; next }
        ours { print $1, $3 }'
}

# size_of NAME: the bytes of a struct, of what `types` prints.
size_of() {
    awk -v name="'$1'" '$2 == "STRUCT" && $3 == name { sub(/size=/, "", $4); print $4; exit }'
}

crate=$root/crates/cc/bpf
if [ -n "$own" ]; then
    crate=$own
    algorithms=$algorithm
fi
# The assembly of the crate, whatever its name.
assembly="$CARGO_TARGET_DIR/$target/release/deps"

printf '%s\n' "$algorithms" | while read -r module state ops ecn echo; do
    [ -n "$module" ] || continue
    log="$work/$module.log"
    rm -f "$assembly"/*.s
    touch "$crate/src/lib.rs" # cargo would not write the assembly of what it has built before
    # RUSTC_BOOTSTRAP lets the stable compiler build the core library; the crates use no unstable feature.
    (cd "$crate" && RUSTC_BOOTSTRAP=1 CARGO_PROFILE_RELEASE_DEBUG=2 cargo rustc --locked \
        --release --target "$target" -Zbuild-std=core -- --emit=asm -C target-cpu=v3 --cfg one \
        --cfg "$module") >"$log" 2>&1 || { cat "$log" >&2; fail "$module does not compile"; }
    awk -v "prefix=incast_${module}_" -f "$here/tidy.awk" \
        "$assembly"/*.s >"$work/$module.s"
    "$clang" -target bpf -mcpu=v3 -c "$work/$module.s" -o "$work/$module.o"
    "$python" "$here/tidy_types.py" "$work/$module.o"

    types "$work/$module.o" >"$work/$module.types"
    setup=$(awk '$2 == "STRUCT" && $3 ~ /^.Setup_/ { gsub(/\047/, "", $3); print $3; exit }' \
        "$work/$module.types")
    state_bytes=$(size_of "$state" <"$work/$module.types")
    setup_bytes=$(size_of "$setup" <"$work/$module.types")
    if [ -z "$state_bytes" ] || [ -z "$setup_bytes" ]; then
        fail "$module: the types of its state and setup are not found"
    fi
    compile "$here/glue.bpf.c" "$work/$module.glue.o" -D"OPS=$ops" -D"NEEDS_ECN=$ecn" -D"STATE=$state" \
        -D"STATE_BYTES=$state_bytes" -D"SETUP=$setup" -D"SETUP_BYTES=$setup_bytes" -D"ECHO=ECHO_$echo"
    types "$work/$module.glue.o" >"$work/$module.glue.types"
    for struct in Ack Loss Allowance IntStack IntHop; do
        members "$struct" <"$work/$module.types" >"$work/rust"
        members "$struct" <"$work/$module.glue.types" >"$work/c"
        if ! [ -s "$work/c" ] || ! cmp -s "$work/rust" "$work/c"; then
            fail "$module: struct $struct is another one in glue.bpf.c than in crates/cc/src/contract.rs"
        fi
    done
    "$bpftool" gen object "$to/$module.bpf.o" "$work/$module.glue.o" "$work/$module.o"
    printf 'bpf: %s: %s bytes of state, %s of setup\n' "$ops" "$state_bytes" "$setup_bytes"
done

[ -z "$own" ] || exit 0
for program in options mark stamp; do
    compile "$here/$program.bpf.c" "$to/$program.bpf.o"
done
