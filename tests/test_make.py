"""The front door: what make says, what it rejects, and what it builds again."""

import json
import os
import re
import subprocess
import sys
from functools import cache

import pytest

from tools import ROOT

pytestmark = pytest.mark.check
RUNGS = " ".join(sorted(path.name.partition("_")[0] for path in ROOT.glob("steps/*.cu")))
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
make list                           => ^$rung  [^(]
make list | head -n 1; bare list    => ^v01 
make diffstat                       => ^v12 
make diff a4                        => ^a03 -> a04$
make diff v16                       => ^v14 -> v16$
make diff N=1                       => nothing below
make diff 2                         => ^\+#include "device/tma.cuh"$
make diff 2 BUILD=/proc; make diff 2 | head -n 1; bare diff 2 => ^v01 -> v02$
make record ARGS=--list             => ^burst 
plan $alone                         => .
plan step N=7; plan step N=07; plan step N=v7; plan step N=V07; plan step 7 => ^$tmp/steps/v07 *$
plan step 7 EMULATE=1 ARGS='--policy lazy' => ^$tmp/emulated/v07 --policy lazy$
plan step 7 GPU_DEVICES=; plan step 7 NVCC=; bare -n step 7 => ^$tmp(/bare)?/emulated/v07 *$
plan trace 7 EMULATE=1 ARGS='--cta 3' => bench.trace $tmp/trace/emulated/v07 --out $tmp/trace --cta 3$
plan standalone all                 => standalone.write steps/a01_
plan emulate FILE=a.cu ARGS='-D X=1 -- 3' => emulator.translate 'a.cu' -D X=1 -- 3$
plan compare OLD="x'; y" NEW='x$$(y)' => bench.compare 'x'\\''; y' 'x\$\(y\)' *$
plan plots RESULTS=$'x\ny'         => --results 'x y'
plan ladder TRACK=all SIZES=8,4x5x6 PROTOCOL=both => --track 'all' --sizes '8,4x5x6' --protocol 'both'
plan ladder EMULATE=1 ARGS='--jobs 2' => bench.ladder --emulate  *--build '$tmp' .*--jobs 2$
plan STRICT=1 $tmp/emulated/v07.o   => ^g\+\+ (?!.*-Wno-error).*-Werror
own $tmp/emulated/v07.o             => ^g\+\+ .*-Wno-error
own $tmp/steps/v07.o                => ^make/nvcc.sh (?!.*-Werror)
bare -n step 7                      => ^g\+\+ (?!.*(nvcc|nonexistent)).*steps/v07
bare standalone 7                   => ^$tmp/bare/standalone/v07.cu: nvcc .* v07.cu$
terminal make diff 2                => \x1b\[3[12]m
terminal make diff 2 NO_COLOR=1     => ^\+#include "device/tma.cuh"
terminal make/build.sh $tmp/two '' x => \x1b\[K2/2 b $
make $on_a_rung                     !> which rung
make compare; make compare OLD=a; make rivals; make emulate !> which (two files|clones|program)
make $on_a_rung 99; make step N=0; make step N=007; make step N=v; make step N=v% !> no rung
make step N=-1; make step N=7.; make step N='7 8'; make step N=% !> no rung
make step 7 SIZES=512               !> takes no SIZES=.* ARGS="--size 512"
make step 7 SIZE=512 POLICY=lazy    !> takes no (SIZE|POLICY)=.* ARGS="--(size 512|policy lazy)"
make ladder SIZE=512; make diff 7 TRACK=v !> (ladder|diff) takes no (SIZE|TRACK)=
make step 7 EMULATE=2               !> EMULATE=2: it is 1 .* or 0
bare step 7 EMULATE=0; bare $by_nvcc !> nvcc was not found.*CUDA Toolkit
bare sass 7; bare sanitize 7        !> (cuobjdump|compute-sanitizer) was not found.*CUDA Toolkit
gpu step 7 GPU_DEVICES= EMULATE=0; gpu trace 7 GPU_DEVICES= EMULATE=0 !> no GPU.*EMULATE=1
gpu record GPU_DEVICES=; gpu energy GPU_DEVICES= !> no GPU
make $in_python PYTHON=no-python    !> no-python was not found: install Python 3.9
make exercise 7 PYTHON=$tmp/old     !> is Python 3.8.18: install Python 3.9
make step 7 BUILD=$tmp CC=no-gcc EMULATE=1 !> no-gcc was not found: install gcc
make step 7 BUILD=$tmp CXX=no-g++ EMULATE=1 !> no-g\+\+ is not g\+\+ 12 or later.*install g\+\+
gpu ladder TRACK="x'; touch y"      !> track: .*x'; touch y
make step 7 BUILD=/dev/null/x       !> /dev/null/x cannot be written.*BUILD=
make list -C tests -f $root/Makefile !> make -C $root list
make rivals $plain='x;y'; make rivals $plain=x\'; make rivals $plain=$'x\n' !> $plain=.*one word
make exercise 7 E=1 BUILD=$tmp/full ~> full/exercises: File exists
make new N=7 FROM=6                 ~> new.py: v07 from v06: steps/v07_.* exists
make plots BUILD=$tmp/offline       ~> plots/requirements.txt could not be installed: .*network
{ sleep 1 && make exercise 7; } | true ~> Broken pipe
cd $tmp && $root/make/twins.sh v30.cu v30.d ~> v30.cu: common/device/nap.cuh .*needs a twin
"""
EACH = {
    "$rung": RUNGS,
    "$verb": "step trace diff exercise new standalone sass resources sanitize diffstat list ladder energy"
    " record compare emulate rungs variants rivals plots notes book test check format clean",
    "$alone": "resources:7 energy record plots notes book check format clean rungs emulated variants",
    "$on_a_rung": "step trace diff exercise try hint solution standalone sass resources sanitize",
    "$by_nvcc": "record energy variants resources:7 ladder:EMULATE=0",
    "$in_python": "ladder plots new check notes exercise:7 try:7 hint:7 solution:7 trace:7",
    "$plain": "BUILD STEPS CUDA_HOME CUTLASS",
}
# Files of the tests' own machine.
TOOLS = "bash sh env make gcc g++ diff sed tail tr python3 nproc mkdir mktemp rm cat grep uniq cut uname"
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
        commands, arrow, expression = re.split("([=!~]>) ", line, maxsplit=1)
        both = [(one.strip(), expression) for one in re.split("; (?=make|plan|bare|gpu)", commands)]
        for name, values in EACH.items():
            words = [one.replace(":", " ") for one in values.split(" ")] if name in line else [name]
            both = [[text.replace(name, word) for text in pair] for pair in both for word in words]
        yield from ((command, arrow, wanted) for command, wanted in dict.fromkeys(map(tuple, both)))


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """A folder with the files that the commands name."""
    folder = tmp_path_factory.mktemp("make")
    for name, text in MADE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    script = "PATH=/usr/bin:$PATH; mkdir bin; for tool; do ln -s $(type -P $tool) bin; done"
    subprocess.run(["bash", "-c", script, "bash", *TOOLS.split()], cwd=folder, check=True)
    (folder / "bin/python3").unlink()  # which may be a script that needs more of PATH
    (folder / "bin/python3").symlink_to(sys.executable)
    return folder


@cache
def run(command, machine):
    """Runs a command of the table, which leaves no traceback in any case."""
    variables = {"MAKEFLAGS": "--no-print-directory", "tmp": str(machine), "root": str(ROOT)}
    how = {"cwd": ROOT, "env": {**os.environ, **variables}, "stdin": subprocess.DEVNULL}
    words = ["bash", "-o", "pipefail", "-c", f"{COMMANDS}{command}"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, **how)
    assert "Traceback" not in ended.stdout + ended.stderr
    return ended


@pytest.mark.parametrize(("command", "arrow", "expression"), rows())
def test_make(command, arrow, expression, machine):
    ended, says = run(command, machine), arrow == "=>"
    said = ended.stdout if says else ended.stdout + ended.stderr
    expression = expression.replace("$tmp", str(machine)).replace("$root", str(ROOT))
    assert (ended.returncode == 0) == says, ended
    assert re.search(expression, said, re.MULTILINE), ended
    assert arrow != "!>" or said.count("\n") == 1, ended


MACHINES = [
    ("emulated", ""),
    ("standalone", ".cu"),
    pytest.param("steps", "", marks=pytest.mark.nvcc),
]
# What is built again of v03, v16, v17 and, where there is a harness, its JSON, if a file changes.
REBUILT = {
    "README.md": "",
    "steps/v03_larger_tile.cu": "v03",
    "common/step.h": "v03 v16 v17",
    "common/harness/json.h": "json",
    "common/device/tma.cuh": "v03 v16 v17",
    "common/device/stmatrix.cuh": "v16 v17",
    "common/device/dependent_launch.cuh": "v17",
}


@pytest.mark.needs(*(f"{{folder}}/{rung}{{suffix}}" for rung in ("v03", "v16", "v17")))
@pytest.mark.parametrize("touched", REBUILT)
@pytest.mark.parametrize(("folder", "suffix"), MACHINES)
def test_rebuilds(folder, suffix, touched, machine):
    """What the compiler says includes it, and nothing else."""
    twin = touched.replace("device/", "device/emulated/device/")
    changed = twin if folder == "emulated" and (ROOT / twin).exists() else touched
    goals = " ".join(f"build/{folder}/{rung}{suffix}" for rung in ("v03", "v16", "v17"))
    ended = run(f"make -n -W {changed} {goals}", machine)
    found = {*re.findall(r"(?:steps|harness)/(v\d\d|json)[_.][^o]", ended.stdout)}
    wanted = {*REBUILT[touched].split()} - ({"json"} if folder == "standalone" else set())
    assert ended.returncode == 0 and found == wanted, ended


def test_compile_commands(machine):
    """g++ takes them as they are: the words of a command, its folder and its source."""
    planned = run("plan -B V=1 $tmp/emulated/v07.o", machine)
    script = [sys.executable, "make/compile_commands.py"]
    made = subprocess.check_output(script, input=planned.stdout, text=True, cwd=ROOT)
    entries = {entry["file"]: entry for entry in json.loads(made)}
    assert "common/device/mbarrier.cuh" in entries
    entry = entries["steps/v07_mbarrier.cu"]
    subprocess.run([*entry["arguments"], "-fsyntax-only"], cwd=entry["directory"], check=True)
