#!/usr/bin/env bash
# Every variant (bench/variants/) still applies to its rung, says what it tries, goes by its own
# name and is built as a rung is: without a warning, a spill or ptxas' C75xx.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

work=$PWD/build/tests/variants
rm -rf "$work"
mkdir -p "$work"

# applied PATCH TREE: copies what a variant may change to TREE and patches it there.
applied() {
    mkdir -p "$2/common"
    cp -r steps "$2"
    cp -r common/device "$2/common"
    GIT_CEILING_DIRECTORIES=$work git -C "$2" apply --whitespace=nowarn "$PWD/$1"
}

# changed TREE: the files in it that differ from the rungs and headers.
changed() {
    diff -rq steps "$1/steps"
    diff -rq common/device "$1/common/device"
}

for patch in bench/variants/*.patch; do
    variant=$(basename "$patch" .patch)
    rung=${variant%%-*}
    tree=$work/$variant

    is "$variant is the name of a variant" "write for instance v06-each-sm" \
        grep -qxE '[vat][0-9]{2}-[a-z0-9-]+' <<<"$variant"
    is "$variant begins with words" "its first line is not '# ' and words" \
        grep -qE '^# [A-Za-z]' <(head -n 1 "$patch")
    is "$variant says what was expected" "no comment with 'Expected:'" grep -qE '^# Expected: ' "$patch"

    if ! why=$(applied "$patch" "$tree" 2>&1); then
        not_ok "$variant applies" "$(head -n 1 <<<"$why"); repair the patch for the rung as it is now"
        continue
    fi
    why=$(changed "$tree" | grep -vE "steps/${rung}_|common/device/" | head -n 1)
    is "$variant changes its rung and device headers alone" "$why" test -z "$why"
    is "$variant goes by its own name" "no .name = \"$variant\" in its step record" \
        grep -qF ".name = \"$variant\"," "$tree/steps/${rung}_"*.cu

    built=build/variants/steps/$variant
    if find_nvcc >/dev/null; then
        clean "$variant is built as a rung is" "$built" "$built.ptxas.log"
        is "$variant is built anew" "something changed since; make variants" make -q "$built.o"
    else
        skip "$variant is built" "needs nvcc"
    fi
done

# rebuilt FILE: the variants that make would compile again if it changed.
rebuilt() {
    make -n --no-print-directory -W "$1" variants 2>/dev/null |
        sed -nE "s|.*echo 'nvcc bench/variants/([^']*)\\.patch'.*|\1|p" | sort
}
if ! find_nvcc >/dev/null; then
    finish
fi
same "a changed patch rebuilds its variant alone" \
    "$(rebuilt bench/variants/v08-no-multicast.patch)" v08-no-multicast
same "a changed rung rebuilds its variants alone" "$(rebuilt steps/v11_*.cu)" \
    "$(cd bench/variants && printf '%s\n' v11-*.patch | sed 's/\.patch$//')"
same "a changed device header rebuilds all variants" "$(rebuilt common/device/tma.cuh | wc -l)" \
    "$(find bench/variants -name '*.patch' | wc -l)"
finish
