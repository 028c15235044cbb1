#!/bin/sh
# Proves that the congestion control core compiles to the kernel's BPF: builds every function of every
# algorithm for bpfel-unknown-none with a stable compiler and reads the assembly.
#   * No call but to functions of the same assembly: no helper of a compiler's run-time library
#     (__multi3, __udivti3, memcpy, memset, floating point, panics) and no helper of the kernel.
#   * No indirect call and no signed division.
#   * A stack frame of at most 256 bytes, and at most 512 bytes (the kernel's limit) in a chain of calls
#     of at most 8 functions, each frame rounded up to 32 bytes as the verifier does.
#   * At most five arguments (the compiler refuses more).
# Each rule is first broken on purpose, to see the check fail.
# Needs the source of the core library (rustup component add rust-src; done here where rustup is). Where
# it cannot be had, the last line says SKIPPED.
set -eu

cd "$(dirname "$0")"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$(cd ../../.. && pwd)/target}/bpf"
export CARGO_TARGET_DIR
target=bpfel-unknown-none
log="$CARGO_TARGET_DIR/check.log"
largest_frame=256
mkdir -p "$CARGO_TARGET_DIR"

say() { printf 'bpf core: %s\n' "$*"; }
fail() {
    say "FAILED: $*" >&2
    exit 1
}

have() { [ -f "$(rustc --print sysroot)/lib/rustlib/src/rust/library/core/src/lib.rs" ]; }
have || { command -v rustup >/dev/null && rustup component add rust-src >/dev/null 2>&1; } || true
if ! have; then
    say "SKIPPED: the core library's source is not installed (rustup component add rust-src)"
    exit 0
fi

# Builds with the given arguments; the assembly is in $assembly, what the compiler said in $log.
# RUSTC_BOOTSTRAP lets the stable compiler build the core library; the crates use no unstable feature.
build() {
    rm -f "$CARGO_TARGET_DIR/$target"/release/deps/incast_cc_bpf*.s
    touch src/lib.rs # cargo would not write the assembly of a crate that it has built before
    RUSTC_BOOTSTRAP=1 cargo rustc --locked --lib --release --target "$target" -Zbuild-std=core "$@" -- \
        --emit=asm -C target-cpu=v3 >"$log" 2>&1 || return 1
    assembly=$(ls "$CARGO_TARGET_DIR/$target"/release/deps/incast_cc_bpf*.s)
}

# Prints what the assembly $1 does against the rules, then "functions F, largest frame B in NAME, deepest
# chain D".
examine() {
    awk -v largest_frame="$largest_frame" '
        function rounded(bytes) { return bytes == 0 ? 32 : int((bytes + 31) / 32) * 32 }
        # Largest stack of a chain of calls from the function, and the length of its longest chain.
        function depth(f, level,    all, most, i) {
            if (level > 8) { print "a chain of more than 8 calls through " f; return 0 }
            split(calls[f], all, " ")
            for (i in all) {
                if (depth(all[i], level + 1) > most) most = chain[all[i]]
            }
            chain[f] = rounded(frame[f]) + most
            return chain[f]
        }
        function used(bytes) { if (bytes > frame[name]) frame[name] = bytes }

        /^[ \t]*\.type[ \t].*,@function/ {
            name = $2; sub(/,.*/, "", name)
            defined[name] = 1; order[++functions] = name; copied = ""
        }
        /^[ \t]*[.#;]/ || /^[^ \t]/ || /^[ \t]*$/ { next }
        {
            line = $0; gsub(/^[ \t]+|[ \t]+$/, "", line)
            if (copied != "" && match(line, "^" copied " \\+= -[0-9]+")) {
                bytes = line; sub(/.*-/, "", bytes); used(bytes + 0)
            } else if (copied != "") {
                print name " takes the address of its frame in a way that this check does not know: " line
            }
            copied = ""
            if (line ~ /^r[0-9] = r10$/) { copied = substr(line, 1, 2) }
            else if (match(line, /r10 [-+] -?[0-9]+/)) {
                bytes = substr(line, RSTART, RLENGTH); sub(/.*[-+ ]/, "", bytes); used(bytes + 0)
            }
            if (line ~ /^callx/) print name " makes an indirect call: " line
            else if (line ~ /^call /) {
                callee = line; sub(/^call /, "", callee)
                if (index(" " calls[name] " ", " " callee " ") == 0) calls[name] = calls[name] " " callee
            }
            if (line ~ /s[\/%]=/) print name " divides signed numbers: " line
        }
        END {
            for (i = 1; i <= functions; i++) {
                f = order[i]
                split(calls[f], all, " ")
                for (j in all) {
                    if (!(all[j] in defined)) { print f " calls " all[j]; outside = 1 }
                }
                if (frame[f] > largest_frame) print f " has a stack frame of " frame[f] " bytes"
                if (frame[f] > most) { most = frame[f]; where = f }
            }
            for (i = 1; !outside && i <= functions; i++) {
                if (depth(order[i], 1) > deepest) { deepest = chain[order[i]]; from = order[i] }
            }
            if (deepest > 512) print from " needs " deepest " bytes of stack with what it calls"
            printf "functions %d, largest frame %d bytes (%s), largest chain %d bytes (%s)\n",
                functions, most, where, deepest, from
        }' "$1"
}

# Fails unless a build with rule $1 broken is refused, for the reason that matches $2.
refused() {
    if build --features "$1"; then
        examine "$assembly" >>"$log"
    fi
    grep -Eq "$2" "$log" || { cat "$log" >&2; fail "'$1' is not refused: this check proves nothing"; }
}

refused panic 'calls a_panic_is_reachable'
refused wide-product '__multi3'
refused wide-division '__udivti3'
refused float '__muldf3|__floatundidf'
refused signed-division 'signed division|divides signed numbers'
refused copy 'memcpy|memmove'
refused stack 'has a stack frame of|stack limit'
refused many-arguments 'too many arguments|stack arguments'

build || { cat "$log" >&2; fail "it does not compile to BPF"; }
for source in $(grep -l '^impl Described for' ../src/*.rs); do
    module=$(basename "$source" .rs)
    grep -q "^incast_${module}_on_ack:" "$assembly" || fail "for_each_algorithm! leaves out $module"
done
for source in $(grep -l '^impl Filtered for' ../src/*.rs); do
    module=$(basename "$source" .rs)
    grep -q "^incast_median_${module}_on_ack:" "$assembly" || fail "for_each_filtered! leaves out $module"
done
examine "$assembly" >"$log"
[ "$(wc -l <"$log")" -eq 1 ] || { cat "$log" >&2; fail "it breaks the rules above"; }
say "every algorithm compiles to $target: $(cat "$log")"
