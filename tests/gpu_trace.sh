#!/usr/bin/env bash
# Traces of rungs on a GPU: the traced launch is right, and what its warps wrote down can be true.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

# The rung and a shape: several tiles for each CTA, and more k-tiles than stages.
TRACED=(
    "v04 --m 2048 --n 2048 --k 1024"
    "v07 --m 4096 --n 4096 --k 1024"
    "v12 --m 4096 --n 4096 --k 1024"
    "v16 --m 4096 --n 4096 --k 1024"
    "a02 --m 1024 --n 1024 --k 512"
    "a05 --m 4096 --n 4096 --k 1024"
    "t08 --m 4096 --n 4096"
)
work=build/tests/gpu_trace
rm -rf $work
mkdir -p $work

for words in "${TRACED[@]}"; do
    rung=${words%% *}
    name="$rung's trace on a GPU is whole"
    if ! find_nvcc >/dev/null; then
        skip "$name" "needs nvcc to be built, and a GPU"
        continue
    elif [[ ! -x build/trace/steps/$rung ]]; then
        not_ok "$name" "build/trace/steps/$rung was not built"
        continue
    fi
    # shellcheck disable=SC2086 # the words of a shape are arguments
    output=$(timeout 300 python3 -m bench.trace "build/trace/steps/$rung" --out $work \
        ${words#* } 2>&1)
    status=$?
    if [[ $status -eq 77 ]]; then
        skip "$name" "$(tail -n 1 <<<"$output")"
    elif [[ $status -ne 0 ]]; then
        echo "$output"
        not_ok "$name" "exit status $status: $(tail -n 1 <<<"$output")"
    else
        ok "$name: $(grep '^kept ' <<<"$output" | tr -s ' ')"
    fi
done
finish
