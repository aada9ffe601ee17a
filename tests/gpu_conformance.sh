#!/usr/bin/env bash
# The instructions of this machine's GPU give the bytes that were recorded.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

program=build/tests/device/test_instructions-gpu
if [[ ! -x $program ]]; then
    skip "this GPU agrees with the recorded one" "needs nvcc to be built, and a GPU"
    finish
fi

for file in bench/results/instructions/*.json; do
    "$program" --compare "$file" || [[ $? -eq 77 ]] || failures=1 # 77: no such GPU, all are skipped
done
finish
