"""Fake rungs, and bench's programs over them, in this process."""

import contextlib
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

from tools import ROOT, call, made_runs

from bench import ladder, results
from bench import run as running

SIZE = 256
TIMED = ("--passes", 3, "--rounds", 2)
GPU = {**made_runs.H200, "name": "Fake GPU 1"}
CONFLICTS = [{"extra_wavefronts": number} for number in (5, 7)]
COUNTS = {"tma_read_bytes": 1500000, "tma_written_bytes": 250000, "wgmmas": 40, "mmas": 2}


def holds(text, *words):
    """All of these are in the text."""
    for word in words:
        assert word in text, f"no {word!r} in {text}"


def fake(path, **told):
    """Writes a fake program that does what it is told."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = Path(__file__).with_name("fake_program.py").read_text()
    path.write_text(f"#!{sys.executable} -IS\n{source}")
    path.chmod(0o755)
    Path(f"{path}.json").write_text(json.dumps(told))


def bench(main, *words, status=0):
    """Calls a program of bench, which has to end with this status: what it printed, on stderr first."""
    out, err, name = io.StringIO(), io.StringIO(), main.__name__.removesuffix("_main")
    called, exits = (
        mock.patch.object(sys, "argv", [name, *map(str, words)]),
        pytest.raises(SystemExit),
    )
    with called, exits as end, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        running.run_as(name, main)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    said = err.getvalue() + out.getvalue()
    assert end.value.code == status, f"{words}: {said}"
    return said


class House:
    """A build directory of fake rungs. Each is told its `speeds` as multiples of 1 TFLOPS, what it does in
    `each` of its calls or in some `acts` by their numbers, fields of its `row`, and more: fake_program.py.
    `ncu` is what a fake ncu is told."""

    def __init__(self, folder, main=ladder.ladder_main, usual=TIMED, ncu=None, **rungs):
        self.folder, self.main, self.usual = folder, main, list(usual)
        self.out, self.log = folder / "out.jsonl", folder / "commands"
        for name, told in rungs.items():
            self.add(name.replace("_", "-"), **told)
        if ncu:
            fake(folder / "ncu", **ncu)
            self.usual += ["--ncu", folder / "ncu"]

    def add(self, name, speeds=(), acts=(), each=(), row=(), winner=3, found=(), **told):
        """Writes one; v08-no-multicast is a variant, v-fast-cu a rival."""
        kind = "rivals" if name[1] == "-" else "variants" if "-" in name else ""
        emulated = "--emulate" in self.usual
        fields = {"idea": f"idea of {name}", "gpu": None if emulated else GPU, **dict(row)}
        if emulated:
            fields["emulator"] = {"counts": COUNTS, "shared_memory_accesses": CONFLICTS}
        made = made_runs.row(name, None, (SIZE,) * (2 if name[0] == "t" else 3), None, **fields)
        run = results.Run(made["context"])
        best = {"number": winner, "name": f"kernel of number {winner}"}
        best["algorithm"] = f"{winner:0128x}"
        told["heuristics"] = {"asked": 64, "returned": 64, "winner": best, **dict(found)}
        told |= {"row": made, "log": str(self.log), "acts": {"each": dict(each), **dict(acts)}}
        told |= {"seconds": run.work / 1e12, "speeds": {run.measure.other: 1.0, **dict(speeds)}}
        fake(self.folder / kind / ("emulated" if emulated else "steps") / name, **told)

    def words(self, *more):
        """The command line; later options win."""
        return ["--build", self.folder, "--out", self.out, "--sizes", SIZE, *self.usual, *more]

    def run(self, *more, status=0):
        """Runs the program from an empty file: what it printed."""
        self.out.unlink(missing_ok=True)
        return bench(self.main, *self.words(*more), status=status)

    def apart(self, *more, shell='exec "$@"'):
        """The same in a process of its own: its result."""
        command = ["bash", "-c", shell, "-", sys.executable, "-m", self.main.__module__]
        how = {"cwd": ROOT, "stderr": subprocess.PIPE, "timeout": 120}
        result = call(*command, *self.words(*more), **how)
        assert "Traceback" not in result.stderr, result.stderr
        return result

    def commands(self):
        """The calls of the rungs, with all of their options."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def calls(self):
        """The rungs that were called."""
        return [line.split()[0] for line in self.commands()]

    def runs(self):
        """What was written."""
        return results.load(self.out) if self.out.exists() else []

    def result(self):
        """The only ladder in it."""
        (found,) = self.runs()
        return found
