#!/usr/bin/env bash
# Every rung as one file (`make standalone`), compiled by nvcc alone, is verified on a GPU by its own
# main: at its usual shape, which must be neither square nor made of powers of two, and at edges.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

# m n k. All rungs take multiples of 256, 256 and 64.
TILED=("256 256 64" "256 16384 192")
# Only the bytes of a row must be a multiple of 16.
CLIPPED=("1 8 8" "200 456 200")
# Sums beyond what fp16 holds, were A not mostly 0.
LONG=("256 128 20480")
# Of the t track, rows and columns.
MOVED=("4 4" "1000 1004" "4 131072" "131072 4")

# usual SHAPE: neither square nor made of powers of two, as "4224 x 6144 x 4160".
usual() {
    local size
    local -a sizes
    read -ra sizes <<<"${1//x/}"
    [[ ${#sizes[@]} -ge 2 && ${sizes[0]} -ne ${sizes[1]} ]] || return 1
    for size in "${sizes[@]}"; do [[ $((size & (size - 1))) -ne 0 ]] || return 1; done
}

# verify RUNG [M N [K]]: false if this machine cannot run the rung at all.
verify() {
    local why=''
    attempt "build/standalone/$1" "${@:2}"
    if [[ $status -eq 0 && $output != *': verified, '* ]]; then
        why="it does not say that it is verified"
    elif [[ $status -eq 0 && $# -eq 1 ]]; then
        tail -n 1 <<<"$output"
        usual "$(sed -n 's/ on .*: verified, .*//p' <<<"$output")" || why="its usual shape is no test"
    fi
    judge "$1's file of its own is verified${2:+ at ${*:2}}" "$why"
}

verify_file() {
    local rung=$1 shapes=("" "${TILED[@]}")
    [[ $rung == v1[0-9] || $rung == a* ]] && shapes+=("${CLIPPED[@]}")
    [[ $rung == a* ]] && shapes+=("${LONG[@]}")
    [[ $rung == t* ]] && shapes=("" "${MOVED[@]}")
    for shape in "${shapes[@]}"; do
        # shellcheck disable=SC2086 # the words of a shape are arguments
        verify "$rung" $shape || return
    done
}

each_rung "as a file of its own is verified" build/standalone verify_file
finish
