"""Made-up runs of the parts of a rung, whose joules follow from numbers that the tests know."""

from __future__ import annotations

from tools import made_runs

from bench import results
from bench.energy import budget

SLOPE = 0.55
IDLE, AWAKE = 90.0, 120.0  # watts
SMS = made_runs.H200["sms"]
# Joules of each term in the whole.
WHOLE = dict(zip(budget.TERMS, (0.55, 0.08, 0.11, 0.05, 0.01, 0.02, 0.10)))
PARTS = {  # seconds and clock, in the order in which they run
    "whole": (1.6e-3, 1.34),
    "no-store": (1.58e-3, 1.35),
    "no-dram": (1.54e-3, 1.38),
    "no-loads": (1.42e-3, 1.50),
    "multiply": (1.38e-3, 1.53),
    "narrow": (1.40e-3, 1.51),
    "narrower": (1.44e-3, 1.47),
    "multiply-a-registers": (1.36e-3, 1.56),
    "multiply-half": (2.2e-3, 1.95),
    "whole-three-quarters": (1.75e-3, 1.6),
    "whole-half": (2.3e-3, 1.85),
    "loads": (1.6e-3, 1.98),
    "loads-l2": (1.6e-3, 1.97),
    "waiting": (1.6e-3, 1.96),
    "one-sm": (1.6e-3, 1.98),
    "idle": (1e-2, 1.98),
    "multiply-zeros": (1.3e-3, 1.7),
}
PACED = ("loads", "loads-l2", "waiting", "one-sm")


def names(rung="v16"):
    """{a rung's part: what PARTS calls it}, in the order in which they run."""
    narrow = dict(zip(("narrow", "narrower"), budget.RUNGS[rung][-1]))
    return {narrow.get(name, name): name for name in PARTS}


def joules_of(name, rung="v16"):
    """By the model, with the numbers above."""
    seconds, ghz = PARTS[names(rung)[name]]
    if name in (budget.IDLE, budget.AWAKE):
        return seconds * (IDLE if name == budget.IDLE else AWAKE)
    does, whole = (
        budget.amounts(rung, one, dict.fromkeys("mnk", 8192), SMS) for one in (name, "whole")
    )
    does["waiting"] = seconds * ghz * does["ctas"]
    whole["waiting"] = PARTS["whole"][0] * PARTS["whole"][1] * whole["ctas"]
    terms = {term: WHOLE[term] * does[term] / whole[term] for term in WHOLE}
    dram = terms.pop("dram")
    return (
        AWAKE * seconds + (1 + SLOPE * (ghz - PARTS["whole"][1])) ** 2 * sum(terms.values()) + dram
    )


def row(name, rung="v16", factor=1.0):
    """What the program writes of a part, and the runner adds."""
    seconds, ghz = PARTS[names(rung)[name]]
    joules = factor * joules_of(name, rung)
    one = {"seconds": [seconds] * 2, "ghz": ghz, "watts": joules / seconds, "joules": joules}
    more = {"part": name, "what": f"{name}, made up", "protocol": "sustained", "rounds": 2}
    return made_runs.row(f"{rung}-parts", {"step": one}, **more)


def run(*without, rung="v16", factors=None):
    """Two passes over the parts but for some; factors: of the joules of some."""
    found = results.Run(row("whole", rung)["context"])
    for scatter in (0.999, 1.001):
        for name in (name for name in names(rung) if name not in without):
            one = row(name, rung, scatter * (factors or {}).get(name, 1))
            found.add({key: value for key, value in one.items() if key != "context"})
    return found
