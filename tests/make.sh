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
    why="exit status $status: $(head -n 1 $work/err $work/out)"
    [[ $status -eq 0 ]] && grep -qE -- "$2" $work/out
    is "$1" "$why" test $? -eq 0
}

# refuses NAME EXPRESSION: make failed with one line, and it matches.
refuses() {
    why="exit status $status: $(cat $work/out $work/err)"
    [[ $status -ne 0 && $(cat $work/out $work/err | wc -l) -eq 1 ]] && grep -qE -- "$2" $work/err
    is "$1" "$why" test $? -eq 0
}

# The first verbs are those on a rung.
verbs=(step trace diff standalone sass resources sanitize)
run
for verb in "${verbs[@]}" diffstat list ladder energy record compare emulate emulated variants rivals plots \
    notes book test format clean; do
    says "make alone names $verb" "^make $verb( |$)"
done

run list
for source in steps/*.cu; do
    rung=$(basename "${source%%_*}")
    says "make list has $rung and its idea" "^$rung  [^(]"
done
# table FUNCTION: from lines of ARGUMENTS | EXPRESSION | NAME, calls the function with the arguments; a
# line that matches must come out.
table() {
    local arguments expression name
    while IFS='|' read -r arguments expression name; do
        eval "$1 $arguments" # quoted words
        says "${name:-make $arguments}" "$expression"
    done
}

table run <<'EOF'
diffstat|^v12 |
diff a4|^a03 -> a04$|make diff a4 stays on its track
diff t2|^t01 -> t02$|make diff t2 stays on its track
diff N=1|nothing below|make diff N=1 says that nothing is below
diff 2|^v01 -> v02$|make diff 2 shows the diff
diff 2|^[0-9]+ lines removed, [0-9]+ added below the opening comment$|make diff counts the changed lines
diff 2|^\+#include "device/tma.cuh"$|make diff shows whole lines where there is no terminal
EOF
is "make diff writes no escape codes where there is no terminal" "see $work/out" not grep -q $'\033' $work/out
# on_terminal ARGUMENT...: run, with a terminal.
on_terminal() {
    script -qec "make --no-print-directory $*" /dev/null >$work/out 2>$work/err </dev/null
    status=$?
}
on_terminal diff N=2
says "make diff shows colours on a terminal" $'\033\[3[12]m'
on_terminal diff N=2 NO_COLOR=1
says "make diff NO_COLOR=1 shows whole lines on a terminal" '^\+#include "device/tma.cuh"'

for verb in "${verbs[@]}"; do
    run "$verb"
    refuses "make $verb asks which rung" 'which rung'
    run "$verb" 99
    refuses "make $verb 99 is refused" 'no rung'
done
for bad in 99 0 007 foo v v7x % 'v%' '7 8' -1 7.; do
    run step N="$bad"
    refuses "make step N='$bad' is refused" 'no rung'
done

# The second run compiles anew what the first has built.
mkdir $work/warns
echo 'static int unused(int m) { return 0; }' >$work/warns/v01_warns.cu
while read -r strict expected option name; do
    run STEPS=$work/warns BUILD=$work/warned STRICT="$strict" $work/warned/emulated/v01.o
    [[ $status -eq $expected ]] && grep -qF "[$option]" $work/err
    is "$name" "exit status $status; see $work/err" test $? -eq 0
done <<EOF
0 0 -Wunused-function a warning stops no reader
1 2 -Werror=unused-function a warning stops STRICT=1
EOF

# Dry runs with an nvcc that is none, in a build directory of their own: what it was built with is
# written there.
planned() {
    run -n BUILD="$work/plan" NVCC=/bin/false GPU_DEVICES=/dev/nvidia0 "$@"
}
for spelling in N=7 N=07 N=v7 N=v07 7 v07; do
    table planned <<EOF
step $spelling EMULATE=0|^$work/plan/steps/v07 *\$
step $spelling EMULATE=1|^$work/plan/emulated/v07 *\$
standalone $spelling|-m standalone.write steps/v07_.*\.cu $work/plan/standalone/v07.cu
EOF
done
for spelling in N=all all; do
    planned standalone "$spelling"
    is "make standalone $spelling writes every rung" "see $work/out" \
        test "$(grep -c '^python3 -m standalone.write steps/' $work/out)" -eq "$(find steps -name '*.cu' | wc -l)"
done
tools=$work/tools # of a toolkit; they do nothing
mkdir -p $tools/bin
ln -s /bin/true $tools/bin/cuobjdump
ln -s /bin/true $tools/bin/compute-sanitizer
table planned <<EOF
emulate FILE=a.cu ARGS='-D X=1 -- 3'|-m emulator.translate 'a.cu' -D X=1 -- 3\$
emulated|echo 'link $work/plan/emulated/v24'
variants|echo 'link $work/plan/variants/steps/v06-each-sm'
sass 7 CUDA_HOME=$tools|cuobjdump -sass +$work/plan/steps/v07.o
resources 7|c\+\+filt <$work/plan/steps/v07.ptxas.log
sanitize 7 CUDA_HOME=$tools|compute-sanitizer --tool
energy|-m bench.energy.measure --build '$work/plan'
record|-m bench.record *\$
plots|-m plots.plot
notes|-m notes.tools.fill
test|^bash tests/run.sh
format|/clang-format -i
clean|^rm -rf $work/plan\$
trace N=7 EMULATE=1 ARGS='--cta 3'|-m bench.trace $work/plan/trace/emulated/v07 --out $work/plan/trace --cta 3\$
trace 7 EMULATE=0|-m bench.trace $work/plan/trace/steps/v07 |make trace traces on the GPU
step N=t2 EMULATE=0|^$work/plan/steps/t02 *\$
step N=7 EMULATE=0 ARGS='--size 4096'|^$work/plan/steps/v07 --size 4096\$|ARGS reach the program
step N=7 EMULATE=1 ARGS='--policy lazy'|^$work/plan/emulated/v07 --policy lazy\$|ARGS reach the emulated program
step N=7|^$work/plan/steps/v07 *\$|with a GPU and nvcc, make step takes the GPU
step N=7 GPU_DEVICES=|^$work/plan/emulated/v07 *\$|without a GPU, make step takes the emulator
step N=7 NVCC=|^$work/plan/emulated/v07 *\$|without nvcc, make step takes the emulator
ladder EMULATE=0| -m bench.ladder |make ladder EMULATE=0 times them
ladder EMULATE=0 TRACK=all SIZES=8192,4096x14336x4096 PROTOCOL=both ARGS='--passes 2'|bench.ladder  *--track 'all' --sizes '8192,4096x14336x4096' --protocol 'both' --build '$work/plan' --passes 2\$|TRACK, SIZES and PROTOCOL reach the ladder
ladder EMULATE=1 TRACK=t SIZES=256 PROTOCOL=both|bench.ladder --emulate --track 't' --sizes '256' --protocol 'both' --build '$work/plan' *\$|TRACK and SIZES reach the emulated ladder
book|book.make_book --out $work/plan/book *\$|BUILD= says where the book goes
diff N=a4 TRACK=v|a03 -> a04|TRACK is the ladder's alone
compare OLD='a b.json' NEW=c.json|-m bench.compare 'a b.json' 'c.json' *\$|make compare passes both files on
EOF
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

# A directory with everything on PATH but nvcc.
bare=$PWD/$work/bin
mkdir -p "$bare"
for tool in bash gcc g++ git diff sed tail tr python3 nproc mkdir rm cat uname; do
    ln -s "$(type -P $tool)" "$bare"
done
make_path=$(command -v make)

# bare_make ARGUMENT...: make where there is no nvcc, in a build directory of its own.
bare_make() {
    env PATH="$bare" CUDA_HOME=/nonexistent "$make_path" --no-print-directory \
        BUILD="$work/build" "$@" >$work/out 2>$work/err </dev/null
    status=$?
}
table bare_make <<EOF
-n step N=7|^$work/build/emulated/v07 *\$|make step without nvcc takes the emulator
-n step N=7|^g\+\+ .*steps/v07|the emulator is built without the CUDA Toolkit
EOF
is "the emulator's build names no CUDA Toolkit" "see $work/out" not grep -qE 'nvcc|nonexistent' $work/out
table bare_make <<EOF
list|^v12 |make list needs no nvcc
diff N=2|^v01 -> v02\$|make diff needs no nvcc
EOF
# The interpreter itself: python3 on PATH may be a script that needs more of PATH.
python=$(python3 -c 'import sys; print(sys.executable)')
bare_make standalone N=7 PYTHON="$python"
says "make standalone needs no nvcc, and says how to compile" "^$work/build/standalone/v07.cu: nvcc .* v07.cu$"
is "make standalone writes the file whole" "it does not end with the licence" \
    bash -c "tail -n 1 $work/build/standalone/v07.cu | grep -qx '// SOFTWARE.'"
rm "$bare/git"
bare_make diff N=2
says "make diff needs no git" '^v01 -> v02$'

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
which two files.*OLD=a.jsonl NEW=b.jsonl|compare
which two files|compare OLD=a.json
EMULATE=2: it is 1 .* or 0|step N=7 EMULATE=2
EMULATE=yes: it is 1 .* or 0|step N=7 EMULATE=yes
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
which clones|rivals $with_gpu
which program|emulate
no-python was not found: install Python 3.9|ladder PYTHON=no-python
no-python was not found: install Python 3.9|trace N=7 PYTHON=no-python
no-python was not found: install Python 3.9|plots PYTHON=no-python
no-gcc was not found: install gcc|step N=7 CC=no-gcc
no-g\+\+ is not g\+\+ 12 or later.*install g\+\+|step N=7 CXX=no-g++
/bin/false is not g\+\+ 12 or later|ladder CXX=/bin/false
sizes: 'abc' is no shape|ladder EMULATE=0 SIZES=abc $with_gpu
shapes for a GPU|ladder SIZES=squares
track: .*'x'|ladder EMULATE=0 TRACK=x $with_gpu
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
quick="EMULATE=1 BUILD=$work/quick CC=$work/compiler CXX=$work/compiler OBJCOPY=true"
on_terminal step N=7 "$quick"
says "make step shows on a terminal how far the build is" "12/[0-9]+"
is "the last step of a build is the number of its steps" "see $work/out" \
    bash -c "tr '\r' '\n' <$work/out | grep -E '[0-9]+/[0-9]+' | tail -n 1 | grep -E '(^|[^0-9])([0-9]+)/\2 '"
is "the build takes one line of the terminal" "see $work/out" test "$(grep -c / $work/out)" -le 1
rm -r $work/quick
# shellcheck disable=SC2086 # words
run step N=7 $quick
says "make step writes what it builds into a log" "^c\+\+ steps/v07"

# would GOAL FILE: the sources that make GOAL would compile again if FILE changed.
would() {
    { make -n --no-print-directory -W "$2" "$1" 2>/dev/null || echo "echo 'cc make failed'"; } |
        sed -nE "s/.*echo '(nvcc|cc|c\+\+) ([^']*)'.*/\2/p" | sort
}
# rebuilt GOAL FILE: the rungs among them.
rebuilt() {
    would "$1" "$2" | sed -nE 's|^steps/([vatf][0-9]+)_.*|\1|p; /^make failed/p'
}
# includers DIRECTORY HEADER: the rungs built there that include it, directly or not.
includers() {
    grep -lE "(^| )$2( |:|\\\\|$)" "$1"/*.o.d | sed -E 's|.*/([vatf][0-9]+)\.o\.d|\1|' | sort
}
# rebuilds GOAL DIRECTORY LAUNCH HEADER...: what make GOAL, built in the directory, compiles again for
# each header: what the compiler says includes it. That LAUNCH is v17's and later rungs' is known.
rebuilds() {
    local goal=$1 built=$2 launch=$3 header
    if [[ $built == build/steps ]] && ! find_nvcc >/dev/null; then
        skip "header changes rebuild what they must in $built" "needs nvcc"
        return
    fi
    is "make $goal rebuilds nothing when nothing changed" "make -q says otherwise" make -q "$goal"
    same "a changed rung rebuilds itself alone in $built" "$(would "$goal" steps/v03_*.cu)" "$(ls steps/v03_*.cu)"
    same "$launch rebuilds v17 to v24 alone in $built" "$(would "$goal" "$launch")" \
        "$(ls steps/v1[789]_*.cu steps/v2*.cu)"
    for header in "${@:4}"; do
        same "$header rebuilds what includes it in $built" "$(rebuilt "$goal" "$header")" \
            "$(includers "$built" "$header")"
    done
}
rebuilds emulated build/emulated common/device/emulated/device/dependent_launch.cuh \
    emulator/include/toolkit/cuda_runtime.h common/device/*.* common/device/emulated/device/*
rebuilds rungs build/steps common/device/dependent_launch.cuh common/step.h common/device/*.*

# rewritten FILE: the standalone files that would be written again if FILE changed.
rewritten() {
    { make -n --no-print-directory -W "$1" standalone N=all 2>/dev/null || echo 'make failed'; } |
        sed -nE 's|^python3 -m standalone.write .* build/standalone/([vatf][0-9]+)\.cu .*|\1|p; /^make failed/p'
}
same "no standalone file is written again when nothing changed" "$(rewritten README.md)" ""
same "device/dependent_launch.cuh writes the standalone files of v17 to v24 again, alone" \
    "$(rewritten common/device/dependent_launch.cuh)" $'v17\nv18\nv19\nv20\nv21\nv22\nv23\nv24'
same "step.h writes every standalone file again" "$(rewritten common/step.h | wc -l)" \
    "$(find steps -name '*.cu' | wc -l)"
finish
