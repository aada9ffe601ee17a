#!/usr/bin/env bash
# Sources are formatted and linted. The versions that decide are in tests/requirements.txt.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

# check NAME COMMAND...: ok if the command succeeds; above a failure is what it said.
check() {
    if "${@:2}" 2>&1; then ok "$1"; else not_ok "$1" "see above; make format may repair it"; fi
}

bin=build/venv/bin
packages tests
status=$?
if [[ $status -eq 0 ]]; then
    mapfile -t sources < <(find steps common emulator bench plots standalone tests -name '*.[ch]' -o -name '*.cu' \
        -o -name '*.cuh' -o -name '*.cpp' | sort)
    check "clang-format of ${#sources[@]} sources" $bin/clang-format --dry-run --Werror "${sources[@]}"
    check "ruff check" $bin/ruff check --quiet .
    check "ruff format" $bin/ruff format --quiet --check .
elif [[ $status -eq 77 ]]; then
    skip "clang-format, ruff" "there is no network to install them from"
else
    not_ok "clang-format, ruff" "tests/requirements.txt could not be installed: see build/venv/tests.log"
fi

if command -v shellcheck >/dev/null; then
    check shellcheck shellcheck -x .ci/run tests/*.sh tests/tools/*.sh
else
    skip shellcheck "install shellcheck"
fi
finish
