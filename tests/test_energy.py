"""The energy budget: the solver on made-up parts whose joules are known, the runner with a made-up
program, and the parts themselves on the emulator."""

from __future__ import annotations

import json
import subprocess

import pytest

from tools import BUILD, fake_energy
from tools.fake_rungs import House, fake, holds

from bench.energy import budget
from bench.energy.measure import energy_main


@pytest.mark.parametrize("rung", budget.RUNGS)
def test_exact(rung):
    """From parts that follow the model, the numbers that they were made from come back."""
    made, (seconds, _) = budget.make(fake_energy.run(rung=rung)), fake_energy.PARTS["whole"]
    idle, awake = fake_energy.IDLE * seconds, fake_energy.AWAKE * seconds
    wanted = [idle, awake - idle, *fake_energy.WHOLE.values(), 0]
    assert [entry.joules for entry in made.entries] == pytest.approx(wanted, abs=1e-4)
    assert made.slope == pytest.approx(fake_energy.SLOPE, abs=0.003)
    assert made.error == pytest.approx(0.001 * made.joules, abs=1e-6)


def test_rest():
    """What only the whole takes is not attributed; no term is below 0, however the parts lie."""
    made = budget.make(fake_energy.run(factors={"whole": 1.05}))
    assert sum(entry.joules for entry in made.entries) == pytest.approx(made.joules)
    assert made.entries[-1].joules > 0.005
    assert made.entries[2].low < made.entries[2].joules < made.entries[2].high
    odd = {"multiply-n40": 0.9, "multiply-n104": 0.97, "no-store": 1.03}
    assert min(one.joules for one in budget.make(fake_energy.run(factors=odd)).entries[2:-1]) >= 0


def test_unsolvable():
    """Each part that is needed is missed, and named; others are not. One pass does not say how far the
    joules scatter. A page's run is the newest of a rung with all parts, on the usual GPU."""
    for name in (*budget.fitted_of("v16"), budget.IDLE, budget.AWAKE):
        with pytest.raises(budget.Unsolvable, match=f"no budget without the parts {name}"):
            budget.make(fake_energy.run(name))
    one_pass = fake_energy.run("multiply-zeros")
    budget.make(one_pass)
    del one_pass.rows["v16-parts"][len(fake_energy.PARTS) - 1 :]
    with pytest.raises(budget.Unsolvable, match="no budget of one pass"):
        budget.make(one_pass)
    old, new, cut, other = (fake_energy.run(*without) for without in ((), (), ("waiting",), ()))
    for number, one in enumerate((old, new, cut, other)):
        one.__dict__["date"] = f"2026-01-0{number + 1}"
    other.context = {**other.context, "gpu": {**other.gpu, "name": "NVIDIA H100"}}
    found = budget.newest([cut, new, other, old, fake_energy.run(rung="v14")])
    assert found["v16"] is new and {*found} == {"v14", "v16"}


def test_impossible():
    """A part that is faster than its multiplications, its loads or its pace allow is told."""
    parts = budget.parts_of(fake_energy.run())
    assert not any(budget.impossible(part, fake_energy.SMS, 1.6e-3) for part in parts.values())
    for name, least in {"multiply": 1.3304, "multiply-half": 2.0878, "loads": 1.584}.items():
        found = budget.impossible(parts[name]._replace(seconds=1.2e-3), fake_energy.SMS, 1.6e-3)
        assert found == f"impossible: a launch took 1.2000 ms, not {least:.4f}"


class Parts(House):
    """A made-up program of parts, and an ncu. What it does is given by `part` or `part protocol`."""

    NAMES = (*fake_energy.names(),)

    def __init__(self, folder, acts, rows=()):
        super().__init__(folder, energy_main, ["--ncu", folder / "ncu", "--size", 8192])
        number = {name: str(i) for i, name in enumerate(self.NAMES, 1)}
        told = {" ".join([number[key.split()[0]], *key.split()[1:]]): acts[key] for key in acts}
        explained = "\n".join(f"{number[name]}\t{name}\tit is {name}" for name in self.NAMES)
        made = [{**fake_energy.row(name), **dict(rows).get(name, {})} for name in self.NAMES]
        paced = [number[name] for name in fake_energy.PACED]
        program = {"answers": {"--explain": explained}, "log": str(self.log), "acts": told}
        fake(folder / "energy/parts", rows=made, paced=paced, **program)
        kernels = ["void <unnamed>::part_kernel<1, 2>(int)"]
        fake(folder / "ncu", answers={"--version": "Version 1.2.3"}, kernels=kernels, status=1)

    def lost(self):
        """The parts without a row."""
        (run,) = self.runs()
        return {*self.NAMES} - {row["part"] for row in run.rows["v16-parts"]}


def test_run(tmp_path):
    """All parts are recorded in order, pass by pass, the paced ones as long as the whole; the budget is
    printed. What ncu counts is recorded; a part that it does not count does not fail the run."""
    house = Parts(tmp_path, {"loads-l2 none": {"exit": 1}})
    said, parts = house.run(), house.result()
    rows = parts.rows["v16-parts"]
    assert (rows[0]["what"], rows[-1]["ncu"]) == ("it is whole", "Version 1.2.3")
    assert [row["part"] for row in rows] == [*house.NAMES, *house.NAMES, "whole"]
    holds(said, "tensor cores", "not attributed", "recorded in", "34 processes")
    holds(said, "loads-l2: not counted: ncu: exit status 1")
    counts = budget.counts_of(parts)
    assert {name: {*one.values()} for name, one in counts.items()} == {"whole": {1234000}}


def test_failing(tmp_path):
    """A part that fails, hangs or is too fast is named and does not take the others along; paced ones need
    the whole. Where nothing can run, nothing is written."""
    timed = {name: fake_energy.row(name)["timed"]["step"] for name in ("multiply", "loads")}
    del timed["loads"]["joules"]
    timed["multiply"]["seconds"] = [1e-4] * 2
    rows = {name: {"timed": {"step": one}} for name, one in timed.items()}
    acts = {"no-store": {"exit": 1, "err": "broken\n"}, "no-dram": {"sleep": 60}}
    house = Parts(tmp_path, acts, rows)
    said = house.run("--timeout", 1, "--passes", 1, status=1)
    holds(said, "broken", "after 1 s", "multiply: FAILED: impossible", "cannot be read")
    assert house.lost() == {"no-store", "no-dram", "multiply", "loads"}
    house = Parts(tmp_path, {"whole": {"exit": 1}})
    holds(house.run("--passes", 1, status=1), "no budget without the parts ")
    assert house.lost() == {"whole", *fake_energy.PACED}
    house = Parts(tmp_path, {"whole": {"exit": 77}})
    for words in ("--steps nonsense", "--build /nowhere", "--ncu /nowhere"):
        house.run(*words.split(), status=2)
    house.run("--steps", "whole,idle", status=77)
    assert not house.out.exists()


@pytest.mark.needs("tests/energy/parts")
@pytest.mark.cached
@pytest.mark.seconds(16)
def test_parts(tmp_path, monkeypatch):
    """On the emulator every part ends, without a hazard, under all policies, and multiplies and moves what
    the budget takes it to."""
    program, path = BUILD / "tests/energy/parts", tmp_path / "row.json"
    monkeypatch.setenv("ENERGY_PACE_SECONDS", "1e-6")
    listed = subprocess.run([program, "--explain"], stdout=subprocess.PIPE, text=True, check=True)
    numbers = {line.split("\t")[1]: line.split("\t")[0] for line in listed.stdout.splitlines()}
    assert {*numbers} == {*budget.fitted_of("v16"), *budget.OTHERS, budget.AWAKE, budget.IDLE}
    for name, number in numbers.items():
        # six tiles, two over D's edge
        command = [program, "--size", "512", "--kernel", number, "--json", path]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        counts = json.loads(path.read_text())["emulator"]["counts"]
        does = budget.amounts("v16", name, dict.fromkeys("mnk", 512), sms=4)
        many = {"multiply-n104": 2, "multiply-n40": 5}.get(name, 1)  # wgmmas of a block
        wanted = [does["tensor"] // 2, does["l2"], does["store"], many * 768 * bool(does["tensor"])]
        found = ("multiply_adds", "tma_read_bytes", "tma_written_bytes", "wgmmas")
        assert (name, [counts[one] for one in found]) == (name, wanted)
