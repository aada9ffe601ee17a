#!/usr/bin/env bash
# compute-sanitizer finds nothing in any rung: no access out of bounds or to what was never written
# (memcheck, initcheck), no race in shared memory (racecheck), no misused barrier (synccheck).
#
#   tests/gpu_sanitize.sh [RUNG...]
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

TILED=(--m 256 --n 512 --k 256)   # all rungs with a k take it
CLIPPED=(--m 200 --n 456 --k 200) # past the edge of every tile: for the rungs that clip
MOVED=(--m 128 --n 256)           # the same two for the t track, which has no k
MOVED_CLIPPED=(--m 100 --n 228)
LOGS=build/tests/logs

find_sanitizer() {
    command -v compute-sanitizer && return
    local sanitizer=${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer
    [[ -x $sanitizer ]] && echo "$sanitizer"
}

# clean NAME TOOL RUNG SHAPE...: one case; false if this machine cannot run the rung.
clean() {
    local name=$1 tool=$2 rung=$3 report=$LOGS/sanitizer.$3.out status
    shift 3
    timeout 120 "$sanitizer" --tool "$tool" --error-exitcode 99 "build/steps/$rung" "$@" \
        --protocol none >"$report" 2>&1
    status=$?
    if [[ $status -eq 77 ]]; then
        skip "$name" "$(tail -n 1 "$report")"
        return 1
    elif [[ $status -eq 0 ]]; then
        ok "$name"
    else
        cat "$report"
        not_ok "$name" "exit status $status: $(grep -m 1 '=========' "$report")"
    fi
}

mkdir -p "$LOGS"
sanitizer=$(find_sanitizer)

sanitize_rung() {
    local rung=$1 source=$2 tiled=("${TILED[@]}") clipped=("${CLIPPED[@]}")
    if [[ -z $sanitizer || ! -x build/steps/$rung ]]; then
        skip "$rung under compute-sanitizer" "needs the CUDA Toolkit and a GPU"
        return
    fi
    [[ $rung == t* ]] && tiled=("${MOVED[@]}") clipped=("${MOVED_CLIPPED[@]}")
    for tool in memcheck initcheck racecheck synccheck; do
        clean "$rung passes $tool" "$tool" "$rung" "${tiled[@]}" || return
        grep -Eq '\.multiple_m = (1|4),' "$source" || continue
        clean "$rung passes $tool with clipped tiles" "$tool" "$rung" "${clipped[@]}"
    done
}

each_rung sanitize_rung "$@"
finish
