"""The emulator's instructions and a GPU's give the bytes that were recorded, in any order of events."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tools import BUILD, ROOT

ON_EMULATOR = pytest.mark.needs("tests/device/test_instructions-emulated")


def run(program: str, *arguments, **environment) -> subprocess.CompletedProcess:
    command = [BUILD / "tests/device" / program, *arguments]
    environment = {**os.environ, **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def digests(file) -> dict[str, tuple]:
    cases = json.loads(file.read_text())["cases"]
    return {case["name"]: (case["bytes"], case["fnv1a"]) for case in cases}


def made_by(machine: str, folder, **environment) -> dict[str, tuple]:
    ended = run(f"test_instructions-{machine}", "--record", folder / "made.json", **environment)
    if ended.returncode == 77:
        pytest.skip("needs a GPU of compute capability 9.0")
    assert ended.returncode == 0, ended.stdout
    return digests(folder / "made.json")


RECORDS = {
    file.stem: digests(file) for file in (ROOT / "bench/results/instructions").glob("*.json")
}
of_records = pytest.mark.parametrize("recorded", RECORDS.values(), ids=RECORDS)


@ON_EMULATOR
@pytest.mark.cached
@of_records
@pytest.mark.parametrize("order", ["eager", "lazy", *(f"random {seed}" for seed in range(1, 8))])
def test_emulator_gives_what_was_recorded(recorded, order, tmp_path):
    policy, _, seed = order.partition(" ")
    made = made_by("emulated", tmp_path, EMULATOR_POLICY=policy, EMULATOR_SEED=seed or "1")
    assert {name: made.get(name) for name in recorded} == recorded


@pytest.mark.needs("tests/device/test_instructions-gpu")
@pytest.mark.gpu
@pytest.mark.nvcc
@of_records
def test_gpu_gives_what_was_recorded(recorded, tmp_path):
    made = made_by("gpu", tmp_path)
    assert {name: made.get(name) for name in recorded} == recorded


@ON_EMULATOR
@of_records
def test_every_case_is_recorded(recorded, tmp_path):
    if more := made_by("emulated", tmp_path).keys() - recorded:
        pytest.skip(f"needs a GPU, to record {', '.join(sorted(more))}")


# What skips all its cases must not pass for one that ran them.
@pytest.mark.needs("tests/device/test_{program}-emulated")
@pytest.mark.parametrize("program", ["instructions", "e4m3"])
@pytest.mark.parametrize("name, value, status", [("POLICY", "none", 2), ("CAPABILITY", "8.9", 77)])
def test_what_cannot_run_has_a_status(program, name, value, status):
    assert run(f"test_{program}-emulated", **{f"EMULATOR_{name}": value}).returncode == status
