#!/usr/bin/env bash
# Two processes that run the same rung on the same inputs get the same bits, by the digest of the
# whole output. Within a process the harness itself compares all launches that it checks. The t
# track only moves words, which the exact checks compare.
#
#   tests/gpu_reproducible.sh [RUNG...]
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

# m n k. Clipped tiles, where a rung takes them; else tiles that leave the last wave unfilled.
CLIPPED=(--m 1000 --n 1048 --k 1112)
TILED=(--m 2304 --n 3328 --k 1088)
SQUARE=(--size 2048)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# reproduce RUNG OPTION...: false if this machine cannot run the rung at all.
reproduce() {
    local rung=$1 name="$1 gives the same bits in two processes at ${*:2}" why='' digests=()
    for _ in first second; do
        rm -f "$work/$rung.json"
        attempt "build/steps/$rung" "${@:2}" --rounds 1 --json "$work/$rung.json"
        [[ $status -eq 0 ]] || break
        digests+=("$(sed -nE 's/^ *"digest": "(0x[0-9a-f]{16})",?$/\1/p' "$work/$rung.json")")
    done
    [[ $status -ne 0 || (-n ${digests[0]} && ${digests[0]} == "${digests[1]}") ]] ||
        why="digest '${digests[0]}', then '${digests[1]}'"
    judge "$name" "$why"
}

reproduce_rung() {
    local ragged=("${TILED[@]}")
    [[ $1 != t* ]] || return
    ! grep -q '\.multiple_m = 1,' "$2" || ragged=("${CLIPPED[@]}")
    reproduce "$1" "${ragged[@]}" && reproduce "$1" "${SQUARE[@]}"
}

each_rung "gives the same bits in two processes" build/steps reproduce_rung "$@"
finish
