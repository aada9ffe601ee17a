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
if make -s build/venv/tests.stamp >/dev/null 2>&1; then
    mapfile -t sources < <(find steps common bench plots standalone tests -name '*.[ch]' -o -name '*.cu' \
        -o -name '*.cuh' -o -name '*.cpp' | sort)
    for source in "${sources[@]}"; do
        check "clang-format $source" $bin/clang-format --dry-run --Werror "$source"
    done
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
