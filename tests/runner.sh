#!/usr/bin/env bash
# tests/run.sh counts what fails in every way that a test can fail: it is run here over planted
# tests, in a tree of its own.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh
unset STRICT

tree=$PWD/build/tests/runner
rm -rf "$tree"
mkdir -p "$tree/tests"
cp tests/run.sh "$tree/tests"
echo '1 tests/planted.sh' >"$tree/tests/cases.txt"

# counts NAME SUMMARY STATUS SCRIPT: run.sh over a test with this text says so and ends so.
counts() {
    local output status last
    rm -f "$tree"/tests/planted.sh
    printf '%s\n' "$4" >"$tree/tests/planted.sh"
    output=$(TEST_LIMIT=2 bash "$tree/tests/run.sh" 2>&1)
    status=$?
    last=$(tail -n 1 <<<"$output")
    if [[ $last == "$2" && $status -eq $3 ]]; then
        ok "a test that $1"
    else
        not_ok "a test that $1" "it says '$last' with exit status $status"
    fi
}

counts "passes" "2 passed, 0 failed, 0 skipped" 0 'echo "ok - a"; echo "ok - b"'
counts "fails a case" "1 passed, 1 failed, 0 skipped" 1 'echo "ok - a"; echo "not ok - b: no"; exit 1'
counts "fails a case but exits 0" "1 passed, 1 failed, 0 skipped" 1 'echo "ok - a"; echo "not ok - b: no"'
counts "skips a case" "1 passed, 0 failed, 1 skipped" 0 'echo "ok - a"; echo "skip - b: no GPU"'
counts "skips everything" "0 passed, 0 failed, 1 skipped" 1 'echo "no GPU"; exit 77'
counts "skips its cases with status 77" "0 passed, 0 failed, 1 skipped" 1 'echo "skip - a: no GPU"; exit 77'
counts "prints nothing" "0 passed, 1 failed, 0 skipped" 1 'true'
counts "exits 1 without a reason" "1 passed, 1 failed, 0 skipped" 1 'echo "ok - a"; exit 1'
counts "exits 3 after a failed case" "0 passed, 2 failed, 0 skipped" 1 'echo "not ok - a: b"; exit 3'
counts "crashes" "1 passed, 1 failed, 0 skipped" 1 'echo "ok - a"; kill -SEGV $$'
counts "dies in the middle of a line" "1 passed, 1 failed, 0 skipped" 1 'echo "ok - a"; printf "ok"; kill -ABRT $$'
counts "never ends" "1 passed, 1 failed, 0 skipped" 1 'echo "ok - a"; sleep 60'

EMULATOR_POLICY=lazy counts "must not see a policy" "1 passed, 0 failed, 0 skipped" 0 \
    "env | grep '^EMULATOR_' || echo 'ok - a'"

mkdir "$tree/bin"
printf '#!/bin/sh\n' >"$tree/bin/nvcc"
chmod +x "$tree/bin/nvcc"
export STRICT=1
counts "needs a GPU under STRICT=1" "0 passed, 0 failed, 1 skipped" 1 'echo "skip - a: no GPU"'
counts "needs a browser under STRICT=1" "0 passed, 1 failed, 0 skipped" 1 'echo "skip - a: no browser"'
CUDA_HOME=$tree counts "needs nvcc, which is there, under STRICT=1" "0 passed, 1 failed, 0 skipped" 1 \
    'echo "skip - a: needs nvcc"'
unset STRICT

echo '2 tests/planted.sh' >"$tree/tests/cases.txt"
counts "prints enough cases" "2 passed, 0 failed, 0 skipped" 0 'echo "ok - a"; echo "ok - b"'
counts "prints too few cases" "1 passed, 1 failed, 0 skipped" 1 'echo "ok - a"'
echo '2 tests/gone.sh' >"$tree/tests/cases.txt"
counts "is in no table, and another one is" "1 passed, 2 failed, 0 skipped" 1 'echo "ok - a"'
printf '%s\n' '1 tests/planted.sh' '1 tests/device/test_missing' >"$tree/tests/cases.txt"
printf 'int main(void) { return 0; }\n' >"$tree/test_missing.cpp"
mkdir -p "$tree/tests/device"
mv "$tree/test_missing.cpp" "$tree/tests/device"
counts "was not built" "1 passed, 1 failed, 0 skipped" 1 'echo "ok - a"'
finish
