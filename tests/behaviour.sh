#!/usr/bin/env bash
# What every rung's programs do with bad input, and the GPU's on a machine without a GPU or a driver:
# the GPU, if there is one, is hidden. tests/unit/test_options.c has all that options can be.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

export CUDA_VISIBLE_DEVICES=-1
shopt -s nullglob dotglob extglob
work=build/tests/behaviour
rm -rf $work
mkdir -p $work

# run ARGUMENT...: sets status, and leaves what the program under test printed in out and err.
run() {
    (cd $work && exec timeout 60 "$OLDPWD/$program" "$@" >out 2>err </dev/null)
    status=$?
}

# one_line NAME STATUS: the run ended with this status and exactly one line on stderr, said nothing
# on stdout and left no file.
one_line() {
    local lines files
    mapfile lines <$work/err
    files=("$work"/*)
    if [[ $status -ne $2 ]]; then
        not_ok "$1" "exit status $status, not $2: ${lines[0]:-}"
    elif [[ ${#lines[@]} -ne 1 || ${lines[0]} != *$'\n' || -s $work/out ]]; then
        not_ok "$1" "not one line on stderr alone: $(head -n 3 $work/err $work/out)"
    elif [[ ${files[*]} != "$work/err $work/out" ]]; then
        not_ok "$1" "it left ${files[*]}"
        rm -rf "${files[@]}"
    else
        ok "$1"
    fi
}

# The programs (gpu:RUNG or emulated:RUNG, a pattern), and command lines that they refuse.
REFUSED='
*               | --size=abc ; --size=0 ; --size=18446744073709551616 ; --m= ; --unknown ; 4096
*               | --inputs foo ; --protocol foo ; --check full ; --policy foo
*               | --json ; --json= ; --json no/such/directory/result.json ; --size 4096 --m
gpu:*           | --policy lazy ; --rounds=0 ; --device=-1
emulated:*      | --protocol burst ; --rounds 3 ; --device 0 ; --seed x
# What is for products, and for moves: there words are compared, all of them, and there is no k.
*:[!t]*         | --inputs bits
*:t*            | --k 4
# Shapes. v21, v23 and v24 take all. 4 elements of fp32 are 16 bytes: only D of a01 has them. Up to v09 tiles are whole.
*:!(v21|v23|v24)     | --size 4095
*:t*            | --n 4098 ; --m 4 --n 1
*:t0[!1]        | --m 4098 ; --m 1 --n 4
*:!(t*|v21|v23|v24) | --n 4102 ; --k 4100
*:v!(21|23|24)  | --n 4100
*:a0[!1]        | --n 4100
*:f*            | --n 4100 ; --k 4104
*:a0[3-6]       | --m 256 --n 8 --k 8388616
*:v0*           | --m 8 ; --m 4104 ; --n 8 ; --n 4104 ; --k 8 ; --k 4104
# alpha and beta are those of a01 alone.
*:!(a01)        | --alpha 1 ; --beta=0
*:a01           | --alpha x ; --alpha= ; --beta nan ; --beta 1e39'

# refuses KIND: the program under test exits 2 for all rows that are its own.
refuses() {
    local who lines line
    local -a words
    while IFS='| ' read -r who lines; do
        # shellcheck disable=SC2053 # a pattern
        [[ -n $lines && $who != '#'* && $1:$rung == $who ]] || continue
        while read -rd ';' line; do
            read -ra words <<<"$line"
            [[ $line == *--json* || $line == *--m ]] || words+=(--json left.json)
            run "${words[@]}"
            one_line "$name refuses '$line'" 2
        done <<<"$lines;"
    done <<<"$REFUSED"
    [[ $rung == t* ]] || return
    run --n 4098
    is "$name says that rows are multiples of 16 bytes" "it says: $(cat $work/err)" \
        grep -qF "16 bytes" $work/err
}

# has_help OPTION...: --help names them.
has_help() {
    local option
    run --help
    is "$name --help" "exit status $status" test "$status" -eq 0
    for option; do
        is "$name --help names $option" "it does not" grep -qE -- "$option( |$)" $work/out
    done
}

# needs_no EXPRESSION WHAT: the program starts without such a library.
needs_no() {
    local needed
    needed=$(readelf -d "$program" 2>&1 | grep NEEDED)
    is "$name needs no $2 to start" "${needed:-$program needs nothing at all: is it there?}" \
        test -n "$needed" -a -z "$(grep -E "$1" <<<"$needed")"
}

for source in steps/*.cu; do
    rung=$(basename "${source%%_*}")
    options=(--size --m --n --inputs --seed --json --help)
    [[ $rung == t* ]] || options+=(--k)
    [[ $rung != a01 ]] || options+=(--alpha --beta)

    program=build/emulated/$rung name="$rung, emulated,"
    has_help "${options[@]}" --policy
    refuses emulated
    needs_no 'libcu|libnvidia|libtsan' "library of CUDA or of a sanitizer"

    program=build/steps/$rung name=$rung
    if ! find_nvcc >/dev/null; then
        skip "$rung behaves" "it needs nvcc to be built"
        continue
    fi
    has_help "${options[@]}" --protocol --rounds --device
    # One of each track: what decides is the same on both machines, and these programs start slowly.
    [[ $rung == @(v07|a01|t02) ]] && refuses gpu
    run --protocol none --size 512 --json left.json
    one_line "$rung without a GPU exits 77 with one line" 77
    is "... which names the emulator" "it says: $(cat $work/err)" \
        grep -qF "make step N=$rung EMULATE=1" $work/err
    needs_no 'libcuda\.so|libnvidia' "driver library"
done
finish
