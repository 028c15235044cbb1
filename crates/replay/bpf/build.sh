#!/bin/sh
# build.sh FOLDER [MODULE…]: makes objects MODULE.bpf.o that replay traces in the kernel, of all algorithms or of those
# whose modules of crates/cc are named, and the program `replay` that loads them. Says on a line beginning with
# "missing: " what it lacks. The way is that of bpf/build.sh in the root folder, which explains it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
to=$1
shift
mkdir -p "$to"
to=$(cd "$to" && pwd)
CARGO_TARGET_DIR="$to/target"
export CARGO_TARGET_DIR
target=bpfel-unknown-none

missing() {
    printf 'missing: %s\n' "$*"
    exit 0
}
fail() {
    printf 'bpf: %s\n' "$*" >&2
    exit 1
}

clang=${CLANG:-}
for name in clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19; do
    [ -n "$clang" ] || clang=$(command -v "$name" || true)
done
[ -n "$clang" ] || missing "clang (apt install clang-14)"
bpftool=${BPFTOOL:-$(PATH="$PATH:/usr/sbin" command -v bpftool || true)}
[ -n "$bpftool" ] || missing "bpftool (apt install bpftool)"
[ -f /usr/include/bpf/libbpf.h ] || missing "the headers of libbpf (apt install libbpf-dev)"
for tool in cc python3 flock; do
    command -v "$tool" >/dev/null || missing "$tool"
done
core="$(rustc --print sysroot)/lib/rustlib/src/rust/library/core/src/lib.rs"
[ -f "$core" ] || { command -v rustup >/dev/null && rustup component add rust-src >/dev/null 2>&1; } || true
[ -f "$core" ] || missing "the source of Rust's core library (rustup component add rust-src)"

# One at a time.
exec 9>"$to/lock"
flock 9

# All that are in the list of the functions.
[ $# -gt 0 ] || set -- $(awk '/^algorithms! \{/ { ours = 1; next } /^\}/ { ours = 0 } ours { sub(/:/, ""); print $1 }' \
    "$root/crates/cc/bpf/src/lib.rs")
modules=$*

cc -std=gnu11 -O2 -Wall -Wextra -Werror -I"$here" "$here/replay.c" -o "$to/replay.new" -lbpf
mv "$to/replay.new" "$to/replay" # another may be running it

cd "$root"
sources="crates/cc/src crates/cc/bpf crates/units/src crates/replay/bpf bpf/tidy.awk bpf/tidy_types.py"
for module in $modules; do
    if [ -f "$to/$module.bpf.o" ] && [ -z "$(find $sources -newer "$to/$module.bpf.o" -type f)" ]; then
        continue
    fi
    # cargo would not write the assembly of what it has built before.
    rm -rf "$CARGO_TARGET_DIR/$target"/release/deps/incast_cc_bpf*.s \
        "$CARGO_TARGET_DIR/$target"/release/.fingerprint/incast-cc-bpf-*
    (cd "$root/crates/cc/bpf" && RUSTC_BOOTSTRAP=1 CARGO_PROFILE_RELEASE_DEBUG=2 cargo rustc --locked \
        --release --target "$target" -Zbuild-std=core -- --emit=asm -C target-cpu=v3 --cfg one \
        --cfg "$module") >"$to/log" 2>&1 || { cat "$to/log" >&2; fail "$module does not compile"; }
    # A move of 32 bits clears the other half; older versions of clang write the register so.
    awk -v "prefix=incast_${module}_" -f "$root/bpf/tidy.awk" \
        "$CARGO_TARGET_DIR/$target"/release/deps/incast_cc_bpf*.s |
        sed -E 's/^([[:space:]]+)r([0-9]) = w([0-9])$/\1w\2 = w\3/' >"$to/$module.s"
    "$clang" -target bpf -mcpu=v3 -c "$to/$module.s" -o "$to/$module.o"
    python3 "$root/bpf/tidy_types.py" "$to/$module.o"
    "$bpftool" btf dump file "$to/$module.o" format raw >"$to/types"
    # The types of the state and of the setup, with their sizes: those that the first two arguments of on_ack lead to.
    set -- $(awk '
        { id = substr($1, 2, length($1) - 2) }
        /^\[/ { kind[id] = $2; name[id] = $3; now = id }
        /^\[/ && match($0, /size=[0-9]+/) { size[id] = substr($0, RSTART + 5, RLENGTH - 5) }
        match($0, /type_id=[0-9]+/) {
            type = substr($0, RSTART + 8, RLENGTH - 8)
            if (/^\[/) to[id] = type; else if (kind[now] == "FUNC_PROTO") argument[now, ++arguments[now]] = type
        }
        END {
            for (id in kind) {
                if (kind[id] != "FUNC" || name[id] != "\047on_ack\047" || arguments[to[id]] != 4) continue
                for (i = 1; i <= 2; i++) {
                    struct = to[argument[to[id], i]]
                    gsub(/\047/, "", name[struct])
                    print name[struct], size[struct]
                }
                exit
            }
        }' "$to/types")
    [ $# -eq 4 ] || fail "$module: the types of its state and setup are not found"
    "$clang" -O2 -g -Wall -Werror -target bpf -mcpu=v3 "-I/usr/include/$(uname -m)-linux-gnu" \
        -D"STATE=$1" -D"STATE_BYTES=$2" -D"SETUP=$3" -D"SETUP_BYTES=$4" \
        -c "$here/replay.bpf.c" -o "$to/$module.glue.o"
    "$bpftool" gen object "$to/$module.bpf.o" "$to/$module.glue.o" "$to/$module.o"
done
