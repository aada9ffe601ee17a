#!/usr/bin/env bash
# What every rung's two programs do with bad input, and the GPU's on a machine without a GPU or a
# driver. The GPU, if there is one, is hidden: all of this must be decided without it, and without
# cuBLAS.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

export CUDA_VISIBLE_DEVICES=-1
shopt -s nullglob dotglob

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

# refused ARGUMENT...: the program under test exits 2 for them.
refused() {
    run "$program" "$@" --json left.json
    one_line "$name refuses '$*'" 2
}

# The same with nothing added: for what is wrong with --json, or with the last argument.
refused_alone() {
    run "$program" "$@"
    one_line "$name refuses '$*'" 2
}

# has_help OPTION...: --help names them.
has_help() {
    local option
    run "$program" --help
    if [[ $status -ne 0 ]]; then not_ok "$name --help" "exit status $status"; else ok "$name --help"; fi
    for option; do
        is "$name --help names $option" "it does not" grep -qE -- "$option( |$)" $work/out
    done
}

refuses_bad_numbers() {
    local value option
    for value in abc 0 -1 -4096 +4096 12x 4096.0 1e4 0x1000 ' 4096' '' 2147483648 4294967296 \
        18446744073709551616 99999999999999999999; do
        refused --size "$value"
    done
    for option in "${dimensions[@]}"; do
        for value in 0 -128 128x 4294967424; do refused "$option" "$value"; done
    done
    refused --size=0
    refused "${dimensions[-1]}="
    refused --rounds 0
    refused --rounds -1
    refused --rounds x
    refused --seed -1
    refused --seed 18446744073709551616
    refused --device -1
    refused --device x
}

refuses_bad_words() {
    refused --unknown
    refused --unknown=1
    refused -s 4096
    refused 4096
    refused --siz 4096
    refused --size 4096 --m 4096
    refused --inputs foo
    refused --inputs ''
    refused --protocol foo
    refused --check foo
    refused --check full,sample
    refused --policy foo
    refused --policy ''
    refused_alone --json
    refused_alone --json ''
    refused_alone --json no/such/directory/result.json
    refused_alone --size 4096 --m
    [[ $rung == t* ]] || refused --inputs bits
}

# There is no k where words are moved, and all of them are compared.
refuses_what_is_for_products() {
    [[ $rung == t* ]] || return
    refused --k 4
    refused --size 4096 --k 4096
    refused --check sample
}

refuses_bad_shapes() {
    refused --size 4095
    if [[ $rung == t* ]]; then
        refused --n 4098
        refused --m 4 --n 1
        [[ $rung == t01 ]] || refused --m 4098
        [[ $rung == t01 ]] || refused --m 1 --n 4
        is "... and says why" "it says: $(cat $work/err)" grep -qF "16 bytes" $work/err
        return
    fi
    refused --n 4102
    refused --k 4100
    # 4 elements of fp32 are 16 bytes: only D of a01 has them.
    [[ $rung == a01 ]] || refused --n 4100
    case $rung in
    # Any shape with 16-byte rows will do from here on.
    v1[0-9] | a*) ;;
    *)
        refused --m 8
        refused --m 4104
        refused --n 8
        refused --n 4104
        refused --k 8
        refused --k 4104
        ;;
    esac
}

# needs_no EXPRESSION WHAT: the program starts without such a library.
needs_no() {
    local needed
    needed=$(readelf -d "$program" | grep NEEDED)
    if grep -qE "$1" <<<"$needed"; then
        not_ok "$name needs no $2 to start" "$needed"
    else
        ok "$name needs no $2 to start"
    fi
}

# alpha and beta are a01's alone.
refuses_bad_scalars() {
    local value
    if [[ $rung != a01 ]]; then
        refused --alpha 1
        refused --beta=0
        return
    fi
    has_help --alpha --beta
    for value in x '' nan inf 1e39 0x1 1,5; do
        refused --alpha "$value"
        refused --beta "$value"
    done
}

behaves_for_a_gpu() {
    name=$rung
    has_help --size "${dimensions[@]}" --inputs --seed --protocol --rounds --check --json --device --help
    libraries=$stubs
    refuses_bad_words
    refuses_bad_numbers
    refuses_bad_shapes
    refuses_bad_scalars
    refuses_what_is_for_products
    refused --policy lazy
    libraries=
    run "$program" --protocol none --size 512 --json left.json
    one_line "$rung without a GPU exits 77 with one line" 77
    is "... which names the emulator" "it says: $(cat $work/err)" \
        grep -qF "make step N=$rung EMULATE=1" $work/err
    needs_no 'libcuda\.so|libnvidia' "driver library"
}

behaves_emulated() {
    name="$rung, emulated,"
    has_help --size "${dimensions[@]}" --inputs --seed --policy --check --json --help
    refuses_bad_words
    refuses_bad_shapes
    refuses_bad_scalars
    refuses_what_is_for_products
    refused --size -1
    refused --seed x
    refused --protocol burst
    refused --protocol sustained
    refused --rounds 3
    refused --device 0
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
    dimensions=(--m --n --k)
    [[ $rung == t* ]] && dimensions=(--m --n)
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
