"""Fake rungs for the tests of bench/: small scripts that write a made-up JSON. No GPU is needed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LADDER = ("-m", "bench.ladder")
SIZE = 256

from bench.records import recorded

# A fake rung. BEHAVIOUR holds what a test wants of it; times depend on the call's number only.
FAKE = """#!{python} -IS
import json, os, sys, time
NAME, BEHAVIOUR, HERE = {name!r}, {behaviour!r}, {here!r}
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open(os.path.join(HERE, "calls"), "a") as log:
    log.write(NAME + " " + options["--check"] + "\\n")
with open(os.path.join(HERE, "calls")) as log:
    call = [line.split()[0] for line in log].count(NAME) - 1
if BEHAVIOUR.get("sleep_in_call") == call:
    time.sleep(60)
with open(os.path.join(HERE, "commands"), "a") as log:
    log.write(NAME + " " + " ".join(sys.argv[1:]) + "\\n")
if int(options["--m"]) % BEHAVIOUR.get("multiple", 1):
    sys.stderr.write(NAME + ": m=" + options["--m"] + " is no multiple\\n")
    sys.exit(2)
if "stderr" in BEHAVIOUR:
    sys.stderr.write(BEHAVIOUR["stderr"] + "\\n")
if BEHAVIOUR.get("crash"):
    os.abort()
if BEHAVIOUR.get("exit"):
    sys.exit(BEHAVIOUR["exit"])
rounds = int(options["--rounds"])
speed = BEHAVIOUR.get("speed", 1.0)

WATTS = {{"sustained": 650.0}}
moves = NAME.startswith("t")
flop = 8 if moves else 2  # or bytes
for dimension in "mn" if moves else "mnk":
    flop *= int(options["--" + dimension])

CALL = options["--protocol"] == "call"

def contender(factor, noise=0):
    seconds = [flop / 1e12 * (1 + 0.01 * i + 0.1 * call) / factor * (1 + noise * (i % 3))
               for i in range(rounds)]
    share = "memory_share" if moves else "tensor_core_share"
    read = {{share: None if CALL else 0.5 * factor, "sm_clock_ghz": None if CALL else 1.5 + call / 10,
            "watts": WATTS.get(options["--protocol"]), "joules": WATTS.get(options["--protocol"])}}
    if CALL:
        read["before_seconds"] = 0.001 * (1 + call)
    if options["--protocol"] == "sustained":
        why = ("power", "thermal", "sync_boost", "board", "low_utilization", "reliability")
        read["clock_limits"] = {{key: 0.5 * (key == "power") + 0.1 * call for key in why}}
    return {{"seconds": seconds, **read}}

run = {{
    "schema": 1, "kind": "step", "step": NAME, "idea": BEHAVIOUR.get("idea", "idea of " + NAME),
    "commit": BEHAVIOUR.get("commit", "abc1234"), "date": "2026-01-01T00:00:00Z",
    "gpu": {{"name": BEHAVIOUR.get("gpu", "Fake GPU 1"), "compute_capability": "9.0", "sms": 10,
            "power_limit_watts": 700.0, "driver": "1", "cuda": "13.0", "cublas": "13.1.0",
            "card": BEHAVIOUR.get("card", "0a1b2c3d"),
            "memory_bytes": BEHAVIOUR.get("memory_bytes", 80 * 2**30)}},
    "problem": {{"computation": "gemm_bf16", "inputs": options["--inputs"],
                "seed": int(options["--seed"]), "copies": 2}},
    "verification": {{"verified": BEHAVIOUR.get("verified", True), "check": options["--check"]}},
    "timing": {{"protocol": options["--protocol"], "interrupted": False, "flop": flop,
               "step": contender(speed, BEHAVIOUR.get("noise", 0)), "cublas": contender(1.0)}},
}}
if "fp16_sums" in BEHAVIOUR:
    run["fp16_sums"] = BEHAVIOUR["fp16_sums"]
if BEHAVIOUR.get("fp16_sums"):
    run["timing"]["cublas_fp16_sums"] = contender(2.0)
if options["--protocol"] == "burst":
    run["timing"]["gated"] = True
if "early" in BEHAVIOUR:
    run["timing"]["early"] = contender(BEHAVIOUR["early"])
if "--heuristics" in options or "--algorithm" in options:
    searched = options.get("--heuristics", "0")
    number = int(options["--algorithm"], 16) if searched == "0" else BEHAVIOUR.get("winner", 3)
    number = BEHAVIOUR.get("takes", number)
    timed = [{{"number": i, "name": "kernel of number %d" % i, "seconds": 1 + abs(i - number),
              "algorithm": "%0128x" % i}} for i in range(64 if searched == "all" else int(searched))]
    winner = {{"number": number, "name": "kernel of number %d" % number, "seconds": None,
              "algorithm": "%0128x" % number}}
    if timed:
        winner = timed[number]
    run["timing"]["cublaslt"] = contender(BEHAVIOUR.get("cublaslt", 1.25))
    returned = 8 if searched == "all" else 64
    run["timing"]["heuristics"] = {{"asked": 64, "returned": returned, "winner": winner,
                                   "timed": timed}}
    if searched == "all":
        run["timing"]["heuristics"]["enumerated"] = 1584
if moves:
    run["problem"]["computation"] = "transpose_fp32"
    run["verification"]["second_opinion"] = {{"name": "somebody"}}
    timing = run["timing"]
    timing.update(bytes=timing.pop("flop"), device_copy=timing.pop("cublas"),
                  second_opinion=contender(0.25))
run["problem"].update((key, int(options["--" + key])) for key in "mnk" if "--" + key in options)
text = json.dumps(run)
with open(options["--json"], "w") as stream:
    stream.write(BEHAVIOUR.get("json", text))
"""


class House:
    """A temporary build directory with fake rungs."""

    def __init__(self, folder, **rungs):
        self.folder = Path(folder)
        self.out = self.folder / "out.json"
        (self.folder / "steps").mkdir()
        for name, behaviour in rungs.items():
            self.add(name, behaviour)

    def add(self, name, behaviour):
        """Writes one fake rung."""
        path = self.folder / "steps" / name
        path.write_text(
            FAKE.format(
                python=sys.executable,
                name=name,
                behaviour=behaviour,
                here=str(self.folder),
            )
        )
        path.chmod(0o755)

    def command(self, *more):
        """A ladder over these rungs; later options win."""
        size = () if "--sizes" in more else ("--size", str(SIZE))
        options = ("--passes", "3", "--rounds", "2", *size, "--out", str(self.out))
        nobody = ("--nvidia-smi", "true")  # a program that names no process
        return [sys.executable, *LADDER, "--build", str(self.folder), *options, *nobody, *more]

    def ladder(self, *more):
        """Runs the ladder to its end."""
        return run(*self.command(*more))

    def calls(self):
        """The fake rungs' calls in order, as 'v01 full'."""
        log = self.folder / "calls"
        return log.read_text().splitlines() if log.exists() else []

    def commands(self):
        """The same with all of their options."""
        return (self.folder / "commands").read_text().splitlines()

    def record(self):
        """What was written."""
        return json.loads(self.out.read_text())

    def result(self):
        """The only ladder in it."""
        return recorded.load_ladder(self.out)

    def left_over(self):
        """Files that should not be there."""
        known = {"steps", "calls", "commands", "out.json"}
        return [path.name for path in self.folder.iterdir() if path.name not in known]


def run(*command):
    """Runs a program and returns its result with captured text."""
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def require(condition, why="not so"):
    """AssertionError, also under python -O."""
    if not condition:
        raise AssertionError(why)


def same(found, wanted):
    """Equal, or an AssertionError that shows both."""
    require(found == wanted, f"found {found!r}, wanted {wanted!r}")


def close(found, wanted):
    """Equal but for rounding."""
    require(abs(found - wanted) <= 1e-9 * abs(wanted), f"found {found!r}, wanted {wanted!r}")


def wait_for_calls(house, count):
    """Waits until `count` fake rungs have been started."""
    deadline = time.monotonic() + 60
    while len(house.calls()) < count:
        require(time.monotonic() < deadline, "the ladder did not get that far")
        time.sleep(0.02)


def case(what, test):
    """Runs one test in a folder of its own; returns True if it failed."""
    name = f"{what}: {test.__doc__.splitlines()[0].rstrip('.')}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
    except Exception as error:  # noqa: BLE001 (any error in a test is a failed test)
        print(f"not ok - {name}: {type(error).__name__}: {error}".replace("\n", " "), flush=True)
        return True
    print(f"ok - {name}", flush=True)
    return False


def run_cases(what, tests):
    """Runs all tests; returns the exit status."""
    failures = [case(what, test) for test in tests]
    return 1 if any(failures) else 0
