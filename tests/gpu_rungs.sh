#!/usr/bin/env bash
# Every rung is right on shapes that find mistakes: one tile, far from square, fewer k-tiles than
# stages, more tiles than CTAs, and, where a rung takes them, shapes that no tile divides.
#
#   tests/gpu_rungs.sh [RUNG...]
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

# m n k, and further options. All rungs take multiples of 256, 256 and 64.
TILED=(
    "256 256 64" "256 512 64" "256 256 4096" "1024 2048 512" "2304 3328 1088" "4096 4096 128"
    "256 16384 256" "16384 256 192"
)
# An odd number of tiles in m: not for v08, whose clusters span two.
ODD=(
    "128 256 64" "128 16384 256" "1152 768 320"
)
# Only the bytes of a row must be a multiple of 16. With those above they take v18 to each of its
# kernels: many tiles of few k-tiles are multiplied in turns.
CLIPPED=(
    "128 8 8" "8 8 8" "1 8 8" "1 8 4096" "200 456 200" "130 264 72" "1000 1000 1000"
    "5000 264 136" "2660 3088 328" "3132 4016 456" "8200 8200 8200 --check sample"
    "16384 16384 16384 --check sample"
)

# Long sums, beyond what fp16 holds, with rows as long as a03 to a06 take them, and the shape of a
# tall, thin product: for the a track.
LONG=(
    "256 8 8388608" "256 128 20480" "81920 256 256" "8192 8192 8192 --check sample"
)
# Of the t track, rows and columns: one tile, a corner of one, far from square, more tiles than CTAs
# fit, buffers of more than 4 GiB. The last needs 48 GB of GPU memory.
MOVED=(
    "32 32" "4 4" "4 8" "256 4096" "32 32768" "32768 32" "1000 1004" "4 131072" "131072 4"
    "4 4194304" "4194304 4" "128 65532" "4096 16384" "1024 2048 --inputs bits" "40000 32768"
)
# Of these, m need not be a multiple of 4 where nothing is transposed.
ADDED=(
    "1 4" "3 4" "33 36"
)
# What BLAS says of alpha and beta, at a shape that is not square.
SCALARS=()
for alpha in 0 1 -2.5; do
    for beta in 0 1 -2.5; do SCALARS+=("1000 260 520 --alpha $alpha --beta $beta"); done
done
SCALARS+=("256 512 64 --alpha 0.3 --beta 7e3" "256 512 64 --alpha 1e-38 --beta 1"
    "256 512 64 --alpha 1e-38 --beta 0")

# Whoever holds this file's lock may use much of the GPU's memory.
LARGE=build/tests/logs/large.lock
mkdir -p "${LARGE%/*}"

# verify RUNG M N K [OPTION...]: false if this machine cannot run the rung at all. Without K for the t
# track.
verify() {
    local rung=$1 shape=${2}x$3 words=(--m "$2" --n "$3") LOCK=
    shift 3
    if [[ $rung != t* ]]; then
        shape+=x$1 words+=(--k "$1")
        shift
    fi
    [[ $shape =~ [0-9]{5}x[0-9]{5} || $shape =~ [0-9]{7} ]] && LOCK=$LARGE
    attempt "build/steps/$rung" "${words[@]}" --protocol none "$@"
    judge "$rung is right at $shape${*:+ $*}"
}

verify_rung() {
    local rung=$1 shapes=("${TILED[@]}")
    [[ $rung == v08 ]] || shapes+=("${ODD[@]}")
    ! grep -q '\.multiple_m = 1,' "$2" || shapes+=("${CLIPPED[@]}")
    [[ $rung == a* ]] && shapes+=("${LONG[@]}")
    [[ $rung == a01 ]] && shapes+=("${SCALARS[@]}")
    [[ $rung == t* ]] && shapes=("${MOVED[@]}")
    [[ $rung == t01 ]] && shapes+=("${ADDED[@]}")
    for shape in "${shapes[@]}"; do
        # shellcheck disable=SC2086 # the words of a shape are arguments
        verify "$rung" $shape || return
    done
}

each_rung "is right" build/steps verify_rung "$@"
finish
