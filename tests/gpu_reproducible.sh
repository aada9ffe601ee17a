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
CLIPPED="1000 1048 1112"
TILED="2304 3328 1088"
SQUARE="2048 2048 2048"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# digest_of RUNG M N K: into $digest; what the program said is in $output. Returns its exit status.
digest_of() {
    local status
    rm -f "$work/$1.json"
    output=$(timeout 120 "build/steps/$1" --m "$2" --n "$3" --k "$4" --rounds 1 \
        --json "$work/$1.json" 2>&1)
    status=$?
    digest=$(sed -nE 's/^ *"digest": "(0x[0-9a-f]{16})",?$/\1/p' "$work/$1.json" 2>/dev/null)
    return "$status"
}

# reproduce RUNG M N K: false if this machine cannot run the rung at all.
reproduce() {
    local name="$1 gives the same bits in two processes at $2x$3x$4" first status
    for process in first second; do
        digest_of "$@"
        status=$?
        if [[ $status -eq 77 ]]; then
            skip "$1 gives the same bits in two processes" "$(tail -n 1 <<<"$output")"
            return 1
        elif [[ $status -ne 0 || -z $digest ]]; then
            echo "$output"
            not_ok "$name" "exit status $status, digest '$digest': $(tail -n 1 <<<"$output")"
            return 0
        fi
        [[ $process == second ]] || first=$digest
    done
    if [[ $first == "$digest" ]]; then ok "$name"; else not_ok "$name" "$first, then $digest"; fi
}

reproduce_rung() {
    local rung=$1 source=$2 ragged=$TILED
    [[ $rung != t* ]] || return
    if ! find_nvcc >/dev/null; then
        skip "$rung gives the same bits in two processes" "needs nvcc to be built, and a GPU"
        return
    elif [[ ! -x build/steps/$rung ]]; then
        not_ok "$rung gives the same bits in two processes" "build/steps/$rung was not built"
        return
    fi
    ! grep -q '\.multiple_m = 1,' "$source" || ragged=$CLIPPED
    for shape in "$ragged" "$SQUARE"; do
        # shellcheck disable=SC2086 # the words of a shape are arguments
        reproduce "$rung" $shape || return
    done
}

each_rung reproduce_rung "$@"
finish
