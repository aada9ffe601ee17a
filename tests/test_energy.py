#!/usr/bin/env python3
"""Tests of the energy budget: the solver on made-up parts whose joules are known, the runner with a
made-up program, and the parts themselves on the emulator. Prints one line per case; exits 1 if any
failed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

from tools import fake_energy
from tools.cases import holds, refused, require, run, run_cases, same, tests_in
from tools.fake_rungs import write_program

from bench import results
from bench.energy import budget

# --- the solver -----------------------------------------------------------------------------------


def near(found, wanted, tolerance, what):
    """The same, but for a tolerance."""
    require(abs(found - wanted) <= tolerance, f"{what}: found {found}, wanted {wanted}")


def test_exact(_):
    """From parts that follow the model, the numbers that they were made from come back, of each rung."""
    for rung in budget.RUNGS:
        made, (seconds, _) = budget.make(fake_energy.run(rung=rung)), fake_energy.PARTS["whole"]
        idle, awake = fake_energy.IDLE * seconds, fake_energy.AWAKE * seconds
        wanted = [idle, awake - idle, *fake_energy.WHOLE.values(), 0]
        same(len(made.entries), len(wanted))
        for entry, joules in zip(made.entries, wanted):
            near(entry.joules, joules, 1e-4, entry.words)
        near(made.slope, fake_energy.SLOPE, 0.003, "slope")
        near(made.error, 0.001 * made.joules, 1e-6, "error")


def test_rest(_):
    """What only the whole takes is not attributed, and the budget adds up all the same; no term is
    below 0, however the parts lie."""
    made = budget.make(fake_energy.run(factors={"whole": 1.05}))
    near(sum(entry.joules for entry in made.entries), made.joules, 1e-12, "the sum")
    require(made.entries[-1].joules > 0.005, f"only {made.entries[-1]} is left over")
    tensor = made.entries[2]
    require(tensor.low < tensor.joules < tensor.high, "no part moves the tensor cores' joules")
    odd = {"multiply-n40": 0.9, "multiply-n104": 0.97, "no-store": 1.03}
    terms = budget.make(fake_energy.run(factors=odd)).entries[2:-1]
    require(min(entry.joules for entry in terms) >= 0, terms)


def test_unsolvable(_):
    """Each part that is needed is missed, and named; others are not. One pass does not say how far the
    joules scatter. A page's run is the newest of a rung with all parts, at the usual size and GPU."""
    for name in (*budget.fitted_of("v16"), budget.IDLE, budget.AWAKE):
        refused(f"no budget without the parts {name}", budget.make, fake_energy.run(name))
    budget.make(fake_energy.run("multiply-zeros"))
    one_pass = fake_energy.run()
    del one_pass.rows["v16-parts"][len(fake_energy.PARTS) :]
    refused("no budget of one pass", budget.make, one_pass)
    refused("of v12: only v14, v16", budget.fitted_of, "v12")
    old, new, cut, other = (fake_energy.run(*without) for without in ((), (), ("waiting",), ()))
    for number, one in enumerate((old, new, cut, other)):
        one.__dict__["date"] = f"2026-01-0{number + 1}"
    other.context = {**other.context, "gpu": {**other.gpu, "name": "NVIDIA H100"}}
    found = budget.newest([cut, new, other, old, fake_energy.run(rung="v14")])
    require(found["v16"] is new and set(found) == {"v14", "v16"}, found)


def test_impossible(_):
    """A part that is faster than its multiplications, its loads or its pace allow is told."""
    parts = budget.parts_of(fake_energy.run())
    for name, seconds, words in (
        *((name, part.seconds, "") for name, part in parts.items()),
        ("multiply", 1.3e-3, "1.3000 ms, not 1.3304"),
        ("multiply-half", 2.0e-3, "2.0000 ms, not 2.0878"),
        ("loads", 1.5e-3, "1.5000 ms, not 1.5840"),
    ):
        found = budget.impossible(parts[name]._replace(seconds=seconds), 132, 1.6e-3)
        same(found, words and f"impossible: a launch took {words}")
    holds(budget.impossible(parts["loads"]._replace(seconds=2e-4), 132), "not 0.2929")


# --- the runner -----------------------------------------------------------------------------------

# A fake ncu: runs the program, and says what it counts of a part, unless it may not.
NCU = """
import subprocess, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("Version 1.2.3"))
command = sys.argv[sys.argv.index("--metrics") + 2 :]
part = NAMES[int(command[command.index("--kernel") + 1]) - 1]
if part != "whole" or command[command.index("--protocol") + 1] != "none":
    sys.exit(print("==ERROR== no permission to count " + part) or 1)
subprocess.run(command, check=True)
names = sys.argv[sys.argv.index("--metrics") + 1].split(",")
for row in (["ID", "Kernel Name", *names], ["", "", "sector", "byte", "byte"]):
    print(",".join('"' + word + '"' for word in row))
print('"0","void <unnamed>::part_kernel<1, 2>(int)","1,000,000","64,000,000","5"')
"""

PROGRAM = """
import json, os, sys, time
if sys.argv[1] == "--explain":
    sys.exit(print("\\n".join(f"{i}\\t{name}\\tit is {name}" for i, name in enumerate(ROWS, 1))))
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
name = list(ROWS)[int(options["--kernel"]) - 1]
row, how = ROWS[name], BROKEN.get(name, "")
time.sleep(60 * (how == "hangs"))
if how == "cannot":
    sys.exit(print("v16-parts: cannot run here", file=sys.stderr) or 77)
if how == "fails" or name in PACED and not os.environ["ENERGY_PACE_SECONDS"]:
    sys.exit(print("v16-parts: say how long", file=sys.stderr) or 1)
if how == "too fast":
    row["timed"]["step"]["seconds"] = [1e-4]
if how == "no counter":
    del row["timed"]["step"]["joules"]
with open(options["--json"], "w") as stream:
    json.dump(row, stream)
"""


def measure(folder, broken, *arguments):
    """The runner over a made-up program and ncu: (its result, the runs that it recorded)."""
    program, out, ncu = (Path(folder) / name for name in ("energy/parts", "out.jsonl", "ncu"))
    program.parent.mkdir(exist_ok=True)
    rows = {name: fake_energy.row(name) for name in fake_energy.names()}
    write_program(ncu, NCU, NAMES=list(rows))
    write_program(program, PROGRAM, ROWS=rows, BROKEN=broken, PACED=fake_energy.PACED)
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "bench.energy.measure", "--build", folder, "--out", out]
    result = run(*command, "--ncu", ncu, *arguments)
    require("Traceback" not in result.stderr, result.stderr)
    return result, results.load(out) if out.exists() else []


def test_run(folder):
    """All parts are recorded in order, pass by pass, the paced ones as long as the whole; the budget is
    printed. What ncu counts is recorded; a part that it does not count does not fail the run."""
    result, (parts,) = measure(folder, {})
    rows = parts.rows["v16-parts"]
    same((result.returncode, rows[0]["what"], rows[-1]["ncu"]), (0, "it is whole", "Version 1.2.3"))
    same([row["part"] for row in rows], [*2 * [*fake_energy.names()], "whole"])
    holds(result.stdout, "tensor cores", "not attributed", "recorded in")
    holds(result.stderr, "34 processes", "no permission to count loads-l2")
    ((name, counts),) = budget.counts_of(parts).items()
    same((name, *counts.values()), ("whole", 1000000, 64000000, 5))


def test_failing(folder):
    """A part that fails, hangs or is too fast is named and does not take the others along; paced ones
    need the whole; where nothing can run, nothing is written."""
    broken = {"no-store": "fails", "no-dram": "hangs", "multiply": "too fast"}
    broken["loads"] = "no counter"
    for ways, lost in ((broken, {*broken}), ({"whole": "fails"}, {"whole", *fake_energy.PACED})):
        result, (parts,) = measure(folder, ways, "--timeout", 2, "--passes", 1)
        found = {row["part"] for row in parts.rows["v16-parts"]}
        same((result.returncode, {*fake_energy.names()} - found), (1, lost))
        holds(result.stderr, "say how long")
        holds(result.stdout, "no budget without the parts ")
        if ways is broken:
            holds(result.stderr, "after 2 s", "multiply: FAILED: impossible", "cannot be read")
    for status, arguments in (
        (77, ("--steps", "whole,idle")),
        (2, ("--steps", "nonsense")),
        (2, ("--build", Path(folder) / "missing")),
        (2, ("--ncu", Path(folder) / "missing")),
    ):
        result, found = measure(folder, {"whole": "cannot"}, *arguments)
        same((result.returncode, found), (status, []))


# --- the parts ------------------------------------------------------------------------------------


def test_parts(folder):
    """On the emulator every part ends, without a hazard, under all policies, and multiplies and moves
    what the budget takes it to."""
    program, path = ROOT / "build/tests/energy/parts", Path(folder) / "row.json"
    os.environ["ENERGY_PACE_SECONDS"] = "1e-6"
    problem = {"m": 512, "n": 512, "k": 512}  # six tiles, two over D's edge
    listed = [line.split("\t")[:2] for line in run(program, "--explain").stdout.splitlines()]
    known = {*budget.fitted_of("v16"), *budget.OTHERS, budget.AWAKE, budget.IDLE}
    same({name for _, name in listed}, known)
    for number, name in listed:
        path.unlink(missing_ok=True)
        result = run(program, "--size", 512, "--kernel", number, "--json", path)
        require(result.returncode == 0, f"{name}: {result.stderr}")
        counts = json.loads(path.read_text())["emulator"]["counts"]
        does = budget.amounts("v16", name, problem, sms=4)
        many = {"multiply-n104": 2, "multiply-n40": 5}.get(name, 1)  # wgmmas of a block
        wanted = [does["tensor"] // 2, does["l2"], does["store"], many * 768 * bool(does["tensor"])]
        names = ("multiply_adds", "tma_read_bytes", "tma_written_bytes", "wgmmas")
        same((name, [counts[one] for one in names]), (name, wanted))


if __name__ == "__main__":
    sys.exit(run_cases("energy", tests_in(globals())))
