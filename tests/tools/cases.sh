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

# packages FOLDER: installs what its requirements.txt lists; 77 if no index could be reached.
packages() {
    local log=build/venv/$1.log
    make -s "build/venv/$1.stamp" >&2 && return
    grep -q 'connection broken by' "$log" && grep -q 'No matching distribution found' "$log" && return 77
    return 1
}

# Where nvcc is, as the Makefile finds it; false if it is nowhere.
find_nvcc() {
    command -v nvcc && return
    local nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
    [[ -x $nvcc ]] && echo "$nvcc"
}

# fault_in LOG: what ptxas found wrong with a kernel, or nvcc under STRICT=1, if anything.
fault_in() {
    local refused='C75[0-9][0-9]|[1-9][0-9]* bytes (spill|stack)'
    [[ ${STRICT:-} != 1 ]] || refused+='|warning'
    grep -m 1 -iE "$refused" "$1" ||
        grep -q ' 0 bytes spill stores, 0 bytes spill loads' "$1" || echo "$1 counts no spills"
}

# clean NAME PROGRAM LOG: the program was built, and the log has no fault.
clean() {
    local fault="see what make says"
    [[ -x $2 ]] && fault=$(fault_in "$3")
    is "$1" "$fault" test -z "$fault"
}
