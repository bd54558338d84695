#!/bin/sh
# Prints the licences of everything that is linked into the native library: each crate with what it says of itself, and each
# text once, with the crates that it holds for.
#
#   scripts/notices.sh > THIRD-PARTY.txt
#
# Reads Cargo.lock and the crates' own files. Fails if a crate's files are not where cargo puts them, or have no licence text
# though their licence asks for one to be passed on.
set -eu
cd "$(dirname "$0")/.."
registry="${CARGO_HOME:-$HOME/.cargo}/registry/src"
work=$(mktemp -d "${TMPDIR:-/tmp}/undercroft-notices-XXXXXX")
trap 'rm -rf "$work"' EXIT

# Build scripts and procedural macros run while compiling and are no part of the library; `no-proc-macro` leaves the latter out.
${CARGO:-cargo} tree --locked --edges normal,no-proc-macro --no-dedupe --prefix none --format '{p}|{l}' |
    sed -e 's/ (\*)//' -e 's/ ([^)]*)//' | sort -u | grep -v '^undercroft v' >"$work/crates"
[ -s "$work/crates" ] || { echo "notices.sh: cargo tells of no crate" >&2; exit 1; }

echo "Undercroft's native library is linked with these. Undercroft itself is under the Apache License 2.0 (LICENSE)."
echo
: >"$work/texts"
while IFS='|' read -r crate licence; do
    name=${crate%% v*}
    version=${crate##* v}
    printf '%s %s: %s\n' "$name" "$version" "$licence"
    folder=$(find "$registry" -mindepth 2 -maxdepth 2 -type d -name "$name-$version" | head -n 1)
    [ -n "$folder" ] || { echo "notices.sh: no sources of $name $version below $registry" >&2; exit 1; }
    # What a binding brings along (librdkafka, zstd) has texts of its own.
    find "$folder" -maxdepth 3 -type f \( -iname 'LICEN[SC]E*' -o -iname 'COPYING*' -o -iname 'NOTICE*' -o -iname 'COPYRIGHT*' \) \
        ! -name '*.rs' ! -name '*.html' | LC_ALL=C sort |
        while read -r text; do
            printf '%s|%s %s|%s\n' "$(sha256sum "$text" | cut -c 1-64)" "$name" "$version" "$text"
        done >>"$work/texts"
done <"$work/crates"

for hash in $(cut -d '|' -f 1 "$work/texts" | LC_ALL=C sort -u); do
    echo
    echo "================================================================================"
    grep "^$hash|" "$work/texts" | cut -d '|' -f 2 | sort -u
    echo "--------------------------------------------------------------------------------"
    cat "$(grep -m 1 "^$hash|" "$work/texts" | cut -d '|' -f 3)"
done
