#!/bin/sh
# Installs the C library: install.sh BUILT PREFIX
# BUILT is the folder with libincast_capi.a and libincast_capi.so. Header, libraries and pkg-config file go
# below PREFIX, an absolute path; with DESTDIR in the environment they go to $DESTDIR$PREFIX.
set -eu

[ $# -eq 2 ] || { echo "usage: $0 BUILT PREFIX" >&2; exit 2; }
case $2 in
    /*) ;;
    *) echo "$0: the prefix must be an absolute path, not $2" >&2; exit 2 ;;
esac
here=$(dirname "$0")
built=$1 prefix=$2 to="${DESTDIR:-}$2"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../Cargo.toml" | head -n 1)
abi=$(sed -n 's/^#define INCAST_CC_ABI \([0-9]*\)$/\1/p' "$here/include/incast_cc.h")
[ -n "$version" ] && [ -n "$abi" ] || { echo "$0: no version, or no number of the ABI" >&2; exit 1; }

install -d "$to/include" "$to/lib/pkgconfig"
install -m 644 "$here/include/incast_cc.h" "$to/include/"
install -m 644 "$built/libincast_capi.a" "$to/lib/libincast_cc.a"
install -m 755 "$built/libincast_capi.so" "$to/lib/libincast_cc.so.$abi"
ln -sf "libincast_cc.so.$abi" "$to/lib/libincast_cc.so"
sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" "$here/incast_cc.pc.in" > "$to/lib/pkgconfig/incast_cc.pc"
