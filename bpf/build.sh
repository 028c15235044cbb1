#!/bin/sh
# build.sh [FOLDER]: makes the algorithms of crates/cc into congestion controls for the Linux kernel, one
# object NAME.bpf.o for each, in FOLDER (by default where `incast kernel load` looks for them).
# build.sh --own CRATE MODULE TYPE NAME [FOLDER]: makes an algorithm that is in none of them into MODULE.bpf.o; see
# examples/custom-algorithm/kernel for the crate, and docs/guide/from-simulator-to-kernel.md. NAME is that in the kernel:
# incast_ and at most eight characters.
# build.sh --record FOLDER: makes objects that also write down each call (crates/replay/src/recording.rs).
# build.sh --check: only says which tool is missing, and fails then.
#
# compile.sh says how Rust becomes BPF; bpftool links that with glue.bpf.c.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
check=false
own=
record=
if [ "${1:-}" = --check ]; then
    check=true
    shift
elif [ "${1:-}" = --record ]; then
    [ $# -eq 2 ] || { echo "bpf: build.sh --record FOLDER" >&2; exit 2; }
    record=-DRECORD
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
to=${1:-$root/python/incast/real/kernel/objects}

fail() {
    printf 'bpf: %s\n' "$*" >&2
    exit 1
}

missing() { fail "missing: $1"; }
. "$here/compile.sh"
work="$CARGO_TARGET_DIR/objects"
find_tools

! "$check" || exit 0
mkdir -p "$work" "$to"
to=$(cd "$to" && pwd)

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

# Module, type of the state, name in the kernel, ECN, and what it can want in a TCP option (echo.h).
if [ -n "$own" ]; then
    crate=$own
    table=$algorithm
else
    crate=$root/crates/cc/bpf
    table=$(algorithms) || fail "crates/cc/bpf does not compile"
fi

printf '%s\n' "$table" | while read -r module state ops ecn echo; do
    # The others have no entry in the kernel.
    [ -n "$echo" ] || continue
    assemble "$crate" "$module" "$work"

    types "$work/$module.o" >"$work/$module.types"
    setup=$(awk '$2 == "STRUCT" && $3 ~ /^.Setup_/ { gsub(/\047/, "", $3); print $3; exit }' \
        "$work/$module.types")
    state_bytes=$(size_of "$state" <"$work/$module.types")
    setup_bytes=$(size_of "$setup" <"$work/$module.types")
    if [ -z "$state_bytes" ] || [ -z "$setup_bytes" ]; then
        fail "$module: the types of its state and setup are not found"
    fi
    compile "$here/glue.bpf.c" "$work/$module.glue.o" -D"OPS=$ops" -D"NEEDS_ECN=$ecn" -D"STATE=$state" \
        -D"STATE_BYTES=$state_bytes" -D"SETUP=$setup" -D"SETUP_BYTES=$setup_bytes" -D"ECHO=ECHO_$echo" $record
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
