"""Fake rungs for the tests of bench/: small scripts that write a made-up row. No GPU is needed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

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
import json, os, sys, time
fake = BEHAVIOUR.get
if sys.argv[1:2] == ["--runs"]:
    with open(os.path.join(HERE, "commands"), "a") as log:
        log.write("runs\n")
    for line in open(sys.argv[2]):
        words = [sys.argv[0], *line.rstrip("\n").split("\t")]
        status = os.spawnv(os.P_WAIT, words[0], words)
        if status:
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
if fake("exit"):
    sys.exit(fake("exit"))
if call == fake("wrong_in_call"):
    sys.exit(print("WRONG      exact: 1 of 4 differ") or 1)
protocol, rounds = options.get("--protocol"), int(options.get("--rounds", 0))
moves, of_fp8 = NAME.startswith("t"), NAME.startswith("f")
other = "cublaslt_block_scales" if fake("block_scales") else "cublaslt_accurate"
other = "device_copy" if moves else other if of_fp8 else "cublas"
shape = {key: int(options.get("--" + key, 256)) for key in ("mn" if moves else "mnk")}
assert not moves or "--k" not in options, options
flop = 8 if moves else 2  # or bytes
for size in shape.values():
    flop *= size

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
if fake("fp16_sums"):
    timed["cublas_fp16_sums"] = contender(2.0)
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
if fake("kernel"):
    row["kernel"] = fake("kernel")
if protocol == "burst":
    row["gated"] = True
if "--heuristics" in options or "--algorithm" in options:
    timed["cublaslt"] = contender(fake("cublaslt", 1.25))
if "--heuristics" in options:
    searched, number = options["--heuristics"], fake("winner", 3)
    found = [{"number": i, "name": "kernel of number %d" % i, "seconds": 1 + abs(i - number),
              "algorithm": "%0128x" % i} for i in range(64)]
    found = found[:64 if searched == "all" else int(searched)]
    row["heuristics"] = {"asked": 64, "returned": 8 if searched == "all" else 64,
                         "winner": found[number], "timed": found}
    if searched == "all":
        row["heuristics"].update(enumerated=1584, launched=1592, checked=8)
        row["heuristics"].update({"cut": True} if fake("cut") else {})
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
        self.folder.mkdir(exist_ok=True)
        self.out = self.folder / "out.jsonl"
        (self.folder / self.STEPS).mkdir()
        for name, behaviour in rungs.items():
            self.add(name, behaviour)

    def add(self, name, behaviour):
        """Writes one fake rung; v08_no_multicast is the variant v08-no-multicast."""
        path = self.folder / self.STEPS / name.replace("_", "-")
        write_program(path, FAKE, NAME=path.name, BEHAVIOUR=behaviour, HERE=str(self.folder))

    def usual(self, more):
        """The options that a test does not name; later ones win."""
        size = () if "--sizes" in more else ("--size", str(SIZE))
        return (*self.USUAL, *size, "--out", str(self.out))

    def command(self, *more):
        """The program over these rungs."""
        command = [sys.executable, *self.PROGRAM, "--build", str(self.folder)]
        return [*command, *self.usual(more), *more]

    def ladder(self, *more, status=0):
        """Runs it to its end, which has to be that, from an empty file; what it said."""
        self.out.unlink(missing_ok=True)
        result = run(*self.command(*more))
        same((more, result.returncode, result.stderr[-300:]), (more, status, result.stderr[-300:]))
        require("Traceback" not in result.stderr, result.stderr)
        return result

    def interrupted(self, calls, number, *more, rows=0):
        """Starts it, and sends that signal when that many fake rungs were started and that many rows
        are kept: its result."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        began = time.monotonic()
        with subprocess.Popen(self.command(*more), **pipes) as process:
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
