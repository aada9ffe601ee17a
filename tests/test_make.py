"""The front door: what make says, what it rejects, and what it builds again."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache

import pytest

from tools import ROOT, call

pytestmark = pytest.mark.check
RUNGS = "|".join(sorted(path.name.partition("_")[0] for path in ROOT.glob("steps/*.cu")))
# plan: a dry run with a GPU and an nvcc that is none; bare: a machine with neither.
COMMANDS = """
plan() { make -n NVCC=/bin/false GPU_DEVICES=/dev/null BUILD=$tmp "$@"; }
gpu() { make NVCC=/bin/false GPU_DEVICES=/dev/null BUILD=$tmp CUDA_HOME=/nonexistent "$@"; }
bare() { PATH=$tmp/bin make GPU_DEVICES= BUILD=$tmp/bare CUDA_HOME=/nonexistent "$@"; }
own() { GIT_INDEX_FILE=/nonexistent make -n STRICT=1 NVCC=/bin/false BUILD=$tmp "$@"; }
terminal() { script -qec "$*" /dev/null; }
"""
# Commands, and an expression: => for a line of what they print; !> for the one line with which make
# rejects them; ~> for a line with which they fail later. $rung is each rung.
TABLE = r"""
make                                => ^make $verb( |$)
make list; bare list                => ^$rung  [^(]
make list                           => ^v08  .* \(side branch, leads to s06\)$
make diffstat                       => ^v12 
make diff N=1                       => nothing below
make diff 2 BUILD=/proc; make diff 2 | head -n 1; make list | head -n 1; bare diff 2; make diff a4; make diff v16 => ^(v01|v01 -> v02|a03 -> a04|v14 -> v16)\b
make record ARGS=--list             => ^burst 
plan $alone                         => .
plan step N=7; plan step N=07; plan step N=v7; plan step N=V07; plan step 7 => ^$tmp/steps/v07 *$
plan step 7 EMULATE=1 ARGS='--policy lazy' => ^$tmp/emulated/v07 --policy lazy$
plan step 7 GPU_DEVICES=; plan step 7 NVCC=; bare -n step 7 => ^$tmp(/bare)?/emulated/v07 *$
plan trace 7 ARGS='--cta 3'     => bench.trace $tmp/emulated/v07 --out $tmp/trace --cta 3$
plan standalone all                 => standalone.write steps/a01_
plan emulate FILE=a.cu ARGS='-D X=1 -- 3' => emulator.translate 'a.cu' -D X=1 -- 3$
plan plots RESULTS=$'x\ny'         => --results 'x y'
plan ladder TRACK=all SIZES=8,4x5x6 PROTOCOL=both => --track 'all' --sizes '8,4x5x6' --protocol 'both'
plan ladder EMULATE=1 ARGS='--jobs 2' => bench.ladder --emulate  *--build '$tmp' .*--jobs 2$
plan STRICT=1 $tmp/emulated/v07.o   => ^g\+\+ (?!.*-Wno-error).*-Werror
own $tmp/emulated/v07.o             => ^g\+\+ .*-Wno-error
own $tmp/steps/v07.o                => ^make/nvcc.sh (?!.*-Werror)
mkdir -p $tmp/e/emulated && echo $tmp/e/emulated/v07.o: steps/v07_old.cu >$tmp/e/emulated/v07.d && make -n step 7 BUILD=$tmp/e EMULATE=1 => ^$tmp/e/emulated/v07
bare -n step 7                      => ^g\+\+ (?!.*(nvcc|nonexistent)).*steps/v07
bare standalone 7                   => ^$tmp/bare/standalone/v07.cu: nvcc .* v07.cu && 
terminal make diff 2; terminal make/build.sh $tmp/two '' x => \x1b(\[3[12]m|\[K2/2 b $)
terminal make diff 7                => -    \x1b\[7mBarrier\x1b\[27m full
terminal make diff 2 NO_COLOR=1     => ^\+#include "device/tma.cuh"
make $on_a_rung                     !> which rung
make rivals; make emulate !> which (clones|program)
make $on_a_rung 99; make step N=0; make step N=007; make step N=v; make step N='7 8'; make step N=% !> no rung
make step 7 SIZES=512               !> takes no SIZES=.* ARGS="--size 512"
make ladder SIZE=512; make diff 7 TRACK=v; make step 7 SIZE=512 POLICY=lazy !> takes no (SIZE|TRACK|POLICY)=
bare $by_nvcc                       !> nvcc was not found.*CUDA Toolkit
bare sass 7; bare sanitize 7        !> (cuobjdump|compute-sanitizer) was not found.*CUDA Toolkit
gpu step 7 GPU_DEVICES= EMULATE=0; gpu record GPU_DEVICES=; gpu energy GPU_DEVICES= !> no GPU
make $in_python PYTHON=no-python; make exercise 7 PYTHON=$tmp/old !> (not found|is Python 3.8.18): install Python 3.9
make step 7 BUILD=$tmp CC=no-gcc EMULATE=1; make step 7 BUILD=$tmp CXX=no-g++ EMULATE=1 !> no-g.*install g
gpu ladder TRACK="x'; touch y"      !> track: .*x'; touch y
make step 7 BUILD=/dev/null/x       !> /dev/null/x cannot be written.*BUILD=
make list -C tests -f $root/Makefile; make step 7 EMULATE=2 !> (make -C $root list|EMULATE=2: it is 1 .* or 0)
make rivals $plain='x;y'; make rivals $plain=x\'; make rivals $plain=$'x\n' !> $plain=.*one word
make exercise 7 E=1 BUILD=$tmp/full ~> full/exercises: File exists
make new N=7 FROM=6                 ~> new.py: v07 from v06: steps/v07_.* exists
make plots BUILD=$tmp/offline       ~> plots/requirements.txt could not be installed: .*network
{ sleep 1 && make exercise 7; } | true ~> Broken pipe
"""
EACH = {
    "$rung": RUNGS,
    "$verb": "step|trace|diff|exercise|new|standalone|sass|resources|sanitize|diffstat|list|ladder|energy"
    "|record|emulate|rungs|variants|rivals|plots|notes|book|test|check|format|clean",
    "$alone": "resources 7|energy|record|plots|notes|book|check|format|clean|rungs|emulated|variants",
    "$on_a_rung": "step|trace|diff|exercise|try|hint|solution|standalone|sass|resources|sanitize",
    "$by_nvcc": "record|energy|variants|resources 7|step 7 EMULATE=0|ladder EMULATE=0",
    "$in_python": "ladder|plots|new|check|notes|exercise 7|try 7|hint 7|solution 7|trace 7",
    "$plain": "BUILD|STEPS|CUDA_HOME|CUTLASS",
}
# Files of the tests' own machine.
TOOLS = "bash sh env make gcc g++ git diff sed tail tr python3 nproc mkdir mktemp rm cat grep uniq cut uname"
MADE = {
    "old": "#!/bin/sh\necho 3.8.18\n",
    "two": "#!/bin/sh\ncase $* in *-n*) printf \"echo 'a'\\necho 'b'\\n\" ;; *) printf 'a\\nb\\n' ;; esac\n",
    "full/exercises": "",
    "offline/venv/bin/python": "#!/bin/sh\n",
    "offline/venv/bin/pip": "#!/bin/sh\necho many; echo words; exit 1\n",
    "common/device/nap.cuh": "DEVICE void nap() { asm(); }\n",
    "v30.d": "v30.o: v30.cu common/device/nap.cuh\n",
}


def rows():
    """A case for each command, and for each rung or verb where it names all."""
    for line in TABLE.strip("\n").splitlines():
        commands, arrow, wanted = re.split(" +([=!~]>) ", line, maxsplit=1)
        both = [(one, wanted) for one in re.split("; (?=make|plan|bare|gpu|terminal)", commands)]
        for name, values in EACH.items():
            words = values.split("|") if name in line else [name]
            both = [
                (a.replace(name, word), b.replace(name, word)) for a, b in both for word in words
            ]
        for command, expression in dict.fromkeys(both):
            yield command, arrow, expression


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """A folder with the files that the commands name."""
    folder = tmp_path_factory.mktemp("make")
    for name, text in MADE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "bin").mkdir()
    for tool in TOOLS.split():  # python3 may be a script that needs more of PATH
        found = shutil.which(tool, path=f"/usr/bin:{os.environ['PATH']}")
        (folder / "bin" / tool).symlink_to(sys.executable if tool == "python3" else found)
    return folder


@cache
def run(command, machine):
    """Runs a command of the table, which leaves no traceback in any case."""
    variables = {"MAKEFLAGS": "--no-print-directory", "tmp": str(machine), "root": str(ROOT)}
    how = {"cwd": ROOT, "stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    ended = call("bash", "-o", "pipefail", "-c", f"{COMMANDS}{command}", env=variables, **how)
    assert "Traceback" not in ended.stdout + ended.stderr
    return ended


@pytest.mark.parametrize(("command", "arrow", "expression"), [*rows()])
def test_make(command, arrow, expression, machine):
    ended, says = run(command, machine), arrow == "=>"
    said = ended.stdout if says else ended.stdout + ended.stderr
    expression = expression.replace("$tmp", str(machine)).replace("$root", str(ROOT))
    assert (ended.returncode == 0) == says, ended
    assert re.search(expression, said, re.MULTILINE), ended
    assert arrow != "!>" or said.count("\n") == 1, ended


EMULATED = ("emulated/v03", "emulated/v17")
ON_GPU = ("steps/v03", "steps/v17", "variants/steps/v08-no-multicast")
# What is built again of them, and of the harness its JSON, if a file changes.
REBUILT = {
    "README.md": "",
    "steps/v03_larger_tile.cu": "v03",
    "steps/v08_cluster_multicast.cu": "v08-no-multicast",
    "bench/variants/v08-no-multicast.patch": "v08-no-multicast",
    "common/step.h": "v03 v17 v08-no-multicast",
    "common/harness/json.h": "json",
    "common/device/tma.cuh": "v03 v17 v08-no-multicast",
    "common/device/dependent_launch.cuh": "v17 v08-no-multicast",
}


@pytest.mark.parametrize("touched", REBUILT)
@pytest.mark.parametrize(
    "goals",
    [
        pytest.param(EMULATED, marks=pytest.mark.needs(*EMULATED), id="emulated"),
        pytest.param(ON_GPU, marks=[pytest.mark.nvcc, pytest.mark.needs(*ON_GPU)], id="steps"),
    ],
)
def test_rebuilds(goals, touched, machine):
    """What the compiler says includes it, and nothing else; a patch may change any header."""
    ended = run(f"make -n -W {touched} {' '.join(f'build/{goal}' for goal in goals)}", machine)
    known = {"json", *(goal.rpartition("/")[2] for goal in goals)}
    built = r"(?:steps|harness|variants)/(v\d\d-[a-z-]+|v\d\d|json)[_.][^o]"
    assert ended.returncode == 0, ended
    assert {*re.findall(built, ended.stdout)} & known == {*REBUILT[touched].split()} & known, ended


@pytest.mark.parametrize("source", ["steps/v07_mbarrier.cu", "common/device/mbarrier.cuh"])
def test_flags_of_editors(source):
    """With them the compiler finds all that is included."""
    command = ["g++", "@compile_flags.txt", "-xc++", "-std=c++20", "-fsyntax-only", source]
    call(*command, cwd=ROOT, ends_well=True)
