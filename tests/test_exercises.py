"""Every exercise fails unsolved, as its story says, and the rung itself solves it; what is right, or
seems so, without the rung's idea does not pass: under one policy, with FULL=1 under all.

Of bugs to find tests/test_planted.py has the verdict.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tools import BUILD, FULL, ROOT

from exercises import exercise, new
from exercises.table import EXERCISES
from planted import plant

PAGES = {
    path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "notes/rungs").glob("*.md")
}
ALL = [one for some in EXERCISES.values() for one in some]


def eagerly(each):
    """The exercise, tried under one policy."""
    return each if FULL else replace(each, run=f"{each.run} --policy eager")


def cases():
    """(a name, an exercise, a program for it, what the verdict may object to)"""
    for one in ALL:
        if one.kind == "fill" or one.edits:
            yield f"{one.name}-unsolved", one, exercise.text_of(one), one.fails.split()
        if one.also:
            yield f"{one.name}-solved", eagerly(one), exercise.solved(one), [""]
        for why, edits in one.misses:  # a race with asynchronous copies is a hazard
            text = exercise.edited(exercise.solved(one), edits)
            kinds = ["race", "hazard"] if "race" in why else ["also"]
            yield f"{one.name}-{why.replace(' ', '-')}", eagerly(one), text, kinds


CASES = {name: case for name, *case in cases()}
COPIES = {name: (one.rung, text) for name, (one, text, _) in CASES.items()}
COPIES["v30"] = ("v16", new.renamed(plant.source_of("v16"), "v30", "v16"))
PROGRAMS = plant.write_programs(COPIES, "exercise")
needs = pytest.mark.needs("emulated/planted/{program}")


def named(*names: str):
    """The test runs with each of these copies."""
    rows = [pytest.param(PROGRAMS[name], name, id=name) for name in names]
    return pytest.mark.parametrize(("program", "name"), rows)


def command(program: str, name: str) -> list:
    return [BUILD / "emulated/planted" / program, name]


def kind_of(said: str) -> str:
    """What a verdict objects to: the kind of report, wrong, also (something is missing) or nothing."""
    if found := re.search(rf"\b({'|'.join(plant.KINDS)}): ", said):
        return found[1]
    return (
        "wrong" if "WRONG" in said else "also" if said.startswith("The result is right") else said
    )


def check_secret(rung: str, answer: str) -> None:
    """The rung's page does not give the answer away."""
    page = PAGES[rung].replace(",", "")
    assert len(answer) <= 2 or not re.search(rf"(?<![\d.,]){answer}(?![\d]|[.,]\d)", page)


@named(*CASES)
@needs
def test_verdict(program, name):
    each, text, kinds = CASES[name]
    if each.kind == "predict":
        check_secret(each.rung, exercise.answer_of(each, command(program, name)))
    else:
        said = exercise.verdict(each, text, command(program, name))
        assert kind_of(said) in kinds, said


@pytest.mark.parametrize(
    "rung", [one.rung for one in ALL if one.kind == "predict" and not one.edits]
)
@pytest.mark.needs("emulated/{rung}")
def test_prediction_is_no_secret(rung):
    for each in EXERCISES[rung]:
        if each.kind == "predict" and not each.edits:
            check_secret(rung, exercise.answer_of(each, BUILD / "emulated" / rung))


@named("v30")
@needs
def test_new_rung(program, name):
    said = exercise.run(command(program, name))
    assert said.returncode == 0 and said.stdout.startswith("v30 ")


@pytest.mark.check
@pytest.mark.parametrize("rung", [path.name[:3] for path in sorted((ROOT / "steps").glob("*.cu"))])
def test_every_rung_has_both(rung):
    """A bug to find, which its page does not show, and something to write or to predict."""
    some = EXERCISES.get(rung, [])
    kinds = {each.kind for each in some}
    assert {"find"} < kinds, f"exercises/exercises.txt lacks a `find` of {rung}, or another kind"
    assert not [each.what for each in some if each.kind == "find" and each.what in PAGES[rung]]


SAME = "no 0|no None|288 288 arrivals|53440 53,440|3.67 3.670 MB"
OTHER = "no 1|288 287|288 many|3.67 36.7"
ANSWERS = [*((one, 0) for one in SAME.split("|")), *((one, 1) for one in OTHER.split("|"))]


@pytest.mark.check
@pytest.mark.parametrize(("both", "status"), ANSWERS)
def test_answer(both, status):
    right, _, answer = both.partition(" ")
    each = replace(EXERCISES["v02"][2], run="", answer="^(.*)$")
    right = exercise.answer_of(each, ["/bin/echo", right])
    assert exercise.compare_answer(each, right, answer) == status


@pytest.mark.check
def test_verbs(tmp_path, capsys):
    """An exercise is tried when it is there, written once, and solved."""
    each = EXERCISES["v07"][0]
    assert exercise.ready(each, tmp_path, False) == 2
    exercise.write(each, tmp_path)
    path = tmp_path / "exercises" / "v07-1.cu"
    path.write_text("mine")
    exercise.write(each, tmp_path)
    assert path.read_text() == "mine"
    exercise.solution(each, tmp_path)
    assert "+        ring.next();" in capsys.readouterr().out
