"""Fake rungs for the tests of bench/: small scripts that write a made-up JSON. No GPU is needed."""

from __future__ import annotations

import json
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

from bench.records import recorded

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
protocol, rounds = options.get("--protocol"), int(options.get("--rounds", 0))
moves, of_fp8 = NAME.startswith("t"), NAME.startswith("f")
other = "cublaslt_block_scales" if fake("block_scales") else "cublaslt_accurate"
other = "device_copy" if moves else other if of_fp8 else "cublas"
shape = {key: int(options.get("--" + key, 256)) for key in ("mn" if moves else "mnk")}
assert not moves or ("--k" not in options and options["--check"] == "full"), options
flop = 8 if moves else 2  # or bytes
for size in shape.values():
    flop *= size

def contender(factor, noise=0):
    seconds = [flop / 1e12 * (1 + 0.01 * i + 0.1 * call) / factor * (1 + noise * (i % 3))
               for i in range(rounds)]
    watts = 650.0 if protocol == "sustained" else None
    read = {"memory_share" if moves else "tensor_core_share": 0.5 * factor,
            "sm_clock_ghz": 1.5 + call / 10, "watts": watts, "joules": watts}
    if protocol == "call":
        read = {**dict.fromkeys(read), "before_seconds": 0.001 * (1 + call)}
    if protocol == "sustained":
        why = ("power", "thermal", "sync_boost", "board", "low_utilization", "reliability")
        read["clock_limits"] = {key: 0.5 * (key == "power") + 0.1 * call for key in why}
    return {"seconds": seconds, **read}

timing = {"protocol": protocol, "interrupted": False, "launches_per_round": 4, "bytes" if moves else "flop": flop,
          "step": contender(fake("speed", 1.0), fake("noise", 0)),
          other: contender(1.0)}
run = {
    "schema": 1, "kind": "step", "step": NAME, "idea": fake("idea", "idea of " + NAME),
    "commit": fake("commit", "abc1234"), "date": "2026-01-01T00:00:00Z",
    "gpu": {"name": fake("gpu", "Fake GPU 1"), "compute_capability": "9.0", "sms": 10,
            "power_limit_watts": 700.0, "driver": "1", "cuda": "13.0", "cublas": "13.1.0",
            "card": fake("card", "0a1b2c3d"), "memory_bytes": fake("memory_bytes", 80 * 2**30)},
    "problem": {"computation": "transpose_fp32" if moves else "gemm_fp8" if of_fp8 else "gemm_bf16",
                "copies": 2, **shape,
                "inputs": options["--inputs"], "seed": int(options["--seed"])},
    "verification": {"verified": fake("verified", True) and call != fake("wrong_in_call"),
                     "check": options["--check"],
                     "digest": "0x%016x" % call},
    "timing": timing,
}
if fake("kernel"):
    run["kernel"] = fake("kernel")
if "fp16_sums" in BEHAVIOUR:
    run["fp16_sums"] = fake("fp16_sums")
if fake("fp16_sums"):
    timing["cublas_fp16_sums"] = contender(2.0)
if other == "cublaslt_accurate":
    timing["cublaslt_fast"] = contender(1.1)
if protocol == "burst":
    timing["gated"] = True
if fake("early"):
    timing["early"] = contender(fake("early"))
if "--heuristics" in options or "--algorithm" in options:
    searched = options.get("--heuristics", "0")
    number = int(options["--algorithm"], 16) if searched == "0" else fake("winner", 3)
    number = fake("takes", number)
    found = [{"number": i, "name": "kernel of number %d" % i, "seconds": 1 + abs(i - number),
              "algorithm": "%0128x" % i} for i in range(64)]
    timed = found[:64 if searched == "all" else int(searched)]
    winner = found[number] if timed else {**found[number], "seconds": None}
    timing["cublaslt"] = contender(fake("cublaslt", 1.25))
    timing["heuristics"] = {"asked": 64, "returned": 8 if searched == "all" else 64,
                            "winner": winner, "timed": timed}
    if searched == "all":
        timing["heuristics"].update(enumerated=1584, launched=1592, checked=8)
        timing["heuristics"].update({"cut": True} if fake("cut") else {})
if shape["m"] % fake("alone", 1):  # cuBLASLt takes no such shape
    timing = run["timing"] = {key: timing[key] for key in timing if not key.startswith("cublas")}
if moves:
    run["verification"]["second_opinion"] = {"name": "somebody"}
    timing["second_opinion"] = contender(0.25)
if protocol is None:
    counts = {"tma_read_bytes": 1500000, "tma_written_bytes": 250000, "wgmmas": 40, "mmas": 2}
    accesses = [{"extra_wavefronts": 5}, {"extra_wavefronts": 7}]
    run.update(gpu=run["gpu"] if fake("gpu", "Fake GPU 1") == "real" else None, timing=None,
               emulator={"counts": counts, "shared_memory_accesses": accesses})
with open(options["--json"] + ".new", "w") as stream:
    stream.write(fake("json", json.dumps(run)))
os.replace(options["--json"] + ".new", options["--json"])
if call == fake("wrong_in_call"):
    sys.exit(print("WRONG      exact: 1 of 4 differ") or 1)
"""


def write_program(path, text, **values):
    """Writes a Python program that knows these values by their names."""
    known = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    path.write_text(f"#!{sys.executable} -IS\n{known}{text}")
    path.chmod(0o755)


class House:
    """A temporary build directory with fake rungs."""

    PROGRAM, STEPS = ("-m", "bench.ladder"), "steps"

    def __init__(self, folder, **rungs):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.out = self.folder / "out.json"
        (self.folder / self.STEPS).mkdir()
        for name, behaviour in rungs.items():
            self.add(name, behaviour)

    def add(self, name, behaviour):
        """Writes one fake rung."""
        path = self.folder / self.STEPS / name
        write_program(path, FAKE, NAME=name, BEHAVIOUR=behaviour, HERE=str(self.folder))

    def usual(self, more):
        """The options that a test does not name; later ones win."""
        size = () if "--sizes" in more else ("--size", str(SIZE))
        nobody = ("--nvidia-smi", "true")  # a program that names no process
        return ("--passes", "3", "--rounds", "2", *size, "--out", str(self.out), *nobody)

    def command(self, *more):
        """The program over these rungs."""
        command = [sys.executable, *self.PROGRAM, "--build", str(self.folder)]
        return [*command, *self.usual(more), *more]

    def ladder(self, *more, status=0):
        """Runs it to its end, which has to be that; what it said."""
        result = run(*self.command(*more))
        same((more, result.returncode), (more, status))
        require("Traceback" not in result.stderr, result.stderr)
        return result

    def kept_points(self):
        """How many points the record of an unfinished sweep holds."""
        partial = self.out.with_name(f"{self.out.name}.partial")
        return len(json.loads(partial.read_text())["points"]) if partial.exists() else 0

    def interrupted(self, calls, number, *more, points=0):
        """Starts it, and sends that signal when that many fake rungs were started and that many points
        of a sweep are kept: its result."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        began = time.monotonic()
        with subprocess.Popen(self.command(*more), **pipes) as process:
            while len(self.calls()) < calls or (points and self.kept_points() < points):
                require(time.monotonic() < began + 60, "the ladder did not get that far")
                time.sleep(0.02)
            process.send_signal(number)
            output, errors = process.communicate(timeout=30)
        require("Traceback" not in errors, errors)
        return subprocess.CompletedProcess((), process.returncode, output, errors)

    def refuses(self, *lines):
        """Exit status 2, a message and no run, for each of these command lines."""
        before = self.calls()
        for words in lines:
            result = self.ladder(*words.split(), status=2)
            same((words, result.stdout, bool(result.stderr)), (words, "", True))
        same(self.calls(), before)

    def commands(self):
        """The fake rungs' calls in order, with all of their options."""
        log = self.folder / "commands"
        return log.read_text().splitlines() if log.exists() else []

    def calls(self):
        """The same as 'v01 full'."""
        words = [line.split() for line in self.commands() if "--check" in line]
        return [f"{one[0]} {one[one.index('--check') + 1]}" for one in words]

    def record(self):
        """What was written."""
        return json.loads(self.out.read_text())

    def result(self):
        """The only ladder in it."""
        return recorded.load_ladder(self.out)

    def left_over(self):
        """Files that should not be there."""
        known = {self.STEPS, "commands", "out.json"}
        return [path.name for path in self.folder.iterdir() if path.name not in known]
