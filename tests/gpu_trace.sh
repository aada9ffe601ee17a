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
    rung=${words%% *} program=build/trace/steps/${words%% *}
    name="$rung's trace on a GPU is whole"
    if [[ -x $program ]]; then
        # shellcheck disable=SC2086 # the words of a shape are arguments
        attempt python3 -m bench.trace "$program" --out $work ${words#* }
        judge "$name$(sed -n 's/^kept  */: kept /p' <<<"$output")"
    elif find_nvcc >/dev/null; then
        not_ok "$name" "$program was not built"
    else
        skip "$name" "needs nvcc to be built, and a GPU"
    fi
done
finish
