# Sourced by the tests: one line per case, and the exit status at the end.
# shellcheck shell=bash
failures=0

ok() {
    echo "ok - $1"
}

# not_ok NAME WHY
not_ok() {
    echo "not ok - $1: $2"
    failures=$((failures + 1))
}

# skip NAME WHY
skip() {
    echo "skip - $1: $2"
}

# is NAME WHY COMMAND...: ok if the command succeeds.
is() {
    local name=$1 why=$2
    shift 2
    if "$@" >/dev/null 2>&1; then ok "$name"; else not_ok "$name" "$why"; fi
}

# not COMMAND...: true if the command fails.
not() {
    ! "$@"
}

# The test's exit status: call it last.
finish() {
    [[ $failures -eq 0 ]]
    exit
}

# Where nvcc is, as the Makefile finds it; false if it is nowhere.
find_nvcc() {
    command -v nvcc && return
    local nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
    [[ -x $nvcc ]] && echo "$nvcc"
}

# sources_of [RUNG...]: the files of these rungs, or of all, into $sources. A name that is none ends
# the test.
sources_of() {
    local rung
    sources=()
    for rung; do
        sources+=("steps/${rung}_"*.cu)
        [[ -e ${sources[-1]} ]] || { echo "there is no rung $rung" >&2; exit 2; }
    done
    [[ $# -gt 0 ]] || sources=(steps/*.cu)
}

# each_rung FUNCTION [RUNG...]: calls it with each rung's name and file, several rungs at a time, and
# shows what they print rung by rung. Most of such a case is the start of a process.
each_rung() {
    local function=$1 source outputs at_once
    shift
    sources_of "$@"
    at_once=$(nproc)
    outputs=$(mktemp -d) || exit 1
    for source in "${sources[@]}"; do
        while [[ $(jobs -rp | wc -l) -ge $((at_once < 8 ? at_once : 8)) ]]; do wait -n; done
        "$function" "$(basename "${source%%_*}")" "$source" >"$outputs/${source##*/}" 2>&1 &
    done
    wait
    cat "$outputs"/*
    failures=$((failures + $(cat "$outputs"/* | grep -c '^not ok - ')))
    rm -r "$outputs"
}
