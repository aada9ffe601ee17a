#!/usr/bin/env python3
"""Tests of the energy budget: the solver on made-up parts whose joules are known, and the runner with
a made-up program. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import copy
import json
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNNER = ("-m", "bench.energy.measure")

from tools import fake_energy, fake_rungs
from tools.fake_rungs import holds, refused, require, run_cases, same, tests_in

from bench.energy import budget, energy_limits
from bench.records import recorded
from notes.tools import (
    energy_figures,
    expressions,
    note_blocks,
    readings,
    shapes_table,
)

# What is edited -> the field that the error names.
EDITS = (
    (("kind",), "energies", "kind is 'energies'"),
    (("schema",), 2, "schema"),
    (("rung",), "twelve", "rung"),
    (("remark",), "mine", "remark"),
    (("parts",), [], "parts"),
    (("parts", 1, "part"), "rung", "parts: one stands there twice"),
    (("parts", 1, "watts"), 650.0, "parts[1].watts"),
    (("parts", 1, "watts_error"), 0.0, "parts[1].watts_error"),
    (("parts", 1, "joules"), 1.0, "parts[1].joules"),
    (("parts", 1, "joules"), None, "parts[1].joules"),
    (("parts", 1, "seconds"), 1e-3, "parts[1].joules"),
    (("parts", 1, "tensor_core_share"), 0.5, "parts[1].tensor_core_share"),
    (("parts", 1, "tensor_core_share"), None, "parts[1].tensor_core_share"),
    (("parts", 1, "counts", "flop"), 1.0, "parts[1].tensor_core_share"),
    (("parts", 1, "edges", "joules", 3), 0.0, "parts[1].edges"),
    (("parts", 1, "edges", "after"), [1.0, 2.0], "parts[1].edges"),
    (("problem", "m"), 4096, "counts.flop"),
    (("problem", "m"), 7600, "counts.flop"),
    (("parts", 2, "counts", "flop"), 1.1e12, "parts[2].tensor_core_share"),
)


def close(found, wanted, tolerance, what):
    """The same, but for a tolerance."""
    require(abs(found - wanted) <= tolerance, f"{what}: found {found}, wanted {wanted}")


# --- the solver -----------------------------------------------------------------------------


def test_exact(_):
    """From parts that follow the model, the numbers that they were made from come back."""
    made = budget.make(fake_energy.record())
    found = {entry.name: entry.joules for entry in made.entries}
    for name, joules in fake_energy.WHOLE.items():
        close(found[name], joules, 1e-4, name)
    close(found["idle"], fake_energy.IDLE * fake_energy.SECONDS, 1e-9, "idle")
    awake = (fake_energy.AWAKE - fake_energy.IDLE) * fake_energy.SECONDS
    close(found["awake"], awake, 1e-9, "awake")
    close(found["rest"], 0, 1e-4, "rest")
    close(made.fit.slope, fake_energy.SLOPE, 0.003, "slope")
    close(made.zeros, 0.5, 0.001, "zeros")
    apart = (fake_energy.APART - 1) * fake_energy.WHOLE["l2"]
    close(made.apart, apart, 1e-4, "loads that do not merge")
    require(max(abs(value) for value in made.fit.residuals.values()) < 1e-3, made.fit.residuals)


def scaled(record, factors):
    """The record with other joules in some parts; not one that a file could have."""
    for part in record["parts"]:
        factor = factors.get(part["part"], 1)
        part["watts"] *= factor
        part["joules"] = part["joules"] and part["joules"] * factor
    return record


def test_rest(_):
    """What only the whole takes is not attributed, and the budget adds up all the same."""
    made = budget.make(scaled(fake_energy.record(), {"whole": 1.05}))
    total = sum(entry.joules for entry in made.entries)
    close(total, made.joules, 1e-12, "the sum")
    rest = next(entry for entry in made.entries if entry.name == "rest")
    require(rest.joules > 0.005, f"only {rest.joules} J are left over")
    tensor = next(entry for entry in made.entries if entry.name == "tensor")
    require(tensor.low < tensor.joules < tensor.high, "no part moves the tensor cores' joules")
    worst = max(made.fit.residuals, key=lambda name: abs(made.fit.residuals[name]))
    same(worst, "whole")


def test_not_negative(_):
    """No term is below 0, however the parts lie."""
    factors = {"multiply-n64": 0.9, "multiply-n128": 0.97, "no-store": 1.03}
    made = budget.make(scaled(fake_energy.record(), factors))
    for entry in made.entries:
        require(entry.joules >= 0 or entry.name == "rest", f"{entry.name}: {entry.joules}")


def test_rungs(_):
    """Each rung has parts of its own; a rung whose parts nobody knows gives no budget."""
    one, other = (budget.make(fake_energy.record(rung=rung)) for rung in ("v14", "v16"))
    for mine, its in zip(one.entries, other.entries):
        close(its.joules, mine.joules, 1e-9, mine.name)
    refused("without the parts multiply-n104", budget.make, {**fake_energy.record(), "rung": "v16"})
    refused("no budget of v12: only v14, v16", budget.make, {**fake_energy.record(), "rung": "v12"})


def test_real(_):
    """Every recorded run whose parts are whole gives a budget of its own rung that adds up."""
    runs = [record for _, record in recorded.all_of_kind(recorded.RESULTS, "energy")]
    require(runs, "no energy run is recorded")
    for run in recorded.newest_energies(runs, recorded.home()):
        made = budget.make(run)
        total = sum(entry.joules for entry in made.entries)
        close(total, made.joules, 1e-9, run["rung"])
        require(abs(made.entries[-1].joules) < 0.1 * made.joules, made.entries[-1])


def test_missing(_):
    """Each part that is needed is missed, and named; others are not."""
    for name in (*budget.fitted_of("v14"), budget.IDLE, budget.AWAKE):
        refused(f"no budget without the parts {name}", budget.make, fake_energy.record(name))
    for name in ("rung", "loads-l2-apart", "multiply-zeros"):
        budget.make(fake_energy.record(name))
    same(budget.make(fake_energy.record("multiply-zeros")).zeros, None)
    same(budget.make(fake_energy.record("loads-l2-apart")).apart, None)


def test_undetermined(_):
    """A part that failed, or has no clock, is one that is missing; parts that do not tell the terms
    apart give no budget."""

    # the part (None: all that count) and what changes in it -> what is said
    for name, change, words in (
        ("no-dram", {"sm_clock_ghz": None}, "without the clock of no-dram"),
        ("no-dram", {"failed": "so"}, "without the parts no-dram"),
        (None, {"stored_bytes": 0.0}, "one of the terms is in none of the parts"),
        (None, {"operand_bytes": 1 / 50}, "do not tell all terms apart"),  # of FLOP
    ):
        record = fake_energy.record()
        for part in record["parts"]:
            if part["part"] == name:
                part.update(change)
            elif name is None and part["counts"]:
                part["counts"].update(
                    {key: value * part["counts"]["flop"] for key, value in change.items()}
                )
        refused(words, budget.make, record)


def test_error(_):
    """The error of the watts has the scatter of the counter's steps and the time between looks."""
    steady = fake_energy.edges_of(700.0)
    small = budget.watts_error(steady)
    require(0 < small < 0.5, small)
    restless = copy.deepcopy(steady)
    restless["joules"] = [
        joules + (15 if i % 7 == 0 else 0) for i, joules in enumerate(restless["joules"])
    ]
    require(budget.watts_error(restless) > 5 * small, budget.watts_error(restless))
    slow = copy.deepcopy(steady)
    slow["before"] = [time - 0.02 for time in slow["before"]]
    require(budget.watts_error(slow) > 5 * small, budget.watts_error(slow))


# --- the record -----------------------------------------------------------------------------


def test_record(folder):
    """A record comes through writing and reading; an edited one is refused, and the field named; so is
    a part that multiplies less than the others, whose tiles are all whole over D's edge."""
    path = Path(folder) / "energy.json"
    for rung in ("v16", "v14"):
        record = fake_energy.record(rung=rung)
        recorded.write_json(path, record)
        same(recorded.load_record(path), record)
    for index, (way, value, named) in enumerate(EDITS):
        edited = copy.deepcopy(record)
        inner = edited
        for key in way[:-1]:
            inner = inner[key]
        inner[way[-1]] = value
        path = Path(folder) / f"{index}.json"
        path.write_text(json.dumps(edited))
        refused(named, recorded.load_record, path)
    record = fake_energy.record(rung="v16")
    part = next(one for one in record["parts"] if one["part"] == "multiply-n40")
    part["counts"]["flop"] /= fake_energy.PADDED["v16"]
    part["tensor_core_share"] /= fake_energy.PADDED["v16"]
    path.write_text(json.dumps(record))
    holds(refused("counts.flop", recorded.load_record, path), "as before")


def test_blocks(folder):
    """The page's tables show a rung's newest whole run, and say so where none is recorded."""
    blocks = {
        ("energy", "budget", "v14"): "| tensor cores | 550.0 | 49.5 % |",
        ("energy", "fit", "v14"): "| voltage, per GHz | 0.550",
        ("energy", "parts", "v14"): "| no-store | no-store, made up |",
        ("energy", "counts", "v14"): "No table: nothing was counted in this run.",
        ("energy", "picture"): "plots/energy.png",
    }
    for words in blocks:
        library = readings.Library(folder)
        same((note_blocks.lines_of(library, words), library.used), (["Not recorded yet."], []))
    for name, record in (
        ("old", fake_energy.record("waiting")),
        ("new", fake_energy.record()),
        ("v16", fake_energy.record(rung="v16")),
    ):
        recorded.write_json(Path(folder) / f"{name}.json", record)
    for words, expected in blocks.items():
        library = readings.Library(folder)
        holds("\n".join(note_blocks.lines_of(library, words)), expected)
        rungs = ["v14", "v16"] if "picture" in words else ["v14"]
        same(sorted(record["rung"] for record in library.used), rungs)
        require(shapes_table.sources(library.used)[0].startswith("Energy: the parts of v1"), words)
    for words in (("joules", "v14"), ("budget",), ("picture", "v14")):
        library = readings.Library(folder)
        refused("write energy budget", note_blocks.lines_of, library, ("energy", *words))


FIGURES = {
    "v14 energy.tensor": "0.550 J",
    "v14 energy.tensor as mJ": "550 mJ",
    "v14 energy.l2 as mJ high": "110 mJ",
    "v14 energy.rest as mJ": "0 mJ",
    "v14 energy.zeros as .0": "50 %",
    "v14 energy.apart": "44 mJ",
    "v14 energy.slope": "0.55",
    "v14 energy.clock.whole-half": "1.85 GHz",
    "v14 energy.time.no-store as ms": "1.580 ms",
    "v14 energy.watts.idle @h200 @abc1234": "90 W",
}
NO_FIGURES = {  # -> what the error says
    "v14 energy.joule": "no figure of an energy run",
    "v14 energy.tensor.whole": "no figure of an energy run",
    "v14 energy.watts.nonsense": "no part 'nonsense'",
    "v14 energy.joules.idle": "has no joules",
    "v14 energy.l2_bytes.whole": "no l2_bytes counted of 'whole'",
    "v14 energy.sm_bytes": "no figure of an energy run",
    "v14 energy.share.loads": "has no share",
    "v14 energy.tensor @sustained": "select no more than",
    "v14 energy.tensor @4096": "select no more than",
    "v14 energy.tensor @h100": "no whole energy run of v14",
    "v14 energy.tensor @1234567": "no whole energy run of v14",
    "v12 energy.tensor": "no whole energy run of v12",
    "v14 energy.tensor as W": "no unit of a energy",
}


def test_figures(folder):
    """Pages can name each line of the budget, and what was measured of a part."""
    recorded.write_json(Path(folder) / "energy.json", fake_energy.record())
    recorded.write_json(Path(folder) / "cut.json", fake_energy.record("waiting"))
    library = readings.Library(folder)
    evaluator = expressions.Evaluator(library)
    for expression, wanted in FIGURES.items():
        same((expression, evaluator.text(expression)), (expression, wanted))
    same([one["kind"] for one in library.used], ["energy"])
    for name in energy_figures.LINES:
        evaluator.text(f"v14 energy.{name} as mJ spread")
    for expression, words in NO_FIGURES.items():
        refused(words, evaluator.text, expression)


# --- the runner -----------------------------------------------------------------------------

# A fake ncu: it says what it counts of a part, unless it may not.
NCU = """
import sys

if sys.argv[1:] == ["--version"]:
    print("Version 1.2.3")
    sys.exit(0)
part = sys.argv[sys.argv.index("--part") + 1]
if part == "loads-l2" or "--launches" not in sys.argv or "--json" in sys.argv:
    print("==ERROR== no permission to count " + part)
    sys.exit(1)
names = sys.argv[sys.argv.index("--metrics") + 1].split(",")
print("parts says something")
for row in (["ID", "Kernel Name", *names], ["", "", "sector", "byte", "byte"]):
    print(",".join('"' + word + '"' for word in row))
print('"0","part_kernel(int)","1,000,000","64,000,000","' + ("" if BLANK == part else "5") + '"')
"""

PROGRAM = """
import json, sys, time
sys.path.insert(0, HERE)
from tools import fake_energy
if sys.argv[1:] == ["--list"]:
    for name in fake_energy.NAMES:
        paced = fake_energy.part_of(name)["pace"] is not None
        print(name, "paced" if paced else "", name, sep="\\t")
    sys.exit(0)
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
name = options["--part"]
what = BROKEN.get(name, "")
if what == "hangs":
    time.sleep(60)
if what == "fails":
    print("WRONG      " + name + ": 3 elements of D are not what they have to be")
    sys.exit(1)
if what == "cannot":
    print("parts: cannot run here", file=sys.stderr)
    sys.exit(77)
part = fake_energy.part_of(name)
if part["pace"] is not None:
    part["pace"] = float(options["--pace"])
if what == "too fast":
    part["seconds"] /= 8
if what == "other commit":
    part["commit"] = "fffffff"
with open(options["--json"], "w") as file:
    file.write(json.dumps(part)[: 100 if what == "cut" else None])
"""


def run(folder, broken, *arguments, blank=""):
    """The runner over a made-up program and ncu: (its result, what it recorded or None)."""
    program, out, ncu = (Path(folder) / name for name in ("parts", "out.json", "ncu"))
    fake_rungs.write_program(ncu, NCU, BLANK=blank)
    fake_rungs.write_program(program, PROGRAM, HERE=str(ROOT / "tests"), BROKEN=broken)
    out.unlink(missing_ok=True)
    command = [sys.executable, *RUNNER, "--program", program, "--out", out]
    command += ["--nvidia-smi", "/nowhere", "--ncu", ncu, *arguments]
    result = fake_rungs.run(*command)
    return result, recorded.load_record(out) if out.exists() else None


def test_run(folder):
    """All parts are recorded in order, the paced ones as long as the whole; the budget is printed."""
    result, record = run(folder, {})
    same((result.returncode, record["kind"], record["rung"]), (0, "energy", "v14"))
    same([part["part"] for part in record["parts"]], list(fake_energy.NAMES))
    paces = {part["part"]: part["pace"] for part in record["parts"] if part["pace"]}
    same(set(paces.values()), {fake_energy.SECONDS})
    require("tensor cores" in result.stdout and "not attributed" in result.stdout, result.stdout)
    same(len(result.stderr.splitlines()), len(fake_energy.NAMES) + 3)


def test_counts(folder):
    """What ncu counts is recorded in bytes; a part that it does not count does not fail the run."""
    parts = ("--parts", "whole,loads-l2,loads-l2-apart,one-sm")
    result, record = run(folder, {}, *parts, blank="loads-l2-apart")
    same((result.returncode, record["counted"]["ncu"]), (0, "Version 1.2.3"))
    whole, merged, apart = record["counted"]["parts"]
    counted = {"l2_bytes": 32000000, "sm_bytes": 64000000, "dram_read_bytes": 5}
    same(whole, {"part": "whole", **counted})
    require("no permission to count loads-l2" in merged["failed"], merged)
    same(apart["failed"], "ncu does not say dram__bytes_read.sum")
    same(note_blocks.counted_rows(record)[1], ["whole", "0.03", "0.06", "0.00"])
    for figure, value in counted.items():
        same(energy_figures.figure(record, f"energy.{figure}.whole").value, value)
    result, record = run(folder, {}, "--parts", "one-sm,idle")
    same(record["counted"], None)
    result, record = run(folder, {}, "--ncu", Path(folder) / "missing")
    same((result.returncode, record), (2, None))


def test_failing(folder):
    """A part that fails, hangs or writes nonsense does not take the others along."""
    broken = {"no-store": "fails", "no-dram": "hangs", "no-loads": "cut", "loads": "other commit"}
    began = time.monotonic()
    result, record = run(folder, broken, "--timeout", 2)
    require(time.monotonic() - began < 60, "it waited for what hangs")
    failed = {part["part"]: part["failed"] for part in record["parts"] if "failed" in part}
    same((result.returncode, sorted(failed)), (1, sorted(broken)))
    for name, words in (
        ("no-store", "3 elements of D"),
        ("no-dram", "not finished after 2 s"),
        ("no-loads", "cut short"),
        ("loads", "its commit differs"),
    ):
        require(words in failed[name], failed[name])
    require("no budget without the parts no-store" in result.stdout, result.stdout)


def test_impossible(folder):
    """A part that is faster than its work allows is marked failed; so is a record that holds one."""
    broken = dict.fromkeys(("no-store", "loads-l2", "multiply-half"), "too fast")
    result, record = run(folder, broken)
    failed = {part["part"]: part["failed"] for part in record["parts"] if "failed" in part}
    same((result.returncode, sorted(failed)), (1, sorted(broken)))
    require("its pace is 1.6000 ms" in failed["loads-l2"], failed["loads-l2"])
    for name, needed in (
        ("no-store", "1.5064 ms at 1.350"),
        ("multiply-half", "2.0857 ms at 1.950"),
    ):
        require(f"tensor cores' peak it needs {needed}" in failed[name], failed[name])
    same(energy_limits.broken(fake_energy.part_of("multiply-half"), 132, None), None)
    loads = {**fake_energy.part_of("loads"), "pace": None, "seconds": 0.3e-3}
    require("what it loads" in energy_limits.broken(loads, 132, None), "loads above the peak")
    record = fake_energy.record()
    part = next(one for one in record["parts"] if one["part"] == "multiply")
    for key in ("seconds", "joules"):
        part[key] /= 8
    part["tensor_core_share"] *= 8
    path = Path(folder) / "impossible.json"
    path.write_text(json.dumps(record))
    refused("seconds: impossible", recorded.load_record, path)


def test_time(folder):
    """Without the whole and the rung nobody knows the pace; a part that hangs near the end is stopped
    at the end, not after its own timeout, and nothing more is run."""
    _, record = run(folder, {"whole": "fails", "rung": "fails"})
    failed = {part["part"] for part in record["parts"] if "failed" in part}
    same(failed, {"whole", "rung", *fake_energy.PACED})
    began = time.monotonic()
    result, record = run(folder, {"whole": "hangs"}, "--timeout", 50, "--deadline", 4)
    require(time.monotonic() - began < 12, "it did not keep to its deadline")
    failed = {part["part"]: part["failed"] for part in record["parts"] if "failed" in part}
    holds(failed["whole"], "not finished after")
    holds(failed["no-store"], "no time left of 4 s")
    same(result.returncode, 1)


def test_nothing(folder):
    """Where nothing can run, nothing is written: 77, or 2 for bad usage, with one line."""
    for status, broken, arguments in (
        (77, dict.fromkeys(fake_energy.NAMES, "cannot"), ()),
        (2, {}, ("--parts", "nonsense")),
        (2, {}, ("--program", Path(folder) / "missing")),
        (1, dict.fromkeys(fake_energy.NAMES, "fails"), ()),
    ):
        result, record = run(folder, broken, *arguments)
        same((result.returncode, record), (status, None))
        require("Traceback" not in result.stderr, result.stderr)


if __name__ == "__main__":
    sys.exit(run_cases("energy", tests_in(globals())))
