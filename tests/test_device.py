"""The emulator's instructions and a GPU's give the bytes that were recorded, in any order of events."""

from __future__ import annotations

import json

import pytest

from tools import BUILD, ROOT, call

ON_EMULATOR = [pytest.mark.needs("tests/device/test_instructions-emulated"), pytest.mark.cached]
ON_GPU = [pytest.mark.needs("tests/device/test_instructions-gpu")]
ON_GPU += [pytest.mark.nvcc, pytest.mark.gpu]
RUNS = [
    *(pytest.param("emulated", order, marks=ON_EMULATOR) for order in ("eager", "lazy")),
    *(pytest.param("emulated", f"random {seed}", marks=ON_EMULATOR) for seed in range(1, 8)),
    pytest.param("gpu", "its own", marks=ON_GPU),
]


def digests(file) -> dict[str, tuple]:
    cases = json.loads(file.read_text())["cases"]
    return {case["name"]: (case["bytes"], case["fnv1a"]) for case in cases}


RECORDS = {
    file.stem: digests(file) for file in (ROOT / "bench/results/instructions").glob("*.json")
}


@pytest.mark.parametrize("recorded", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize(("machine", "order"), RUNS)
def test_gives_what_was_recorded(recorded, machine, order, tmp_path):
    """Cases that the record lacks are a skip, once."""
    policy, _, seed = order.partition(" ")
    how = {"EMULATOR_POLICY": policy, "EMULATOR_SEED": seed or "1"}
    program = BUILD / f"tests/device/test_instructions-{machine}"
    ended = call(program, "--record", tmp_path / "made.json", env=how)
    if ended.returncode == 77:
        pytest.skip("needs a GPU of compute capability 9.0")
    assert ended.returncode == 0, ended.stdout
    made = digests(tmp_path / "made.json")
    assert {name: made.get(name) for name in recorded} == recorded
    more = made.keys() - recorded
    if more and order == "eager":
        pytest.skip(f"needs a GPU, to record {', '.join(sorted(more))}")
