"""The energy budget: the solver on made-up parts whose joules are known, the runner with a made-up
program, and the parts themselves on the emulator."""

import json

import pytest

from tools import BUILD, call
from tools.fake_rungs import House, fake, holds
from tools.made_runs import AWAKE, IDLE, PACED, SECONDS, SLOPE, WHOLE, part, parts, run_of_parts

from bench.energy import budget
from bench.energy.measure import energy_main

NAMES = parts()


@pytest.mark.parametrize("rung", budget.RUNGS)
def test_exact(rung):
    """From parts that follow the model, the numbers that they were made from come back."""
    made = budget.make(run_of_parts(rung=rung))
    idle, awake = (watts * SECONDS for watts in (IDLE, AWAKE))
    wanted = [idle, awake - idle, *WHOLE.values(), 0]
    assert [entry.joules for entry in made.entries] == pytest.approx(wanted, abs=1e-4)
    assert made.slope == pytest.approx(SLOPE, abs=0.003)
    assert made.error == pytest.approx(0.001 * made.joules, abs=1e-6)


def test_rest():
    """What only the whole takes is not attributed; no term is below 0, however the parts lie."""
    made = budget.make(run_of_parts(factors={"whole": 1.05}))
    assert sum(entry.joules for entry in made.entries) == pytest.approx(made.joules)
    assert made.entries[-1].joules > 0.005
    assert made.entries[2].low < made.entries[2].joules < made.entries[2].high
    odd = {"multiply-n40": 0.9, "multiply-n104": 0.97, "no-store": 1.03}
    assert min(one.joules for one in budget.make(run_of_parts(factors=odd)).entries[2:-1]) >= 0


def test_unsolvable():
    """Each part that is needed is missed, and named; others are not. One pass does not say how far the
    joules scatter. A page's run is the newest of a rung with all parts, on the usual GPU."""
    for name in (*budget.fitted_of("v16"), budget.IDLE, budget.AWAKE):
        with pytest.raises(budget.Unsolvable, match=f"no budget without the parts {name}"):
            budget.make(run_of_parts(name))
    one_pass = run_of_parts("multiply-zeros")
    budget.make(one_pass)
    del one_pass.rows["v16-parts"][len(NAMES) - 1 :]
    with pytest.raises(budget.Unsolvable, match="no budget of one pass"):
        budget.make(one_pass)
    old, new, cut, other = (run_of_parts(*without) for without in ((), (), ("waiting",), ()))
    for number, one in enumerate((old, new, cut, other)):
        one.__dict__["date"] = f"2026-01-0{number + 1}"
    other.context = {**other.context, "gpu": {**other.gpu, "name": "NVIDIA H100"}}
    found = budget.newest([cut, new, other, old, run_of_parts(rung="v14")])
    assert found["v16"] is new and {*found} == {"v14", "v16"}


def test_impossible():
    """A part that is faster than its multiplications, its loads or its pace allow is told."""
    made = budget.parts_of(run_of_parts())
    assert not any(budget.impossible(one, 132, 1.6e-3) for one in made.values())
    # SM cycles of the multiplications, by all SMs or by half of them, at the clock; 99 % of the pace
    cycles = 2 * 8192**2 * 8200 / 4096 / 132
    least = {"multiply": cycles / 1.58e6, "multiply-half": 2 * cycles / 1.62e6, "loads": 1.584}
    for name, wanted in least.items():
        found = budget.impossible(made[name]._replace(seconds=1.2e-3), 132, 1.6e-3)
        assert found == f"impossible: a launch took 1.2000 ms, not {wanted:.4f}"


def house(folder, acts=(), rows=()):
    """A made-up program of parts. What it does is given by `part`."""
    made = House(folder, energy_main, ("--size", 8192))
    told = {"rows": {name: {**part(name), **dict(rows).get(name, {})} for name in NAMES}}
    told |= {"paced": PACED, "log": str(made.log), "acts": dict(acts)}
    explained = "\n".join(f"{name}\t{name}\tit is {name}" for name in NAMES)  # no numbers
    fake(folder / "energy/parts", answers={"--explain": explained}, **told)
    return made


def lost(house):
    """The parts without a row."""
    return {*NAMES} - {row["part"] for row in house.result().rows["v16-parts"]}


def test_run(tmp_path):
    """All parts are recorded in order, pass by pass, the paced ones as long as the whole; the budget is
    printed."""
    made = house(tmp_path)
    said, run = made.run(), made.result()
    rows = run.rows["v16-parts"]
    assert rows[0]["what"] == "it is whole"
    assert [row["part"] for row in rows] == [*NAMES, *NAMES]
    holds(said, "tensor cores", "not attributed", "recorded in", "36 processes")


def test_failing(tmp_path):
    """A part that fails, hangs or is too fast is named and does not take the others along; paced ones need
    the whole. Where nothing can run, nothing is written."""
    timed = {name: part(name)["timed"]["step"] for name in ("multiply", "loads")}
    del timed["loads"]["joules"]
    timed["multiply"]["seconds"] = [1e-4] * 2
    rows = {name: {"timed": {"step": one}} for name, one in timed.items()}
    acts = {"no-store": {"exit": 1, "err": "broken\n"}, "no-dram": {"sleep": 60}}
    made = house(tmp_path, acts, rows)
    said = made.run("--timeout", 1, "--passes", 1, status=1)
    holds(said, "broken", "after 1 s", "multiply: FAILED: impossible", "cannot be read")
    assert lost(made) == {"no-store", "no-dram", "multiply", "loads"}
    made = house(tmp_path, {"whole": {"exit": 1}})
    holds(made.run("--passes", 1, status=1), "no budget without the parts ")
    assert lost(made) == {"whole", *PACED}
    made = house(tmp_path, {"whole": {"exit": 77}})
    for words in ("--steps nonsense", "--build /nowhere"):
        made.run(*words.split(), status=2)
    made.run("--steps", "whole,idle", status=77)
    assert not made.out.exists()


@pytest.mark.needs("tests/energy/parts")
def test_parts(tmp_path, monkeypatch):
    """On the emulator every part ends, without a hazard, under all policies, and multiplies and moves what
    the budget takes it to."""
    program, path = BUILD / "tests/energy/parts", tmp_path / "row.json"
    monkeypatch.setenv("ENERGY_PACE_SECONDS", "1e-6")
    listed = call(program, "--explain", ends_well=True).stdout.splitlines()
    numbers = {line.split("\t")[1]: line.split("\t")[0] for line in listed}
    assert {*numbers} == {*budget.fitted_of("v16"), *budget.OTHERS, budget.AWAKE, budget.IDLE}
    for name, number in numbers.items():
        # six tiles, two over D's edge
        call(program, "--size", 512, "--kernel", number, "--json", path, ends_well=True)
        counts = json.loads(path.read_text())["emulator"]["counts"]
        does = budget.amounts("v16", name, dict.fromkeys("mnk", 512), sms=4)
        many = {"multiply-n104": 2, "multiply-n40": 5}.get(name, 1)  # wgmmas of a block
        wanted = [does["tensor"] // 2, does["l2"], does["store"], many * 768 * bool(does["tensor"])]
        found = ("multiply_adds", "tma_read_bytes", "tma_written_bytes", "wgmmas")
        assert (name, [counts[one] for one in found]) == (name, wanted)
