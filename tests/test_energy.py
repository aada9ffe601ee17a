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

from tools import fake_energy, fake_rungs
from tools.fake_rungs import holds, refused, require, run_cases, same, tests_in

from bench.energy import budget, energy_limits
from bench.records import recorded
from notes.tools import energy_figures, expressions, note_blocks, readings, shapes_table


def close(found, wanted, tolerance, what):
    """The same, but for a tolerance."""
    require(abs(found - wanted) <= tolerance, f"{what}: found {found}, wanted {wanted}")


def part_in(record, name):
    """The part of that name."""
    return next(part for part in record["parts"] if part["part"] == name)


# --- the solver -----------------------------------------------------------------------------


def test_exact(_):
    """From parts that follow the model, the numbers that they were made from come back, of each rung."""
    for rung in ("v14", "v16"):
        made = budget.make(fake_energy.record(rung=rung))
        awake = (fake_energy.AWAKE - fake_energy.IDLE) * fake_energy.SECONDS
        wanted = {"idle": fake_energy.IDLE * fake_energy.SECONDS, "awake": awake, "rest": 0}
        wanted.update(fake_energy.WHOLE)
        same({entry.name for entry in made.entries}, set(wanted))
        for entry in made.entries:
            close(entry.joules, wanted[entry.name], 1e-4, entry.name)
        close(made.fit.slope, fake_energy.SLOPE, 0.003, "slope")
        close(made.zeros, 0.5, 0.001, "zeros")
        apart = (fake_energy.APART - 1) * fake_energy.WHOLE["l2"]
        close(made.apart, apart, 1e-4, "loads that do not merge")
        require(max(map(abs, made.fit.residuals.values())) < 1e-3, made.fit.residuals)


def scaled(factors):
    """A record with other joules in some parts; not one that a file could have."""
    record = fake_energy.record()
    for name, factor in factors.items():
        part = part_in(record, name)
        part["watts"] *= factor
        part["joules"] *= factor
    return record


def test_rest(_):
    """What only the whole takes is not attributed, and the budget adds up all the same; no term is
    below 0, however the parts lie."""
    made = budget.make(scaled({"whole": 1.05}))
    entries = {entry.name: entry for entry in made.entries}
    close(sum(entry.joules for entry in made.entries), made.joules, 1e-12, "the sum")
    require(entries["rest"].joules > 0.005, f"only {entries['rest'].joules} J are left over")
    tensor = entries["tensor"]
    require(tensor.low < tensor.joules < tensor.high, "no part moves the tensor cores' joules")
    same(max(made.fit.residuals, key=lambda name: abs(made.fit.residuals[name])), "whole")
    made = budget.make(scaled({"multiply-n64": 0.9, "multiply-n128": 0.97, "no-store": 1.03}))
    for entry in made.entries:
        require(entry.joules >= 0 or entry.name == "rest", f"{entry.name}: {entry.joules}")


def test_unsolvable(_):
    """Each part that is needed is missed, and named, as is its clock; others are not; parts that do not
    tell the terms apart, or of a rung whose parts are unknown, give no budget."""
    for name in (*budget.fitted_of("v14"), budget.IDLE, budget.AWAKE):
        refused(f"no budget without the parts {name}", budget.make, fake_energy.record(name))
    budget.make(fake_energy.record("rung"))
    same(budget.make(fake_energy.record("multiply-zeros")).zeros, None)
    same(budget.make(fake_energy.record("loads-l2-apart")).apart, None)
    for change, words in (
        ({"sm_clock_ghz": None}, "without the clock of no-dram"),
        ({"failed": "so"}, "without the parts no-dram"),
    ):
        record = fake_energy.record()
        part_in(record, "no-dram").update(change)
        refused(words, budget.make, record)
    for key, of_flop, words in (
        ("stored_bytes", 0.0, "one of the terms is in none of the parts"),
        ("operand_bytes", 1 / 50, "do not determine all terms"),
    ):
        record = fake_energy.record()
        for counts in filter(None, (part["counts"] for part in record["parts"])):
            counts[key] = of_flop * counts["flop"]
        refused(words, budget.make, record)
    for rung, words in (("v16", "the parts multiply-n104"), ("v12", "of v12: only v14, v16")):
        refused(words, budget.make, {**fake_energy.record(), "rung": rung})


def test_error(_):
    """The error of the watts has the scatter of the counter's steps and the time between looks."""
    steady = fake_energy.edges_of(700.0)
    small = budget.watts_error(steady)
    require(0 < small < 0.5, small)
    restless = [joules + 15 * (i % 7 == 0) for i, joules in enumerate(steady["joules"])]
    slow = [time - 0.02 for time in steady["before"]]
    for worse in ({"joules": restless}, {"before": slow}):
        require(budget.watts_error({**steady, **worse}) > 5 * small, worse)


# --- the record -----------------------------------------------------------------------------

# What is edited -> the field that the error names.
EDITS = (
    (("rung",), "twelve", "rung"),
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


def test_record(folder):
    """A record comes through writing and reading; an edited one is refused, and the field named; so is
    a part that multiplies less than the others, whose tiles are all whole over D's edge, or that is
    faster than its work allows."""
    path = Path(folder) / "energy.json"
    for rung in ("v16", "v14"):
        record = fake_energy.record(rung=rung)
        recorded.write_json(path, record)
        same(recorded.load_record(path), record)

    def refuse(record, words):
        path.write_text(json.dumps(record))
        refused(words, recorded.load_record, path)

    for (*way, last), value, named in EDITS:
        edited = inner = copy.deepcopy(record)
        for key in way:
            inner = inner[key]
        inner[last] = value
        refuse(edited, named)
    record = fake_energy.record(rung="v16")
    part = part_in(record, "multiply-n40")
    part["counts"]["flop"] /= fake_energy.PADDED["v16"]
    part["tensor_core_share"] /= fake_energy.PADDED["v16"]
    refuse(record, "as before")
    record = fake_energy.record()
    part = part_in(record, "multiply")
    part.update(seconds=part["seconds"] / 8, joules=part["joules"] / 8)
    part["tensor_core_share"] *= 8
    refuse(record, "seconds: impossible")


def test_blocks(folder):
    """The page's tables show a rung's newest whole run, and say so where none is recorded."""
    words = [("energy", table, "v14") for table in ("budget", "fit", "parts", "counts")]
    for one in (*words, ("energy", "picture")):
        same(note_blocks.lines_of(readings.Library(folder), one), ["Not recorded yet."])
    for name, without, rung in (("old", "waiting", "v14"), ("new", "", "v14"), ("v16", "", "v16")):
        record = fake_energy.record(without, rung=rung)
        recorded.write_json(Path(folder) / f"{name}.json", record)
    for one, rungs in (*((one, ["v14"]) for one in words), (("energy", "picture"), ["v14", "v16"])):
        library = readings.Library(folder)
        require(note_blocks.lines_of(library, one) != ["Not recorded yet."], one)
        same(sorted(record["rung"] for record in library.used), rungs)
        require("Energy: the parts of v1" in shapes_table.sources(library.used)[0], one)
    for one in (("joules", "v14"), ("budget",), ("picture", "v14")):
        refused("write energy budget", note_blocks.lines_of, library, ("energy", *one))


FIGURES = {  # of an expression: its text, or what the error says
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
    "v14 energy.joule": "no figure of an energy run",
    "v14 energy.watts.nonsense": "no part 'nonsense'",
    "v14 energy.joules.idle": "has no joules",
    "v14 energy.l2_bytes.whole": "no l2_bytes counted of 'whole'",
    "v14 energy.sm_bytes": "no figure of an energy run",
    "v14 energy.share.loads": "has no share",
    "v14 energy.tensor @sustained": "select no more than",
    "v14 energy.tensor @h100": "no whole energy run of v14",
    "v12 energy.tensor": "no whole energy run of v12",
    "v14 energy.tensor as W": "no unit of a energy",
}


def test_figures(folder):
    """Pages can name each line of the budget, and what was measured of a part."""
    recorded.write_json(Path(folder) / "energy.json", fake_energy.record())
    recorded.write_json(Path(folder) / "cut.json", fake_energy.record("waiting"))
    evaluator = expressions.Evaluator(readings.Library(folder))
    for expression, wanted in FIGURES.items():
        try:
            found = evaluator.text(expression)
        except ValueError as error:
            found = wanted if wanted in str(error) else error
        same((expression, found), (expression, wanted))
    for name in energy_figures.LINES:
        evaluator.text(f"v14 energy.{name} as mJ spread")


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
    command = [sys.executable, "-m", "bench.energy.measure", "--program", program, "--out", out]
    command += ["--nvidia-smi", "/nowhere", "--ncu", ncu, *arguments]
    result = fake_rungs.run(*command)
    require("Traceback" not in result.stderr, result.stderr)
    return result, recorded.load_record(out) if out.exists() else None


def test_run(folder):
    """All parts are recorded in order, the paced ones as long as the whole; the budget is printed."""
    result, record = run(folder, {})
    same((result.returncode, record["kind"], record["rung"]), (0, "energy", "v14"))
    same([part["part"] for part in record["parts"]], list(fake_energy.NAMES))
    paces = {part["pace"] for part in record["parts"] if part["pace"]}
    same(paces, {fake_energy.SECONDS})
    holds(result.stdout, "tensor cores", "not attributed")
    same(len(result.stderr.splitlines()), len(fake_energy.NAMES) + 3)


def test_counts(folder):
    """What ncu counts is recorded in bytes; a part that it does not count does not fail the run."""
    parts = ("--parts", "whole,loads-l2,loads-l2-apart,one-sm")
    result, record = run(folder, {}, *parts, blank="loads-l2-apart")
    same((result.returncode, record["counted"]["ncu"]), (0, "Version 1.2.3"))
    whole, merged, apart = record["counted"]["parts"]
    counted = {"l2_bytes": 32000000, "sm_bytes": 64000000, "dram_read_bytes": 5}
    same(whole, {"part": "whole", **counted})
    holds(merged["failed"], "no permission to count loads-l2")
    same(apart["failed"], "ncu does not say dram__bytes_read.sum")
    same(note_blocks.counted_rows(record)[1], ["whole", "0.03", "0.06", "0.00"])
    for figure, value in counted.items():
        same(energy_figures.figure(record, f"energy.{figure}.whole").value, value)
    same(run(folder, {}, "--parts", "one-sm,idle")[1]["counted"], None)


# With which options, and of each part that fails how it is broken, if it is, and what is said of it.
FAILING = (
    (
        ("--timeout", 2),
        {
            "no-store": ("fails", "3 elements of D"),
            "no-dram": ("hangs", "not finished after 2 s"),
            "no-loads": ("cut", "cut short"),
            "loads": ("other commit", "its commit differs"),
        },
    ),
    (
        (),
        {
            "no-store": ("too fast", "tensor cores' peak it needs 1.5064 ms at 1.350"),
            "loads-l2": ("too fast", "its pace is 1.6000 ms"),
            "multiply-half": ("too fast", "tensor cores' peak it needs 2.0857 ms at 1.950"),
        },
    ),
    (
        (),
        dict.fromkeys(("whole", "rung"), ("fails", "3 elements of D"))
        | dict.fromkeys(fake_energy.PACED, ("", "as long as the whole, which was not measured")),
    ),
    (
        ("--timeout", 50, "--deadline", 4),
        {"whole": ("hangs", "not finished after")}
        | dict.fromkeys(fake_energy.NAMES[2:], ("", "no time left of 4 s")),
    ),
)


def test_failing(folder):
    """A part that fails, hangs, writes nonsense or is too fast does not take the others along; paced
    ones need the whole; what hangs is stopped at its timeout, or at the deadline if that is sooner."""
    for arguments, parts in FAILING:
        began = time.monotonic()
        result, record = run(folder, {name: how for name, (how, _) in parts.items()}, *arguments)
        require(time.monotonic() - began < 30, "it waited for what hangs")
        failed = {part["part"]: part["failed"] for part in record["parts"] if "failed" in part}
        same((result.returncode, set(failed)), (1, set(parts)))
        for name, (_, words) in parts.items():
            holds(failed[name], words)
        holds(result.stdout, "no budget without the parts")


def test_limits(_):
    """Without the tensor cores' peak what a part loads says how fast it can be."""
    same(energy_limits.broken(fake_energy.part_of("multiply-half"), 132, None), None)
    loads = {**fake_energy.part_of("loads"), "pace": None, "seconds": 0.3e-3}
    holds(energy_limits.broken(loads, 132, None), "what it loads")


def test_nothing(folder):
    """Where nothing can run, nothing is written: 77, or 2 for bad usage, with one line."""
    for status, broken, arguments in (
        (77, dict.fromkeys(fake_energy.NAMES, "cannot"), ()),
        (2, {}, ("--parts", "nonsense")),
        (2, {}, ("--program", Path(folder) / "missing")),
        (2, {}, ("--ncu", Path(folder) / "missing")),
        (1, dict.fromkeys(fake_energy.NAMES, "fails"), ()),
    ):
        result, record = run(folder, broken, *arguments)
        same((result.returncode, record), (status, None))


if __name__ == "__main__":
    sys.exit(run_cases("energy", tests_in(globals())))
