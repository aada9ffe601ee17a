#!/usr/bin/env bash
# The front door: what make says, what it refuses, and what it rebuilds.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

work=build/tests/make
rm -rf $work
mkdir -p $work

# run ARGUMENT...: sets status, and leaves what make printed in out and err.
run() {
    make --no-print-directory "$@" >$work/out 2>$work/err </dev/null
    status=$?
}

# says NAME EXPRESSION: make succeeded and printed a line that matches.
says() {
    if [[ $status -ne 0 ]]; then
        not_ok "$1" "exit status $status: $(head -n 1 $work/err)"
    elif ! grep -qE -- "$2" $work/out; then
        not_ok "$1" "no line matches $2"
    else
        ok "$1"
    fi
}

# refuses NAME EXPRESSION: make failed with one line, and it matches.
refuses() {
    local lines
    lines=$(cat $work/out $work/err | wc -l)
    if [[ $status -eq 0 ]]; then
        not_ok "$1" "it succeeded"
    elif [[ $lines -ne 1 ]]; then
        not_ok "$1" "$lines lines, not 1"
    elif ! grep -qE -- "$2" $work/err; then
        not_ok "$1" "it says: $(head -n 1 $work/err)"
    else
        ok "$1"
    fi
}

# ---- the verbs

run
for verb in step diff diffstat list ladder variants plots notes test sass resources sanitize format \
    clean; do
    says "make alone names $verb" "^make $verb( |$)"
done

run list
for source in steps/*.cu; do
    rung=$(basename "${source%%_*}")
    says "make list has $rung and its idea" "^$rung  [^(]"
done
for number in 01 02 03 04 05 06 07 08 09 10 11 12; do
    says "make list has v$number" "^v$number "
done

run diffstat
says "make diffstat has v12" '^v12 '
run diff N=2
says "make diff N=2 shows colours" $'\033\[3[12]m'
run diff 2
says "make diff 2 shows the diff" '^v01 -> v02$'
run diff N=2 NO_COLOR=1
says "make diff N=2 NO_COLOR=1 marks words" '\{\+'
run diff N=1
says "make diff N=1 says that nothing is below" 'nothing below'

for verb in step diff sass resources sanitize; do
    run $verb
    refuses "make $verb asks which rung" 'which rung'
    for bad in 99 0 007 foo v v7x % 'v%' '7 8' -1 7.; do
        run $verb N="$bad"
        refuses "make $verb N='$bad' is refused" 'no rung'
    done
    run $verb 99
    refuses "make $verb 99 is refused" 'no rung'
done

# ---- spellings

for spelling in N=7 N=07 N=v7 N=v07 7 v07; do
    run -n step "$spelling"
    says "make step $spelling runs v07" '^build/steps/v07 *$'
done
run -n step N=7 ARGS='--size 4096'
says "ARGS reach the program" '^build/steps/v07 --size 4096$'

# ---- without nvcc

# A directory with everything on PATH but nvcc.
bare=$PWD/$work/bin
mkdir -p "$bare"
IFS=: read -ra directories <<<"$PATH"
for directory in "${directories[@]}"; do
    for tool in bash git diff sed tail tr python3 nproc mkdir rm cat; do
        [[ -x $directory/$tool && ! -e $bare/$tool ]] && ln -s "$directory/$tool" "$bare/$tool"
    done
done
make_path=$(command -v make)

# bare_make ARGUMENT...: make where there is no nvcc, in a build directory of its own.
bare_make() {
    env PATH="$bare" CUDA_HOME=/nonexistent "$make_path" --no-print-directory \
        BUILD="$work/build" "$@" >$work/out 2>$work/err </dev/null
    status=$?
}
for verb in step resources; do
    bare_make $verb N=7
    refuses "make $verb without nvcc says what to install" 'nvcc was not found.*CUDA Toolkit'
done
bare_make sass N=7
refuses "make sass without cuobjdump says what to install" 'cuobjdump was not found.*CUDA Toolkit'
bare_make sanitize N=7
refuses "make sanitize without its tool says so" 'compute-sanitizer was not found.*CUDA Toolkit'
bare_make list
says "make list needs no nvcc" '^v12 '
bare_make diff N=2
says "make diff needs no nvcc" '^v01 -> v02$'
rm "$bare/git"
bare_make diff N=2
says "make diff needs no git" '^v01 -> v02$'

# ---- what is rebuilt

if [[ ! -x build/steps/v12 ]]; then
    skip "header changes rebuild what they must" "the rungs are not built"
    finish
fi

# would FILE...: the sources that make would compile again if they changed.
would() {
    local file changed=()
    for file; do changed+=(-W "$file"); done
    make -n --no-print-directory "${changed[@]}" rungs 2>/dev/null |
        sed -nE "s/.*echo '(nvcc|cc) ([^']*)'.*/\2/p" | sort
}
# includers HEADER: the rungs that include it, directly or through another header.
includers() {
    grep -lE "(^| )$1( |:|\\\\|$)" build/steps/*.d | sed -E 's|.*/(v[0-9]+)\.o\.d|\1|' | sort
}

is "nothing is rebuilt when nothing changed" "make -q says otherwise" make -q rungs
same() {
    if [[ $2 == "$3" ]]; then ok "$1"; else not_ok "$1" "rebuilt: ${2//$'\n'/ }; expected: ${3//$'\n'/ }"; fi
}
same "a changed rung rebuilds itself alone" "$(would steps/v03_*.cu)" "$(ls steps/v03_*.cu)"
for header in common/device/*; do
    rebuilt=$(would "$header" | grep '^steps/' | sed -E 's|steps/(v[0-9]+)_.*|\1|')
    same "$header rebuilds what includes it" "$rebuilt" "$(includers "$header")"
done
# Both lists above come from the compiler. These two are known without it.
same "device/stmatrix.cuh rebuilds v12 alone" "$(would common/device/stmatrix.cuh)" "$(ls steps/v12_*.cu)"
same "step.h rebuilds every rung" "$(would common/step.h | grep -c '^steps/')" \
    "$(find steps -name '*.cu' | wc -l)"
finish
