#!/usr/bin/env bash
# Sources are formatted and linted. The versions that decide are in tests/requirements.txt.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

# check NAME TOOL COMMAND...: ok if the command succeeds; what it said stands above a failure.
check() {
    local name=$1
    shift
    if "$@" 2>&1; then ok "$name"; else not_ok "$name" "see above; make format may repair it"; fi
}

bin=build/venv/bin

# check_formats SOURCE...: one run for all; it names what it would change, as SOURCE:LINE:COLUMN.
check_formats() {
    local source said status good=() bad=()
    said=$($bin/clang-format --dry-run --Werror "$@" 2>&1)
    status=$?
    for source; do
        if [[ $'\n'$said == *$'\n'"$source:"* ]]; then bad+=("$source"); else good+=("$source"); fi
    done
    [[ $status -eq 0 ]] || echo "$said"
    if [[ $status -ne 0 && ${#bad[@]} -eq 0 ]]; then
        not_ok "clang-format" "exit status $status, and it names none of $# sources"
        return
    fi
    for source in "${good[@]+"${good[@]}"}"; do ok "clang-format $source"; done
    for source in "${bad[@]+"${bad[@]}"}"; do
        not_ok "clang-format $source" "see above; make format may repair it"
    done
}

if make -s build/venv/tests.stamp >/dev/null 2>&1; then
    mapfile -t sources < <(find steps common bench plots standalone tests -name '*.[ch]' -o -name '*.cu' \
        -o -name '*.cuh' -o -name '*.cpp' | sort)
    check_formats "${sources[@]}"
    check "ruff check" $bin/ruff check --quiet .
    check "ruff format" $bin/ruff format --quiet --check .
else
    skip clang-format "tests/requirements.txt could not be installed"
    skip ruff "tests/requirements.txt could not be installed"
fi

if command -v shellcheck >/dev/null; then
    for script in .ci/run tests/*.sh tests/tools/*.sh; do
        check "shellcheck $script" shellcheck -x "$script"
    done
else
    skip shellcheck "install shellcheck"
fi
finish
