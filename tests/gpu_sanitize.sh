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
TOOLS=(memcheck initcheck racecheck synccheck)
# Clipping changes addresses and which lanes store, not who waits for whom: no racecheck there.
TOOLS_CLIPPED=(memcheck initcheck synccheck)

sanitizer=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v compute-sanitizer)

# clean TOOL RUNG NAME OPTION...: one case; false if this machine cannot run the rung.
clean() {
    attempt "$sanitizer" --tool "$1" --error-exitcode 99 "build/steps/$2" "${@:4}" --protocol none
    judge "$2 passes $1$3"
}

sanitize_rung() {
    local tiled=("${TILED[@]}") clipped=("${CLIPPED[@]}") tool
    if [[ -z $sanitizer ]]; then
        skip "$1 under compute-sanitizer" "needs the CUDA Toolkit"
        return
    fi
    [[ $1 == t* ]] && tiled=("${MOVED[@]}") clipped=("${MOVED_CLIPPED[@]}")
    for tool in "${TOOLS[@]}"; do clean "$tool" "$1" "" "${tiled[@]}" || return; done
    grep -Eq '\.multiple_m = (1|4),' "$2" || return
    for tool in "${TOOLS_CLIPPED[@]}"; do clean "$tool" "$1" " with clipped tiles" "${clipped[@]}"; done
}

each_rung "under compute-sanitizer" build/steps sanitize_rung "$@"
finish
