"""Fake rungs, and bench's programs over them, in this process."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from unittest import mock

from tools import ROOT, made_runs

from bench import ladder, results
from bench import run as running

SIZE = 256
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
    path.write_text(
        f"#!{sys.executable} -IS\n" + Path(__file__).with_name("fake_program.py").read_text()
    )
    path.chmod(0o755)
    Path(f"{path}.json").write_text(json.dumps(told))


def bench(main, *words, status=0):
    """Calls a program of bench, which has to end with this status: what it printed, on stderr first."""
    out, err, ended = io.StringIO(), io.StringIO(), None
    name = main.__name__.removesuffix("_main")
    called = mock.patch.object(sys, "argv", [name, *map(str, words)])
    try:
        with called, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            running.run_as(name, main)
    except SystemExit as end:
        ended = end.code
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    said = err.getvalue() + out.getvalue()
    assert ended == status, f"{words}: {said}"
    return said


class House:
    """A build directory of fake rungs. Each is told its `speeds` as multiples of 1 TFLOPS, what it does in
    `each` of its calls or in some `acts` by their numbers, fields of its `row`, and more: fake_program.py."""

    def __init__(self, folder, main=ladder.ladder_main, usual=None, emulated=False, **rungs):
        self.folder, self.main, self.emulated = folder, main, emulated
        self.out, self.log = folder / "out.jsonl", folder / "commands"
        self.usual = usual or ["--emulate"] if emulated else usual or ["--passes", 3, "--rounds", 2]
        for name, told in rungs.items():
            self.add(name.replace("_", "-"), **told)

    def add(self, name, speeds=(), acts=(), each=(), row=(), problem=(), **told):
        """Writes one; v08-no-multicast is a variant, v-fast-cu a rival."""
        kind = "rivals" if name[1] == "-" else "variants" if "-" in name else ""
        moves, of_fp8 = name[0] == "t", name[0] == "f"
        other = "device_copy" if moves else "cublaslt_accurate" if of_fp8 else "cublas"
        fields = {"idea": f"idea of {name}", "gpu": GPU, **dict(row)}
        if self.emulated:
            fields["emulator"] = {"counts": COUNTS, "shared_memory_accesses": CONFLICTS}
            fields["gpu"] = None
        made = made_runs.row(name, **fields)
        made["context"]["problem"] = {"computation": made_runs.COMPUTES[name[0]], **dict(problem)}
        told |= {"row": made, "dimensions": "mn" if moves else "mnk", "log": str(self.log)}
        told |= {"speeds": {other: 1.0, **dict(speeds)}, "acts": {"each": dict(each), **dict(acts)}}
        seconds = (8 * SIZE**2 if moves else 2 * SIZE**3) / 1e12
        path = self.folder / kind / ("emulated" if self.emulated else "steps") / name
        fake(path, seconds=seconds, **told)

    def words(self, *more):
        """The command line; later options win."""
        return ["--build", self.folder, "--out", self.out, "--sizes", SIZE, *self.usual, *more]

    def run(self, *more, status=0):
        """Runs the program from an empty file: what it printed."""
        self.out.unlink(missing_ok=True)
        return bench(self.main, *self.words(*more), status=status)

    def apart(self, *more, shell='exec "$@"'):
        """The same in a process of its own: its result."""
        command = [sys.executable, "-m", self.main.__module__, *map(str, self.words(*more))]
        how = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 120}
        result = subprocess.run(["bash", "-c", shell, "-", *command], check=False, **how)
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
