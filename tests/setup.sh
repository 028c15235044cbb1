#!/usr/bin/env bash
# Installs what the tests need beside packages of Rust and Python. Does nothing where it is there.
#   setup.sh     the Python tests: Chromium and the fonts that the stored pictures of the report were made with,
#                and tshark, which reads the captures
#   setup.sh c   the tests of the C library: compilers, valgrind, pkg-config, and node for WebAssembly. What cannot
#                be installed those tests leave out, and say so
#   setup.sh bpf what `make bpf` builds the algorithms for the Linux kernel with, and what their tests make networks with
set -euo pipefail

missing=()
if [ "${1:-}" = c ]; then
    for tool in gcc g++ clang valgrind pkg-config; do
        command -v "$tool" > /dev/null || missing+=("$tool")
    done
    command -v node > /dev/null || missing+=(nodejs)
    refuse() { echo "without ${missing[*]}: $1"; exit 0; }
elif [ "${1:-}" = bpf ]; then
    # Any clang does, with whatever number; one that CLANG names is the user's own affair.
    [[ $'\n'$(compgen -c clang)$'\n' =~ $'\n'clang(-[0-9]+)?$'\n' ]] || [ -n "${CLANG:-}" ] || missing+=(clang)
    PATH="$PATH:/usr/sbin" command -v bpftool > /dev/null || [ -n "${BPFTOOL:-}" ] || missing+=(bpftool)
    [ -f /usr/include/bpf/bpf_helpers.h ] || missing+=(libbpf-dev)
    PATH="$PATH:/usr/sbin:/sbin" command -v tc > /dev/null || missing+=(iproute2)
    PATH="$PATH:/usr/sbin:/sbin" command -v nft > /dev/null || missing+=(nftables)
    refuse() { echo "the kernel's algorithms need ${missing[*]}: $1" >&2; exit 1; }
else
    [ -x /usr/bin/chromium ] || missing+=(chromium)
    command -v tshark > /dev/null || missing+=(tshark)
    for font in dejavu-core liberation; do
        dpkg --status "fonts-$font" > /dev/null 2>&1 || missing+=("fonts-$font")
    done
    refuse() { echo "the tests need ${missing[*]}: $1" >&2; exit 1; }
fi
[ ${#missing[@]} -eq 0 ] && exit 0

command -v apt-get > /dev/null || refuse "there is no apt-get to install them with"
become=()
if [ "$(id -u)" != 0 ]; then
    sudo -n true 2> /dev/null || refuse "sudo apt-get install ${missing[*]}"
    become=(sudo -n)
fi
echo "installing ${missing[*]}"
{
    "${become[@]}" apt-get update --quiet=2 &&
        DEBIAN_FRONTEND=noninteractive "${become[@]}" apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}" > /dev/null
} || refuse "apt-get failed"
