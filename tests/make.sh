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
for verb in step races trace diff standalone diffstat list ladder energy record compare emulated variants plots \
    notes book test sass resources sanitize format clean; do
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
for number in 01 02 03 04 05 06; do
    says "make list has a$number" "^a$number "
done
for number in 01 02 03 04; do
    says "make list has t$number" "^t$number "
done

run diffstat
says "make diffstat has v12" '^v12 '
run diff a4
says "make diff a4 stays on its track" '^a03 -> a04$'
run diff t2
says "make diff t2 stays on its track" '^t01 -> t02$'
run diff 2
says "make diff 2 shows the diff" '^v01 -> v02$'
says "make diff marks words where there is no terminal" '\[-.*-\]\{\+'
is "make diff writes no escape codes where there is no terminal" "see $work/out" not grep -q $'\033' $work/out
# on_terminal ARGUMENT...: run, with a terminal.
on_terminal() {
    script -qec "make --no-print-directory $*" /dev/null >$work/out 2>$work/err </dev/null
    status=$?
}
on_terminal diff N=2
says "make diff shows colours on a terminal" $'\033\[3[12]m'
on_terminal diff N=2 NO_COLOR=1
says "make diff NO_COLOR=1 marks words on a terminal" '\{\+'
run diff N=1
says "make diff N=1 says that nothing is below" 'nothing below'

for verb in step races trace diff standalone sass resources sanitize; do
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

# Dry runs with an nvcc that is none, in a build directory of their own: what it was built with is
# written there.
planned() {
    run -n BUILD="$work/plan" NVCC=/bin/false GPU_DEVICES=/dev/nvidia0 "$@"
}
for spelling in N=7 N=07 N=v7 N=v07 7 v07; do
    planned step "$spelling" EMULATE=0
    says "make step $spelling EMULATE=0 runs v07" "^$work/plan/steps/v07 *$"
    planned step "$spelling" EMULATE=1
    says "make step $spelling EMULATE=1 runs v07 on the emulator" "^$work/plan/emulated/v07 *$"
    planned races "$spelling"
    says "make races $spelling runs v07" "(^|-R )$work/plan/races/v07 *$"
done
for spelling in N=7 N=v07 7; do
    planned standalone "$spelling"
    says "make standalone $spelling writes v07.cu" "standalone.write steps/v07_.*\.cu $work/plan/standalone/v07.cu "
done
for spelling in N=all all; do
    planned standalone "$spelling"
    is "make standalone $spelling writes every rung" "see $work/out" \
        test "$(grep -c '^python3 -m standalone.write steps/' $work/out)" -eq "$(find steps -name '*.cu' | wc -l)"
done
planned trace N=7 EMULATE=1 ARGS='--cta 3'
says "make trace runs the script on the emulated program" \
    "-m bench.trace $work/plan/trace/emulated/v07 --out $work/plan/trace --cta 3$"
planned trace 7 EMULATE=0
says "make trace 7 EMULATE=0 traces on the GPU" "-m bench.trace $work/plan/trace/steps/v07 "
planned step N=t2 EMULATE=0
says "make step N=t2 runs t02" "^$work/plan/steps/t02 *$"
planned step N=7 EMULATE=0 ARGS='--size 4096'
says "ARGS reach the program" "^$work/plan/steps/v07 --size 4096$"
planned step N=7 EMULATE=1 ARGS='--policy lazy'
says "ARGS reach the emulated program" "^$work/plan/emulated/v07 --policy lazy$"
planned races N=7 ARGS='--size 256'
says "ARGS reach the program under ThreadSanitizer" "$work/plan/races/v07 --size 256$"

# ---- which machine

planned step N=7
says "with a GPU and nvcc, make step takes the GPU" "^$work/plan/steps/v07 *$"
planned step N=7 GPU_DEVICES=
says "without a GPU, make step takes the emulator" "^$work/plan/emulated/v07 *$"
planned step N=7 NVCC=
says "without nvcc, make step takes the emulator" "^$work/plan/emulated/v07 *$"
planned ladder EMULATE=1
says "make ladder EMULATE=1 checks the rungs on the emulator" ' -m bench.emulated_ladder'
planned ladder EMULATE=0
says "make ladder EMULATE=0 times them" ' -m bench.ladder'
planned ladder EMULATE=0 TRACK=all SIZES=8192,4096x14336x4096 PROTOCOL=both ARGS='--passes 2'
says "TRACK, SIZES and PROTOCOL reach the ladder" \
    "ladder --track 'all' --sizes '8192,4096x14336x4096' --protocol 'both' --build '$work/plan' --passes 2$"
planned ladder EMULATE=1 TRACK=t SIZES=256 PROTOCOL=both
says "TRACK and SIZES reach the emulated ladder" "emulated_ladder --track 't' --sizes '256' --protocol 'both' --build '$work/plan' *$"
planned book
says "BUILD= says where the book goes" "book.make_book --out $work/plan/book *$"
planned diff N=a4 TRACK=v
says "TRACK is the ladder's alone" '^a03 -> a04|a03/'
run compare
refuses "make compare asks which files" 'which two files.*OLD=a.json NEW=b.json'
run compare OLD=a.json
refuses "make compare with one file asks too" 'which two files'
planned compare OLD="a b.json" NEW=c.json
says "make compare passes both files on" "-m bench.records.compare 'a b.json' 'c.json' *$"

# What make hands to the shell is in quotes, or a word that the shell takes as it is. What runs here
# is true, in place of Python and of the make below.
fake=$work/fake
mkdir -p $fake/venv/bin
ln -s /bin/true $fake/venv/bin/python
touch -d tomorrow $fake/venv/plots.stamp
for words in "plots RESULTS" "ladder TRACK" "ladder SIZES" "ladder PROTOCOL" "compare NEW=b OLD" \
    "compare OLD=a NEW"; do
    for value in "x'; touch $work/injected; echo '" "x\$\$(touch $work/injected)" \
        $'x\n'"touch $work/injected"; do
        # shellcheck disable=SC2086 # a verb and its variables
        run EMULATE=0 NVCC=true GPU_DEVICES=/dev/null PYTHON=true MAKE=true BUILD=$fake ${words% *} "${words##* }=$value"
        is "make $words=${value//$'\n'/\\n} runs that alone" "see $work/out and $work/err" \
            test "$status" -eq 0 -a ! -e $work/injected
        rm -f $work/injected
    done
done
for name in BUILD STEPS CUDA_HOME COMMIT FAST_CU CUTLASS; do
    for value in "x'" 'x"' 'x;y' 'x y' $'x\n' 'x&'; do
        run -n step N=7 BUILD=$fake "$name=$value"
        refuses "make $name=${value//$'\n'/\\n} is refused" "$name=.*it must be one word"
    done
done
for bad in 2 yes; do
    run step N=7 EMULATE=$bad
    refuses "make step EMULATE=$bad is refused" "EMULATE=$bad: it is 1 .* or 0"
done

# ---- without nvcc

# A directory with everything on PATH but nvcc.
bare=$PWD/$work/bin
mkdir -p "$bare"
IFS=: read -ra directories <<<"$PATH"
for directory in "${directories[@]}"; do
    for tool in bash gcc g++ git diff sed tail tr python3 nproc mkdir rm cat uname; do
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
bare_make -n step N=7
says "make step without nvcc takes the emulator" "^$work/build/emulated/v07 *$"
says "the emulator is built without the CUDA Toolkit" '^g\+\+ .*steps/v07'
is "the emulator's build names no CUDA Toolkit" "see $work/out" not grep -qE 'nvcc|nonexistent' $work/out
bare_make list
says "make list needs no nvcc" '^v12 '
bare_make diff N=2
says "make diff needs no nvcc" '^v01 -> v02$'
# The interpreter itself: what stands for it on PATH may be a script that needs more of PATH.
python=$(python3 -c 'import sys; print(sys.executable)')
bare_make standalone N=7 PYTHON="$python"
says "make standalone needs no nvcc, and says how to compile" "^$work/build/standalone/v07.cu: nvcc .* v07.cu$"
is "make standalone writes the file whole" "it does not end with the licence" \
    bash -c "tail -n 1 $work/build/standalone/v07.cu | grep -qx '// SOFTWARE.'"
rm "$bare/git"
bare_make diff N=2
says "make diff needs no git" '^v01 -> v02$'

# ---- what is missing

# Each line: what make says, in one line and at once, and what it was called with.
nothing_but_nvcc=$work/toolkit
mkdir -p $nothing_but_nvcc/bin
ln -s /bin/false $nothing_but_nvcc/bin/nvcc
with_gpu="CUDA_HOME=$PWD/$nothing_but_nvcc GPU_DEVICES=/dev/nvidia0"
without_gpu="CUDA_HOME=$PWD/$nothing_but_nvcc GPU_DEVICES="
while IFS='|' read -r expected arguments; do
    # shellcheck disable=SC2086 # words
    bare_make PYTHON="$python" $arguments
    refuses "make $arguments, where something is missing" "$expected"
done <<EOF
nvcc was not found.*CUDA Toolkit|step N=7 EMULATE=0
nvcc was not found.*CUDA Toolkit|resources N=7
nvcc was not found.*CUDA Toolkit|ladder EMULATE=0
nvcc was not found.*CUDA Toolkit|record
nvcc was not found.*CUDA Toolkit|energy
nvcc was not found.*CUDA Toolkit|variants
cuobjdump was not found.*CUDA Toolkit|sass N=7
cuobjdump was not found.*CUDA Toolkit|sass N=7 $with_gpu
compute-sanitizer was not found.*CUDA Toolkit|sanitize N=7
compute-sanitizer was not found.*CUDA Toolkit|sanitize N=7 $with_gpu
no GPU.*EMULATE=1|step N=7 EMULATE=0 $without_gpu
no GPU.*EMULATE=1|trace N=7 EMULATE=0 $without_gpu
no GPU.*EMULATE=1|ladder EMULATE=0 $without_gpu
no GPU|record $without_gpu
no GPU|energy $without_gpu
no-python was not found: install Python 3.9|ladder PYTHON=no-python
no-python was not found: install Python 3.9|trace N=7 PYTHON=no-python
no-python was not found: install Python 3.9|plots PYTHON=no-python
no-gcc was not found: install gcc|step N=7 CC=no-gcc
no-g\+\+ is no g\+\+ 12 or later.*install g\+\+|step N=7 CXX=no-g++
/bin/false is no g\+\+ 12 or later|ladder CXX=/bin/false
sizes: 'abc' is no shape|ladder SIZES=abc
sizes: 'abc' is no shape|ladder EMULATE=0 SIZES=abc $with_gpu
shapes for a GPU|ladder SIZES=squares
track: .*'x'|ladder TRACK=x
track: .*'x'|ladder EMULATE=0 TRACK=x $with_gpu
protocol: .*'foo'|ladder PROTOCOL=foo
protocol: .*'foo'|ladder EMULATE=0 PROTOCOL=foo $without_gpu
passes: '0'|ladder EMULATE=0 ARGS=--passes=0 $with_gpu
/dev/null/x cannot be written.*BUILD=|step N=7 BUILD=/dev/null/x
/dev/null/x cannot be written.*BUILD=|diff N=7 BUILD=/dev/null/x
make -C $PWD list|list -C $work -f $PWD/Makefile
EOF
run record ARGS=--list
says "make record ARGS=--list needs no GPU" '^burst '

# An index that cannot be reached: pip gives up at once, and one line says what to do.
mkdir -p $work/offline/venv/bin
printf '#!/bin/sh\necho many; echo words; echo "$*" >&2; exit 1\n' >$work/offline/venv/bin/pip
cp $work/offline/venv/bin/pip $work/offline/venv/bin/python
chmod +x $work/offline/venv/bin/*
run plots BUILD=$work/offline
is "make plots without a network says so once" "see $work/err" \
    test "$(grep -vc '^make: ' $work/err)$(grep -c 'plots/requirements.txt could not be installed: .*network' $work/err)" = 11
is "pip gives up soon" "see $work/offline/venv/plots.log" grep -q -e '--retries 1 ' $work/offline/venv/plots.log

# ---- how far a build is

# A compiler that writes programs which do nothing.
cat >$work/compiler <<'EOF'
#!/bin/sh
[ "$1" = -dumpfullversion ] && echo 12.2.0
while [ $# -gt 1 ]; do
    [ "$1" = -o ] && printf '#!/bin/sh\n' >"$2" && chmod +x "$2"
    shift
done
exit 0
EOF
chmod +x $work/compiler
quick="EMULATE=1 BUILD=$work/quick CC=$work/compiler CXX=$work/compiler"
on_terminal step N=7 "$quick"
says "make step shows on a terminal how far the build is" "12/[0-9]+"
is "the last step of a build is the number of its steps" "see $work/out" \
    bash -c "tr '\r' '\n' <$work/out | grep -E '[0-9]+/[0-9]+' | tail -n 1 | grep -E '(^|[^0-9])([0-9]+)/\2 '"
is "the build takes one line of the terminal" "see $work/out" test "$(grep -c / $work/out)" -le 1
rm -r $work/quick
# shellcheck disable=SC2086 # words
run step N=7 $quick
says "make step writes what it builds into a log" "^c\+\+ steps/v07"

# ---- what is rebuilt

# would GOAL FILE: the sources that make GOAL would compile again if FILE changed.
would() {
    make -n --no-print-directory -W "$2" "$1" 2>/dev/null |
        sed -nE "s/.*echo '(nvcc|cc|c\+\+) ([^']*)'.*/\2/p" | sort
}
# rebuilt GOAL FILE: the rungs among them.
rebuilt() {
    would "$1" "$2" | sed -nE 's|^steps/([vat][0-9]+)_.*|\1|p'
}
# includers DIRECTORY HEADER: the rungs built there that include it, directly or not.
includers() {
    grep -lE "(^| )$2( |:|\\\\|$)" "$1"/*.o.d | sed -E 's|.*/([vat][0-9]+)\.o\.d|\1|' | sort
}
same() {
    if [[ $2 == "$3" ]]; then ok "$1"; else not_ok "$1" "rebuilt: ${2//$'\n'/ }; expected: ${3//$'\n'/ }"; fi
}
number_of_rungs=$(find steps -name '*.cu' | wc -l)

if [[ -x build/emulated/v12 ]]; then
    is "nothing emulated is rebuilt when nothing changed" "make -q says otherwise" make -q emulated
    same "a changed rung rebuilds itself alone, emulated" "$(would emulated steps/v03_*.cu)" \
        "$(ls steps/v03_*.cu)"
    for header in common/device/* common/emulator/device/*; do
        same "$header rebuilds the emulated rungs that include it" "$(rebuilt emulated "$header")" \
            "$(includers build/emulated "$header")"
    done
    same "device/dependent_launch.cuh rebuilds v17 and v18 alone, emulated" \
        "$(would emulated common/emulator/device/dependent_launch.cuh)" "$(ls steps/v1[78]_*.cu)"
    same "the emulator's cuda_runtime.h rebuilds every rung" \
        "$(rebuilt emulated common/emulator/include/cuda_runtime.h | wc -l)" "$number_of_rungs"
else
    skip "header changes rebuild what they must, emulated" "the emulated rungs are not built"
fi

# rewritten FILE: the standalone files that would be written again if FILE changed.
rewritten() {
    make -n --no-print-directory -W "$1" standalone N=all 2>/dev/null |
        sed -nE 's|^python3 -m standalone.write .* build/standalone/([vat][0-9]+)\.cu .*|\1|p'
}
if [[ -e build/standalone/v12.cu.d ]]; then
    same "no standalone file is written again when nothing changed" "$(rewritten README.md)" ""
    same "device/dependent_launch.cuh writes v17's and v18's standalone files again, alone" \
        "$(rewritten common/device/dependent_launch.cuh)" $'v17\nv18'
    same "step.h writes every standalone file again" "$(rewritten common/step.h | wc -l)" \
        "$number_of_rungs"
else
    skip "header changes rewrite the standalone files they must" "they are not written"
fi

if [[ ! -x build/steps/v12 ]]; then
    skip "header changes rebuild what they must" "the rungs are not built"
    finish
fi
is "nothing is rebuilt when nothing changed" "make -q says otherwise" make -q rungs
same "a changed rung rebuilds itself alone" "$(would rungs steps/v03_*.cu)" "$(ls steps/v03_*.cu)"
for header in common/device/*; do
    same "$header rebuilds what includes it" "$(rebuilt rungs "$header")" \
        "$(includers build/steps "$header")"
done
# Both lists above come from the compiler. These two are known without it.
same "device/dependent_launch.cuh rebuilds v17 and v18 alone" \
    "$(would rungs common/device/dependent_launch.cuh)" "$(ls steps/v1[78]_*.cu)"
same "step.h rebuilds every rung" "$(rebuilt rungs common/step.h | wc -l)" "$number_of_rungs"
finish
