"""Fake rungs for the tests of bench/: small scripts that write a made-up row. No GPU is needed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

ROOT = Path(__file__).resolve().parent.parent.parent
SIZE = 256

from tools.cases import (  # noqa: F401 (for the tests)
    Skipped,
    close,
    holds,
    refused,
    require,
    run,
    run_cases,
    same,
    tests_in,
)

from bench import results

# A fake rung. BEHAVIOUR holds what a test wants of it; times depend on the call's number only.
# Without a protocol it is one on the emulator.
FAKE = r"""
import json, math, os, sys, time
fake = BEHAVIOUR.get
if sys.argv[1] == "--runs":
    print("runs", file=open(HERE + "/commands", "a"), flush=True)
    for line in open(sys.argv[2]):
        words = [sys.argv[0], *line.rstrip("\n").split("\t")]
        if status := os.spawnv(os.P_WAIT, words[0], words):
            sys.exit(status)
    sys.exit()
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open(os.path.join(HERE, "commands"), "a+") as log:
    log.write(NAME + " " + " ".join(sys.argv[1:]) + "\n")
    log.seek(0)
    call = [line.split()[0] for line in log].count(NAME) - 1
if fake("sleep_in_call") == call:
    time.sleep(60)
if int(options.get("--m", 0)) % fake("multiple", 1):
    sys.exit(sys.stderr.write(NAME + ": m=" + options["--m"] + " is no multiple\n") and 2)
print(fake("stdout", ""), end="", flush=True)
print(fake("stderr", ""), file=sys.stderr)
if fake("crash"):
    os.abort()
if call == fake("wrong_in_call"):
    print("WRONG      exact: 1 of 4 differ")
if fake("exit") or call == fake("wrong_in_call"):
    sys.exit(fake("exit", 1))
protocol, rounds = options.get("--protocol"), int(options.get("--rounds", 0))
moves, of_fp8 = NAME.startswith("t"), NAME.startswith("f")
other = "cublaslt_block_scales" if fake("block_scales") else "cublaslt_accurate"
other = "device_copy" if moves else other if of_fp8 else "cublas"
shape = {key: int(options.get("--" + key, 256)) for key in ("mn" if moves else "mnk")}
flop = (8 if moves else 2) * math.prod(shape.values())  # or bytes

def contender(factor, noise=0):
    seconds = [flop / 1e12 * (1 + 0.01 * i + 0.1 * call) / factor * (1 + noise * (i % 3))
               for i in range(rounds)]
    if protocol == "call":
        return {"seconds": seconds, "before_seconds": 0.001 * (1 + call)}
    read = {"share": 0.5 * factor, "ghz": 1.5 + call / 10}
    if protocol == "sustained":
        read.update(watts=650.0, joules=650.0)
    return {"seconds": seconds, **read}

timed = {"step": contender(fake("speed", 1.0), fake("noise", 0)), other: contender(1.0)}
if other == "cublaslt_accurate":
    timed["cublaslt_fast"] = contender(1.1)
if fake("early"):
    timed["early"] = contender(fake("early"))
gpu = {"name": fake("gpu", "Fake GPU 1"), "card": "0a1b2c3d", "compute_capability": "9.0",
       "sms": 10, "l2_bytes": 2**20, "memory_bytes": 80 * 2**30, "power_limit_watts": 700.0,
       "driver": "1", "cuda": "13.0", "cublas": "13.1.0"}
problem = {"computation": "transpose_fp32" if moves else "gemm_fp8" if of_fp8 else "gemm_bf16",
           **shape, "inputs": options["--inputs"], "seed": int(options["--seed"])}
row = {"step": NAME, "idea": fake("idea", "idea of " + NAME), "date": "2026-01-01T00:00:00Z",
       "context": {"gpu": gpu, "commit": fake("commit", "abc1234"), "protocol": protocol,
                   "problem": {**problem, **fake("problem", {})}, "rounds": rounds},
       "copies": 2, "digest": "0x%016x" % call, "timed": timed}
if "other_processes" in BEHAVIOUR and call >= fake("since", 0):
    row["other_processes"] = fake("other_processes")
if "--heuristics" in options or "--algorithm" in options:
    timed["cublaslt"] = contender(fake("cublaslt", 1.25))
if "--heuristics" in options:
    searched, number = options["--heuristics"], fake("winner", 3)
    found = [{"number": i, "name": "kernel of number %d" % i, "seconds": 1 + abs(i - number),
              "algorithm": "%0128x" % i} for i in range(64)]
    found = found[:64 if searched == "all" else int(searched)]
    row["heuristics"] = {"asked": 64, "returned": 8 if searched == "all" else 64,
                         "winner": found[number]}
    if searched == "all":
        row["heuristics"].update(enumerated=1584, launched=1592, checked=8, cut=fake("cut", False))
if shape["m"] % fake("alone", 1):  # cuBLASLt takes no such shape
    row["timed"] = {"step": timed["step"]}
if moves:
    row["names"] = {"second_opinion": "somebody"}
    timed["second_opinion"] = contender(0.25)
if protocol in (None, "none"):
    del row["timed"], row["context"]["rounds"]
    row["context"]["protocol"] = None
if protocol is None:
    row["context"]["gpu"] = None
    counts = {"tma_read_bytes": 1500000, "tma_written_bytes": 250000, "wgmmas": 40, "mmas": 2}
    accesses = [{"extra_wavefronts": 5}, {"extra_wavefronts": 7}]
    row["emulator"] = {"counts": counts, "shared_memory_accesses": accesses}
with open(options["--json"] + ".new", "w") as stream:
    stream.write(fake("json", json.dumps(row)))
os.replace(options["--json"] + ".new", options["--json"])
"""


def write_program(path, text, **values):
    """Writes a Python program that knows these values by their names."""
    known = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    path.write_text(f"#!{sys.executable} -IS\n{known}{text}")
    path.chmod(0o755)


class House:
    """A temporary build directory with fake rungs."""

    PROGRAM, STEPS, USUAL = ("-m", "bench.ladder"), "steps", ("--passes", "3", "--rounds", "2")

    def __init__(self, folder, **rungs):
        self.folder = Path(folder)
        self.out = self.folder / "out.jsonl"
        self.folder.mkdir(exist_ok=True)
        for name, behaviour in rungs.items():
            self.add(name, behaviour)

    def add(self, name, behaviour):
        """Writes one fake rung; v08_no_multicast is the variant v08-no-multicast."""
        name = name.replace("_", "-")
        kind = "rivals" if name[1] == "-" else "variants" if "-" in name else ""
        path = self.folder / kind / self.STEPS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_program(path, FAKE, NAME=name, BEHAVIOUR=behaviour, HERE=str(self.folder))

    def usual(self):
        """The options that a test does not name; later ones win."""
        return (*self.USUAL, "--sizes", str(SIZE))

    def command(self, *more):
        """The program over these rungs."""
        where = ("--build", str(self.folder), "--out", str(self.out))
        return [sys.executable, *self.PROGRAM, *where, *self.usual(), *more]

    def ladder(self, *more, status=0):
        """Runs it to its end, which has to be that, from an empty file; what it said."""
        self.out.unlink(missing_ok=True)
        result = run(*self.command(*more))
        same((more, result.returncode, result.stderr[-300:]), (more, status, result.stderr[-300:]))
        require("Traceback" not in result.stderr, result.stderr)
        return result

    def interrupted(self, calls, number, *more, rows=0):
        """Starts it, and sends that signal when so many fake rungs were started and so many rows
        are kept: its result."""
        with subprocess.Popen(self.command(*more), stdout=PIPE, stderr=PIPE, text=True) as process:
            began = time.monotonic()
            while len(self.commands()) < calls or len(self.lines()) < rows:
                require(time.monotonic() < began + 60, "the ladder did not get that far")
                time.sleep(0.02)
            process.send_signal(number)
            output, errors = process.communicate(timeout=30)
        require("Traceback" not in errors, errors)
        return subprocess.CompletedProcess((), process.returncode, output, errors)

    def refuses(self, *lines):
        """Exit status 2, a message and no run, for each of these command lines."""
        before = self.commands()
        for words in lines:
            result = self.ladder(*words.split(), status=2)
            same((words, result.stdout, bool(result.stderr)), (words, "", True))
        same((self.commands(), self.out.exists()), (before, False))

    def commands(self):
        """The fake rungs' calls in order, with all of their options."""
        log = self.folder / "commands"
        return log.read_text().splitlines() if log.exists() else []

    def calls(self):
        """The rungs that were called."""
        return [line.split()[0] for line in self.commands()]

    def lines(self):
        """The rows that were written, as they are in the file."""
        return self.out.read_text().splitlines() if self.out.exists() else []

    def runs(self):
        """What was written."""
        return results.load(self.out)

    def result(self):
        """The only ladder in it."""
        (found,) = self.runs()
        return found
