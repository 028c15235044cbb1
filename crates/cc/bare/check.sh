#!/bin/sh
# Proves that the congestion control core is bare, on any machine with the stable toolchain:
#   1. no floating point and no 128-bit integer in its source (tests apart);
#   2. no std, no allocator, no reachable panic: a program without any of them that makes every call of
#      every algorithm links, although its panic handler calls a function that does not exist; and it
#      calls no 128-bit division;
#   3. the same for a bare 32-bit target, where floating point and signed 64-bit division would be
#      calls too, and there are none.
# Every rule of 2 and 3 is first broken on purpose, to see the check fail.
# Without the bare target's core library (offline) 3 is left out, and the last line says so.
set -eu

cd "$(dirname "$0")"
CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$(cd ../../.. && pwd)/target}/bare"
export CARGO_TARGET_DIR
bare=thumbv7em-none-eabi
log="$CARGO_TARGET_DIR/check.log"
mkdir -p "$CARGO_TARGET_DIR"

say() { printf 'bare core: %s\n' "$*"; }
fail() {
    say "FAILED: $*" >&2
    exit 1
}

# Builds with the given arguments; what the compiler said is in $log.
build() { cargo build --locked --release "$@" >"$log" 2>&1; }

# Fails unless the build with rule $1 broken is refused, for the reason that matches $2.
refused() {
    rule=$1 reason=$2
    shift 2
    if build --features "$rule" "$@"; then
        fail "a build with the feature '$rule' passes: this check proves nothing"
    fi
    grep -q "$reason" "$log" || { cat "$log" >&2; fail "the build with '$rule' failed for another reason"; }
}

# 1. The source, without comments, and without what follows #[cfg(test)].
sources=$(find ../src ../../units/src -name '*.rs' ! -name testing.rs ! -name tests.rs)
# shellcheck disable=SC2086 # file names without spaces
found=$(awk '
    FNR == 1 { tests = 0 }
    /^#\[cfg\(test\)\]/ && FILENAME !~ /lib\.rs$/ { tests = 1 }
    tests { next }
    { code = $0; sub(/\/\/.*/, "", code) }
    code ~ /(^|[^A-Za-z0-9])_?(f32|f64|u128|i128)([^A-Za-z0-9]|$)/ { print FILENAME ":" FNR ": " $0 }
' $sources)
[ -z "$found" ] || fail "floating point or 128-bit integers in the core:
$found"
say "no f32, f64, u128, i128 in $(echo "$sources" | wc -w) source files"

# Functions of the compiler's run-time library that program $1 calls, of the kinds that kernel BPF lacks.
helpers() {
    grep -aoE '__aeabi_[df][a-z0-9]+|__aeabi_u?[il]2[df]|__aeabi_ldivmod|__u?(div|mod|divmod)ti[34]' "$1" |
        sort -u | tr '\n' ' '
}

# Fails unless the program $2 built with rule $1 broken holds such a call.
noticed() {
    rule=$1 built=$2
    shift 2
    build --features "$rule" "$@" || { cat "$log" >&2; fail "no build with '$rule'"; }
    [ -n "$(helpers "$built")" ] || fail "no trace of '$rule' in a program that has it: this check proves nothing"
}

# 2. The host.
program="$CARGO_TARGET_DIR/release/incast-cc-bare"
refused panic a_panic_is_reachable
refused allocation 'no global memory allocator'
noticed wide "$program"
build || { cat "$log" >&2; fail "it does not link; 'undefined symbol: a_panic_is_reachable' means a reachable panic"; }
[ -z "$(helpers "$program")" ] || fail "it calls $(helpers "$program")"
say "links without std, allocator and panics on the host; calls no 128-bit division"

# 3. A bare target.
have() { [ -d "$(rustc --print sysroot)/lib/rustlib/$bare" ]; }
have || { command -v rustup >/dev/null && rustup target add "$bare" >/dev/null 2>&1; } || true
if ! have; then
    say "SKIPPED on $bare: its core library is not installed (rustup target add $bare)"
    exit 0
fi
program="$CARGO_TARGET_DIR/$bare/release/incast-cc-bare"
noticed float "$program" --target "$bare"
noticed signed-division "$program" --target "$bare"
refused panic a_panic_is_reachable --target "$bare"
build --target "$bare" || { cat "$log" >&2; fail "it does not link on $bare"; }
[ -z "$(helpers "$program")" ] || fail "on $bare it calls $(helpers "$program")"
say "links on $bare; calls no floating point and no signed 64-bit division"
