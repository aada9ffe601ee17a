#!/usr/bin/env bash
# Runs every test that this machine can run.
#
#   tests/run.sh [-v] [-j JOBS] [WORD...]     WORD: only tests with WORD in their name
#                                             JOBS: tests at a time, 2 to 4 unless it is given
#   FULL=1 in the environment: also what CONTRIBUTING.md says that only CI runs
#
# What is a test:
#   tests/unit/, tests/unit-gpu/ and tests/gpu/test_*.c, emulator/tests/test_*.cpp,
#   tests/device/test_*.cpp and .cu (for a GPU and for the emulator), built by make;
#   every tests/*.sh, tests/*.py but this file and emulator/tests/test_*.py. Helpers live in tests/tools/.
# Tests of the GPU (tests/device/*.cu, tests/gpu_*) run one at a time beside the others. What times
# (tests/gpu/) runs alone, at the end.
#
# A test prints one line per case, `ok - NAME`, `not ok - NAME: why` or `skip - NAME: why`, and
# exits non-zero if a case failed, 77 if it could run none. One that crashes, runs out of time, prints
# fewer cases than tests/cases.txt says (unless all are skipped) or exits non-zero without saying why
# counts as one failed case more. Under STRICT=1, as in CI, what is skipped has failed, unless it needs
# a GPU, or nvcc where there is none. What each test printed is in build/tests/logs/. The report says
# how long each took, while others ran beside it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# What make exports must not reach the make that a test calls, nor another policy or card its programs.
unset "${!EMULATOR_@}" MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL N V ARGS EMULATE TRACK SIZES PROTOCOL OLD NEW RESULTS
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
# The driver maps memory where the address sanitizer keeps a gap; 99 sets its exit status apart.
export ASAN_OPTIONS=protect_shadow_gap=0:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1

LOGS=build/tests/logs
LIMIT=${TEST_LIMIT:-1500} # seconds for one test; the longest builds and runs hundreds of programs
verbose=0
jobs=$(($(nproc) / 4)) # some tests use several cores themselves
jobs=$((jobs < 2 ? 2 : jobs > 4 ? 4 : jobs))

usage() {
    echo "usage: tests/run.sh [-v] [-j JOBS] [WORD...]" >&2
    exit 2
}
while getopts vj: option; do
    case $option in
    v) verbose=1 ;;
    j) jobs=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[[ $jobs =~ ^[1-9][0-9]?$ ]] || usage

# The names hold no blanks. The test that takes longest comes first; emulated_rungs.py, which keeps
# all cores busy by itself, at the end.
list_tests() {
    local source
    for source in tests/planted.py tests/{unit,unit-gpu,gpu}/test_*.c \
        {tests/device,emulator/tests}/test_*.cpp tests/device/test_*.cu tests/*.sh \
        {emulator/tests/test_,tests/[!e]}*.py tests/e*.py; do
        case $source in
        tests/run.sh) ;;
        *.cu) printf '%s\n' "build/${source%.cu}"{-emulated,-gpu} ;;
        *.c | *.cpp) echo "build/${source%.*}" ;;
        *) [[ ! -e $source ]] || echo "$source" ;;
        esac
    done | awk '!seen[$0]++'
}

have_nvcc() {
    command -v nvcc >/dev/null || [[ -x ${CUDA_HOME:-/usr/local/cuda}/bin/nvcc ]]
}
may_lack='(an? )?(NVIDIA )?GPU|gcc 12' # under STRICT=1
have_nvcc || may_lack+='|nvcc'

# least_of TEST: how many cases it prints at least.
least_of() {
    awk -v test="${1#build/}" '$2 == test { least = $1 } END { print least + 0 ? least : 1 }' tests/cases.txt
}

log_of() {
    local name=${1#build/}
    echo "$LOGS/$(tr / . <<<"${name#tests/}").log"
}

# run_one TEST: runs it, and turns everything that can go wrong into a line of its log.
run_one() {
    local test=$1 log status command ran skipped began=$SECONDS
    log=$(log_of "$test")
    if [[ ! -e $test ]]; then
        case $(have_nvcc || echo none):$test in
        none:build/tests/unit-gpu/* | none:build/tests/gpu/* | none:*-gpu)
            echo "skip - $test: building it needs nvcc" ;;
        *) echo "not ok - $test: it was not built; make says why" ;;
        esac >"$log"
        return
    fi
    case $test in
    *.sh) command=(bash "$test") ;;
    *.py) command=(python3 "$test") ;;
    # Tests of the host side give the same answer whether or not there is a GPU.
    build/tests/unit*) command=(env CUDA_VISIBLE_DEVICES=-1 "$test") ;;
    *) command=("$test") ;;
    esac
    timeout -k 10 "$LIMIT" "${command[@]}" >"$log" 2>&1 </dev/null &
    # timeout has a process group of its own: an interrupt must be handed on to it.
    # shellcheck disable=SC2064 # the process of now is meant
    trap "kill $! 2>/dev/null" INT TERM
    wait $!
    status=$?
    ran=$(grep -cE '^(not )?ok - ' "$log") skipped=$(grep -c '^skip - ' "$log")
    # What is added here begins a line even if the log does not end with a newline.
    if [[ $status -eq 124 || $status -eq 137 ]]; then
        printf '\nnot ok - %s: killed after %s s, or for memory\n' "$test" "$LIMIT" >>"$log"
    elif [[ $status -gt 128 ]]; then
        printf '\nnot ok - %s: died of signal %s\n' "$test" $((status - 128)) >>"$log"
    elif [[ $status -eq 77 && $ran -eq 0 && $test != *-emulated ]]; then
        [[ $skipped -gt 0 ]] || printf '\nskip - %s: %s\n' "$test" "$(tail -n 1 "$log")" >>"$log"
    elif [[ $status -ne 0 ]] && { [[ $status -ne 1 ]] || ! grep -q '^not ok - ' "$log"; }; then
        printf '\nnot ok - %s: exit status %s\n' "$test" "$status" >>"$log"
    elif [[ $((ran + skipped)) -lt $(least_of "$test") ]] && [[ $ran -gt 0 || $skipped -eq 0 ]]; then
        printf '\nnot ok - %s: %d cases are fewer than tests/cases.txt says\n' "$test" $((ran + skipped)) >>"$log"
    fi
    [[ ${STRICT:-} != 1 ]] || sed -i -E "/(needs|no) ($may_lack)/! s/^skip - /not ok - skipped under STRICT=1: /" "$log"
    echo $((SECONDS - began)) >"${log%.log}.seconds"
}

# run_all JOBS TEST...: at most JOBS at a time.
run_all() {
    local limit=$1 test
    shift
    trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
    for test; do
        while [[ $(jobs -rp | wc -l) -ge $limit ]]; do wait -n; done
        run_one "$test" &
    done
    wait
}

passed=0 failed=0 skipped=0
# report TEST: its counts in one line, then what failed with the log around it; -v shows all.
report() {
    local test=$1 log ok bad skip
    log=$(log_of "$test")
    ok=$(grep -c '^ok - ' "$log") bad=$(grep -c '^not ok - ' "$log") skip=$(grep -c '^skip - ' "$log")
    printf '%-36s %4d ok %4d not ok %4d skipped %5s s\n' "${test#build/}" "$ok" "$bad" "$skip" \
        "$(cat "${log%.log}.seconds" 2>/dev/null || echo 0)"
    if [[ $verbose -eq 1 ]]; then
        sed 's/^/    /' "$log"
    elif [[ $bad -gt 0 ]]; then
        grep -v -e '^ok - ' -e '^skip - ' "$log" | head -n 60 | sed 's/^/    /'
    fi
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

shopt -s nullglob
host_tests=() gpu_tests=() timed_tests=() # of the tests with one of the words in their names
for test in $(list_tests | grep -F "$(printf '%s\n' "$@")"); do
    case $test in
    build/tests/gpu/*) timed_tests+=("$test") ;;
    *-gpu | tests/gpu_*) gpu_tests+=("$test") ;;
    *) host_tests+=("$test") ;;
    esac
done
rm -rf "$LOGS"
mkdir -p "$LOGS"
run_all 1 "${gpu_tests[@]}" &
run_all "$jobs" "${host_tests[@]}" # the GPU's are one of these jobs
run_all 1 "${timed_tests[@]}"
for test in "${host_tests[@]}" "${gpu_tests[@]}" "${timed_tests[@]}"; do report "$test"; done
if [[ $# -eq 0 ]]; then
    # Without words: the table is of the tests that there are.
    while read -r test; do
        echo "not ok - $test: either tests/cases.txt or the test is missing"
        failed=$((failed + 1))
    done < <(comm -3 <(list_tests | sed 's|^build/||' | sort) <(awk '/^[0-9]/ { print $2 }' tests/cases.txt | sort) | tr -d '\t')
fi
echo "$passed passed, $failed failed, $skipped skipped" | tee build/tests/summary
[[ $failed -eq 0 && $passed -gt 0 ]]
