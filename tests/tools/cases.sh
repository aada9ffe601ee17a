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

# same NAME REBUILT EXPECTED: what make would compile again is what it must.
same() {
    is "$1" "rebuilt: ${2//$'\n'/ }; expected: ${3//$'\n'/ }" test "$2" = "$3"
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

# each_rung WHAT FOLDER FUNCTION [RUNG...]: calls the function with each rung's name and file, several
# rungs at a time, and shows what they print rung by rung. Most of such a case is the start of a
# process. A rung without a program in the folder is one case, called WHAT.
each_rung() {
    local what=$1 folder=$2 function=$3 source rung outputs at_once
    shift 3
    sources_of "$@"
    at_once=$(nproc)
    outputs=$(mktemp -d) || exit 1
    for source in "${sources[@]}"; do
        while [[ $(jobs -rp | wc -l) -ge $((at_once < 8 ? at_once : 8)) ]]; do wait -n; done
        rung=$(basename "${source%%_*}")
        if [[ -x $folder/$rung ]]; then
            "$function" "$rung" "$source"
        elif find_nvcc >/dev/null; then
            not_ok "$rung $what" "$folder/$rung was not built"
        else
            skip "$rung $what" "needs nvcc to be built, and a GPU"
        fi >"$outputs/${source##*/}" 2>&1 &
    done
    wait
    cat "$outputs"/*
    failures=$((failures + $(cat "$outputs"/* | grep -c '^not ok - ')))
    rm -r "$outputs"
}

# attempt COMMAND...: what it prints goes to $output, its exit status to $status. Only one attempt runs
# at a time of those that $LOCK names a file for.
attempt() {
    output=$(${LOCK:+flock "$LOCK"} timeout 300 "$@" 2>&1)
    status=$?
}

# judge NAME [WHY]: the case of what was attempted: not ok if it failed, or if there is a WHY. False if
# this machine cannot run it.
judge() {
    local last=${output##*$'\n'}
    if [[ $status -eq 77 ]]; then
        skip "$1" "$last"
        return 1
    elif [[ $status -eq 2 && $output == *'of GPU memory and'* ]]; then
        skip "$1" "$last"
    elif [[ $status -eq 0 && -z ${2-} ]]; then
        ok "$1"
    else
        echo "$output"
        not_ok "$1" "${2:-exit status $status: $last}"
    fi
}
