"""Every rung on the emulator: right, and without a report, in every order that is legal.

A default run, as `make step` makes it, tries all edges of a rung (--trials) in several orders. What
follows are orders, inputs and cards that it leaves out. SEEDS=200 tries that many random orders of
each rung.
"""

from __future__ import annotations

import json
import os
import re

import pytest

from tools import BUILD, call, emulated

from bench import rungs
from planted.plant import SEVERAL_TILES, source_of

SEEDS = int(os.environ.get("SEEDS", "10"))
RUNGS = list(rungs.find())
EXPLAINING = [rung for rung in RUNGS if ".explain = " in source_of(rung)]
CHOOSING = [rung for rung in RUNGS if ".tile_of = " in source_of(rung)]
ADDMM = [rung for rung in RUNGS if ".computes = ADDMM" in source_of(rung)]
# What an addmm leaves out, copies and barriers with it, if a scalar is 0.
SCALARS = ("--beta 0", "--alpha 0", "--alpha 0 --beta 0")
# Of the cards that run a track, one with the least shared memory: a CTA has 99 KB, an SM 100.
SMALLEST = {"a": "8.6", "t": "12.0"}
# In one wave and in several, in parts and with swapped operands.
EXPLAINED_AT = ("424 776 312", "1032 1600 136", "72 136 2056", "16 776 312")

pytestmark = pytest.mark.needs("emulated/{rung}")


def check(rung: str, runs: list[list[str]], card: str = "") -> None:
    """All of the runs end well. Of those that don't: the words that repeat them, and why."""
    program = BUILD / "emulated" / rung
    wrong = [
        f"{f'EMULATOR_CAPABILITY={card} ' if card else ''}{program} {' '.join(words)}: {outcome.line or outcome.kind}"
        for words in runs
        if (outcome := emulated.run(program, words, card)).kind
    ]
    assert not wrong, "\n".join(wrong)


def edges(rung: str) -> dict[str, list[str]]:
    return emulated.trials(BUILD / "emulated" / rung)


@pytest.mark.parametrize("rung", RUNGS)
def test_default_run(rung):
    check(rung, [[]])


@pytest.mark.parametrize("rung", RUNGS)
def test_random_orders(rung):
    """A seed chooses the order; the rung's edges take turns."""
    tried = list(edges(rung).values())
    orders = [["--policy", "random", "--seed", str(seed)] for seed in range(1, SEEDS + 1)]
    check(rung, [tried[i % len(tried)] + order for i, order in enumerate(orders)])


@pytest.mark.parametrize("rung", CHOOSING)
def test_kernels_when_all_is_early(rung):
    """A default run leaves this order out for single kernels."""
    check(rung, [[*words, "--policy", "eager"] for words in edges(rung).values()])


@pytest.mark.parametrize("rung", [rung for rung in RUNGS if rung[0] != "t"])
def test_same_bits_in_every_order(rung):
    """Sums of integers are exact in any order; of other inputs a program compares the bits."""
    check(rung, [[*edges(rung)[SEVERAL_TILES], "--inputs", "normal", "--policy", "all"]])


@pytest.mark.parametrize("scalars", SCALARS)
@pytest.mark.parametrize("rung", ADDMM)
def test_scalars(rung, scalars):
    check(rung, [[*edges(rung)[SEVERAL_TILES], *scalars.split()]])


@pytest.mark.parametrize("rung", [rung for rung in RUNGS if rung[0] in SMALLEST])
def test_smallest_card(rung):
    check(rung, [[]], SMALLEST[rung[0]])


@pytest.mark.parametrize("shape", EXPLAINED_AT)
@pytest.mark.parametrize("rung", EXPLAINING)
def test_explain(rung, shape, tmp_path):
    """The cheapest plan comes first, and is the one that runs."""
    sizes = [word for pair in zip(("--m", "--n", "--k"), shape.split()) for word in pair]

    def run(*words):
        return call(BUILD / "emulated" / rung, *sizes, *words, ends_well=True).stdout

    plans = re.findall(r"^ +(\d+)  \d+ x .* (\d+\.\d) \|", run("--explain"), re.MULTILINE)
    costs = [float(cost) for _, cost in plans]
    assert len(plans) == 5 and costs == sorted(costs)
    run("--policy", "eager", "--json", tmp_path / "row")
    assert json.loads((tmp_path / "row").read_text())["kernel"] == int(plans[0][0])
