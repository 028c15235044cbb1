#!/usr/bin/env bash
# Installs what the tests need beside Python packages: Chromium and the fonts that the stored pictures
# of the report were made with, and tshark, which reads the captures. Does nothing where they are there.
set -euo pipefail

missing=()
[ -x /usr/bin/chromium ] || missing+=(chromium)
command -v tshark > /dev/null || missing+=(tshark)
for font in dejavu-core liberation; do
    dpkg --status "fonts-$font" > /dev/null 2>&1 || missing+=("fonts-$font")
done
[ ${#missing[@]} -eq 0 ] && exit 0

command -v apt-get > /dev/null || {
    echo "the tests need ${missing[*]}, and there is no apt-get to install them with" >&2
    exit 1
}
become=()
if [ "$(id -u)" != 0 ]; then
    sudo -n true 2> /dev/null || {
        echo "the tests need ${missing[*]}: sudo apt-get install ${missing[*]}" >&2
        exit 1
    }
    become=(sudo -n)
fi
echo "installing ${missing[*]} for the tests"
"${become[@]}" apt-get update --quiet=2
DEBIAN_FRONTEND=noninteractive "${become[@]}" apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}" > /dev/null
