#!/usr/bin/env bash
# Every variant (bench/variants/) still applies to its rung, says what it tries, goes by its own
# name and is built as a rung is: without a warning, a spill or ptxas' C75xx.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

# A folder around this one may be a repository: git apply must not take its paths from there.
export GIT_CEILING_DIRECTORIES=${PWD%/*}

by_nvcc=$(make -s by-nvcc | tr ' ' '\n')
is "make says what nvcc has to build" "see make by-nvcc" test $? -eq 0
for patch in bench/variants/*.patch; do
    variant=$(basename "$patch" .patch)
    is "$variant is the name of a variant" "write for instance v06-each-sm" \
        grep -qxE '[vatf][0-9]{2}-[a-z0-9-]+' <<<"$variant"
    is "$variant begins with words" "its first line is not '# ' and words" \
        grep -qE '^# [A-Za-z]' <(head -n 1 "$patch")
    is "$variant says what was expected" "no comment with 'Expected:'" grep -qE '^# Expected: ' "$patch"
    is "$variant applies" "repair the patch for the rung as it is now" \
        git apply --check --whitespace=nowarn "$patch"
    others=$(git apply --numstat "$patch" | cut -f 3 | grep -vE "^(steps/${variant%%-*}_|common/device/)")
    is "$variant changes its rung and device headers alone" "${others//$'\n'/ }" test -z "$others"
    is "$variant goes by its own name" "no .name = \"$variant\" in its step record" \
        grep -qxE "\+ +\.name = \"$variant\"," "$patch"

    built=build/variants/steps/$variant
    if grep -qx "$built" <<<"$by_nvcc"; then
        clean "$variant is built as a rung is" "$built" "$built.ptxas.log"
        is "$variant is built anew" "something changed since; make variants" make -q "$built.o"
    else
        skip "$variant is built" "it needs nvcc, and is built if it was touched or with FULL=1"
    fi
done

# rebuilt FILE: the variants that make would compile again if it changed.
rebuilt() {
    make -n --no-print-directory -W "$1" variants 2>/dev/null |
        sed -nE "s|.*echo 'nvcc bench/variants/([^']*)\\.patch'.*|\1|p" | sort
}
if [[ $(grep -c /variants/ <<<"$by_nvcc") -ne $(find bench/variants -name '*.patch' | wc -l) ]]; then
    skip "a change rebuilds the variants that it has to" "not all are built"
    finish
fi
same "a changed patch rebuilds its variant alone" \
    "$(rebuilt bench/variants/v08-no-multicast.patch)" v08-no-multicast
same "a changed rung rebuilds its variants alone" "$(rebuilt steps/v11_*.cu)" \
    "$(cd bench/variants && printf '%s\n' v11-*.patch | sed 's/\.patch$//')"
same "a changed device header rebuilds all variants" "$(rebuilt common/device/tma.cuh | wc -l)" \
    "$(find bench/variants -name '*.patch' | wc -l)"
finish
