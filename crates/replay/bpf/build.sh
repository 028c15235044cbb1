#!/bin/sh
# build.sh FOLDER [MODULE…]: makes objects MODULE.bpf.o that replay traces in the kernel, of all algorithms or of those
# whose modules of crates/cc are named, and the programs `replay`, which loads them, and `collect`. Says on a line
# beginning with "missing: " what it lacks. bpf/compile.sh in the root folder says how Rust becomes BPF.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
to=$1
shift
mkdir -p "$to"
to=$(cd "$to" && pwd)

missing() {
    printf 'missing: %s\n' "$*"
    exit 0
}
fail() {
    printf 'bpf: %s\n' "$*" >&2
    exit 1
}

. "$root/bpf/compile.sh"
find_tools
[ -f /usr/include/bpf/libbpf.h ] || missing "the headers of libbpf (apt install libbpf-dev)"
command -v cc >/dev/null || missing cc

# One at a time.
exec 9>"$to/lock"
flock 9

# Without names all that there are.
[ $# -gt 0 ] || set -- $(algorithms | cut -d " " -f 1)
modules=$*

for program in replay collect; do
    cc -std=gnu11 -O2 -Wall -Wextra -Werror -I"$here" "$here/$program.c" -o "$to/$program.new" -lbpf
    mv "$to/$program.new" "$to/$program" # another may be running it
done

cd "$root"
sources="crates/cc/src crates/cc/bpf crates/units/src crates/replay/bpf bpf/compile.sh bpf/tidy.awk bpf/tidy_types.py"
for module in $modules; do
    if [ -f "$to/$module.bpf.o" ] && [ -z "$(find $sources -newer "$to/$module.bpf.o" -type f)" ]; then
        continue
    fi
    assemble "$root/crates/cc/bpf" "$module" "$to"
    types "$to/$module.o" >"$to/types"
    # The types of state, setup and acknowledgement, with their sizes: those that the first arguments of on_ack lead to.
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
                for (i = 1; i <= 3; i++) {
                    struct = to[argument[to[id], i]]
                    gsub(/\047/, "", name[struct])
                    print name[struct], size[struct]
                }
                exit
            }
        }' "$to/types")
    [ $# -eq 6 ] || fail "$module: the types of its state, its setup and acknowledgements are not found"
    compile "$here/replay.bpf.c" "$to/$module.glue.o" -D"STATE=$1" -D"STATE_BYTES=$2" -D"SETUP=$3" -D"SETUP_BYTES=$4" \
        -D"ACK_BYTES=$6"
    "$bpftool" gen object "$to/$module.bpf.o" "$to/$module.glue.o" "$to/$module.o"
done
