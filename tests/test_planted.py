"""The mistakes of planted/bugs.txt, planted in copies of the rungs: the run of a user, `make step`,
finds them all on the emulator, and says nothing of what is harmless.

Each is planted in one rung. With FULL=1 in the lowest and the highest where it reads differently, and
where readers have to find it.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tools import BUILD, FULL, ROOT, call
from tools.emulated import FIXED_POLICIES, NOTHING, run, trials

from bench import rungs
from exercises.table import EXERCISES
from planted import plant

RUNGS = rungs.find()
QUOTED = plant.quoted()
FINDS = {(r, one.what) for r, some in EXERCISES.items() for one in some if one.kind == "find"}
PAIRS = plant.chosen(FULL, QUOTED | FINDS if FULL else QUOTED)
PROGRAMS = plant.write_programs({pair.name: (pair.rung, pair.source) for pair in PAIRS})
RECORDED = {(row["rung"], row["bug"]): row for row in plant.read_reports()}
needs = pytest.mark.needs("emulated/planted/{program}")


def each(pairs):
    rows = [pytest.param(PROGRAMS[pair.name], pair, id=pair.name) for pair in pairs]
    return pytest.mark.parametrize(("program", "pair"), rows)


@each(PAIRS)
@needs
def test_bug(program, pair):
    outcome = run(BUILD / "emulated/planted" / program, [pair.name], pair.bug.card)
    plant.say("found", pair, plant.found_row(pair, outcome.kind, outcome.text))
    assert outcome.kind in (pair.bug.kinds or [NOTHING]), outcome.text


@each(pair for pair in PAIRS if (pair.rung, pair.bug.name) in QUOTED)
@needs
def test_report(program, pair):
    """What pages quote is what is said now."""
    path = BUILD / "emulated/planted" / program
    words = [pair.name, *trials(path, pair.name)[plant.SEVERAL_TILES], "--policy"]
    runs = {how: run(path, [*words, how], pair.bug.card) for how in FIXED_POLICIES}
    found = {how: outcome.kind for how, outcome in runs.items()}
    row = plant.report_row(
        pair,
        found,
        {how: one.line if one.kind == "wrong" else one.text for how, one in runs.items()},
    )
    plant.say("reports", pair, row)
    recorded = RECORDED.get((pair.rung, pair.bug.name))
    assert row == recorded, "if it should: python3 -m planted.plant reports"


PROOF = (ROOT / "notes/proof.md").read_text()
ROWS = re.findall(r"^\| ([vs]\d+) (.*)", PROOF, re.MULTILINE)
SAID = {(r, bug): end for r, row in ROWS for bug, end in re.findall(r"([\w-]+): ([\w ]+) \|", row)}
FOUND_AT = {(row[1], row[0]): row[3].split() for row in plant.read_found()}


@each(pair for pair in PAIRS if (pair.rung, pair.bug.name) in SAID)
@needs
def test_proof(program, pair):
    """What the page says of the order eager, where the mistake is found."""
    key = pair.rung, pair.bug.name
    path = BUILD / "emulated/planted" / program
    said = call(path, pair.name, *FOUND_AT[key], "--policy=eager").stdout
    assert SAID[key] == max(re.findall(r"(?m)^\w+: (\w+): |^orders .*(condition \d)", said)[0])


@pytest.mark.needs("emulated/v19")
@pytest.mark.parametrize("orders, n", re.findall(r"(\d+) with\s`--n (\d+)`", PROOF))
def test_explored(orders, n):
    """What the page says of all orders of v19's claims."""
    words = f"--m 128 --n {n} --k 64 --policy eager".split()
    ended = call(BUILD / "emulated/v19", *words, env={"EMULATOR_EXPLORE": "1000"}, ends_well=True)
    assert f"all {orders} orders" in ended.stdout


@pytest.mark.check
def test_every_bug_fits_its_rungs():
    pairs = [plant.Pair(rung, bug) for bug in plant.read_bugs() for rung in bug.changes]
    assert not [pair.misfit for pair in pairs if pair.misfit]


@pytest.mark.check
def test_only_what_pages_quote_is_recorded():
    assert set(RECORDED) == QUOTED == QUOTED & {(pair.rung, pair.bug.name) for pair in PAIRS}


def hunks(rung, bug):
    """How the bug changes this rung, or the one that it grows from."""
    return bug.changes.get(rung) or (hunks(RUNGS[rung].below, bug) if rung else [])


@pytest.mark.check
@pytest.mark.parametrize("rung", RUNGS)
def test_every_synchronising_line_has_a_bug(rung):
    """A line that the rung adds; the others have one where they were added."""
    calls = plant.synchronising_calls(plant.source_of(rung))
    bugs = [replace(bug, changes={rung: hunks(rung, bug)}) for bug in plant.read_bugs()]
    pairs = [pair for bug in bugs if not (pair := plant.Pair(rung, bug)).misfit]
    touched = {line for pair in pairs for line in pair.gone}
    bare = [f"line {n} ({', '.join(calls[n])})" for n in calls if n not in touched]
    assert not bare, f"no bug in planted/bugs.txt changes {'; '.join(bare)}"


@pytest.mark.check
def test_found_names_every_bug():
    missing = {bug.name for bug in plant.read_bugs()} - {row[0] for row in plant.read_found()}
    assert not missing, "make test ARGS=NAME, then python3 -m planted.plant found"
