#!/usr/bin/env bash
# What every rung's two programs do with bad input, and the GPU's on a machine without a GPU or a
# driver. The GPU, if there is one, is hidden: all of this must be decided without it, and without
# cuBLAS.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

export CUDA_VISIBLE_DEVICES=-1
shopt -s nullglob dotglob extglob

work=build/tests/behaviour
stubs=$PWD/build/tests/behaviour-stubs
rm -rf $work "$stubs"
mkdir -p $work "$stubs"

# Where libraries are looked for before the places that a program names.
libraries=

# run PROGRAM ARGUMENT...: sets status, and leaves what it printed in out and err.
run() {
    local program=$PWD/$1
    shift
    (
        cd $work || exit
        [[ -z $libraries ]] || export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        exec timeout 60 "$program" "$@" >out 2>err </dev/null
    )
    status=$?
}

# make_stub LIBRARY PROGRAM...: a library of that name with the functions that the programs want from
# it. Whoever calls one dies.
make_stub() {
    local library=$1 code=$stubs/$1.c
    shift
    echo '#include <stdlib.h>' >"$code"
    nm -D --undefined-only "$@" | sed -n "s/^ *U \(.*\)@$library\$/void \1(void) { abort(); }/p" |
        sort -u >>"$code"
    echo "$library { *; };" >"$stubs/versions"
    gcc -shared -fPIC -Wl,-soname,"$library" -Wl,--version-script="$stubs/versions" -o "$stubs/$library" \
        "$code"
}

# Loading the real ones takes most of a run's time: they are large, and no run here gets to call them.
make_stubs() {
    local programs=("$@") library
    readelf -d "${programs[@]}" | sed -n 's/.*NEEDED.*\[\(libcublas.*\)\]/\1/p' | sort -u >"$stubs/list"
    while read -r library; do make_stub "$library" "${programs[@]}" || return; done <"$stubs/list"
    [[ -s $stubs/list ]]
}

stubs_are_loaded() {
    local found
    found=$(LD_LIBRARY_PATH=$stubs LD_TRACE_LOADED_OBJECTS=1 "$1" | grep libcublas) &&
        not grep -vF "$stubs/" <<<"$found"
}

# one_line NAME STATUS: the run ended with this status and exactly one line on stderr, said nothing
# on stdout and left no file behind.
one_line() {
    local lines files
    mapfile lines <$work/err
    files=("$work"/*)
    if [[ $status -ne $2 ]]; then
        not_ok "$1" "exit status $status, not $2: ${lines[0]:-}"
    elif [[ ${#lines[@]} -ne 1 || ${lines[0]} != *$'\n' ]]; then
        not_ok "$1" "${#lines[@]} lines on stderr, not 1 with its end"
    elif [[ -s $work/out ]]; then
        not_ok "$1" "it printed: $(head -n 1 $work/out)"
    elif [[ ${files[*]} != "$work/err $work/out" ]]; then
        not_ok "$1" "it left ${files[*]}"
        rm -rf $work
        mkdir -p $work
    else
        ok "$1"
    fi
}

# Which programs (gpu:RUNG or emulated:RUNG, a pattern), an option and the values that are refused.
# Without an option each value is a whole command line.
REFUSED=(
    # Numbers.
    "gpu:*|--size|abc 0 -1 -4096 +4096 12x 4096.0 1e4 0x1000 ' 4096' '' 2147483648 4294967296
        18446744073709551616 99999999999999999999"
    "gpu:*|--m|0 -128 128x 4294967424"
    "gpu:*|--n|0 -128 128x 4294967424"
    "gpu:[!t]*|--k|0 -128 128x 4294967424"
    "gpu:*||--size=0 --n="
    "gpu:*|--rounds|0 -1 x"
    "gpu:*|--seed|-1 18446744073709551616"
    "gpu:*|--device|-1 x"
    "emulated:*|--size|-1"
    "emulated:*|--seed|x"
    # Words.
    "*||--unknown --unknown=1 '-s 4096' 4096 '--siz 4096' '--size 4096 --m 4096'"
    "*|--inputs|foo ''"
    "*|--protocol|foo"
    "*|--check|foo full,sample"
    "*|--policy|foo ''"
    # What the other machine takes.
    "gpu:*|--policy|lazy"
    "emulated:*|--protocol|burst sustained"
    "emulated:*|--rounds|3"
    "emulated:*|--device|0"
    # What is for products, and for moves: there words are compared, all of them, and there is no k.
    "*:[!t]*|--inputs|bits"
    "*:t*|--k|4"
    "*:t*||'--size 4096 --k 4096'"
    "*:t*|--check|sample"
    # Shapes. 4 elements of fp32 are 16 bytes: only D of a01 has them. Up to v09 tiles are whole.
    "*|--size|4095"
    "*:t*|--n|4098"
    "*:t*||'--m 4 --n 1'"
    "*:t0[!1]|--m|4098"
    "*:t0[!1]||'--m 1 --n 4'"
    "*:[!t]*|--n|4102"
    "*:[!t]*|--k|4100"
    "*:v*|--n|4100"
    "*:a0[!1]|--n|4100"
    "*:v0*|--m|8 4104"
    "*:v0*|--n|8 4104"
    "*:v0*|--k|8 4104"
    # alpha and beta are a01's alone.
    "*:!(a01)||'--alpha 1' --beta=0"
    "*:a01|--alpha|x '' nan inf 1e39 0x1 1,5"
    "*:a01|--beta|x '' nan inf 1e39 0x1 1,5"
)
# The same with nothing added: for what is wrong with --json, or with the last argument.
REFUSED_ALONE=(--json "--json ''" "--json no/such/directory/result.json" "--size 4096 --m")

# refused ARGUMENT...: the program under test exits 2 for them.
refused() {
    run "$program" "$@"
    local words="$*"
    one_line "$name refuses '${words% --json left.json}'" 2
}

# refuses KIND: all rows for the program under test.
refuses() {
    local row who option list value
    local -a values words
    for row in "${REFUSED[@]}"; do
        IFS='|' read -r -d '' who option list <<<"$row"
        # shellcheck disable=SC2053 # a pattern
        [[ $1:$rung == $who ]] || continue
        eval "values=($list)" # quoted words
        for value in "${values[@]}"; do
            words=("$option" "$value")
            [[ -n $option ]] || read -ra words <<<"$value"
            refused "${words[@]}" --json left.json
        done
    done
    for row in "${REFUSED_ALONE[@]}"; do
        eval "words=($row)"
        refused "${words[@]}"
    done
    [[ $rung == t* ]] || return
    run "$program" --n 4098
    is "$name says that rows are multiples of 16 bytes" "it says: $(cat $work/err)" \
        grep -qF "16 bytes" $work/err
}

# has_help OPTION...: --help names them.
has_help() {
    local option
    run "$program" --help
    is "$name --help" "exit status $status" test "$status" -eq 0
    for option; do
        is "$name --help names $option" "it does not" grep -qE -- "$option( |$)" $work/out
    done
}

# needs_no EXPRESSION WHAT: the program starts without such a library.
needs_no() {
    local needed
    needed=$(readelf -d "$program" | grep NEEDED)
    is "$name needs no $2 to start" "$needed" not grep -qE "$1" <<<"$needed"
}

behaves_for_a_gpu() {
    name=$rung
    has_help --size "${options[@]}" --inputs --seed --protocol --rounds --check --json --device --help
    libraries=$stubs
    refuses gpu
    libraries=
    run "$program" --protocol none --size 512 --json left.json
    one_line "$rung without a GPU exits 77 with one line" 77
    is "... which names the emulator" "it says: $(cat $work/err)" \
        grep -qF "make step N=$rung EMULATE=1" $work/err
    needs_no 'libcuda\.so|libnvidia' "driver library"
}

behaves_emulated() {
    name="$rung, emulated,"
    has_help --size "${options[@]}" --inputs --seed --policy --check --json --help
    refuses emulated
    needs_no 'libcu|libnvidia|libtsan' "library of CUDA, and no ThreadSanitizer,"
}

programs=()
for source in steps/*.cu; do
    program=build/steps/$(basename "${source%%_*}")
    [[ -x $program ]] && programs+=("$program")
done
if [[ ${#programs[@]} -gt 0 ]]; then
    if make_stubs "${programs[@]}" && stubs_are_loaded "${programs[0]}"; then
        ok "libraries stand in for cuBLAS'"
    else
        not_ok "libraries stand in for cuBLAS'" "they were not built (see $stubs), or are not loaded"
    fi
fi

for source in steps/*.cu; do
    rung=$(basename "${source%%_*}")
    options=(--m --n)
    [[ $rung == t* ]] || options+=(--k)
    [[ $rung != a01 ]] || options+=(--alpha --beta)
    program=build/emulated/$rung
    if [[ -x $program ]]; then
        behaves_emulated
    else
        not_ok "$rung behaves, emulated" "$program was not built"
    fi
    program=build/steps/$rung
    if [[ -x $program ]]; then
        behaves_for_a_gpu
    elif find_nvcc >/dev/null; then
        not_ok "$rung behaves" "$program was not built"
    else
        skip "$rung behaves" "it needs nvcc to be built"
    fi
done
finish
