"""The emulator in a tree that holds little else."""

from __future__ import annotations

import shutil
import sys

import pytest

from tools import FULL, ROOT, call

RUN = "emulator/translate/run --quiet --policies eager emulator/tests/cases/cuda_barrier.cu --"
# Commands one after the other, their exit status, and what they print.
COMMANDS = [
    ("make -C emulator", 0, ""),
    ("make -q -C emulator", 0, ""),
    (f"{RUN} add_one", 0, "eager: ok"),
    (f"{RUN} no_store_fence", 1, "[proxy-fence]"),
    *([(f"make -C emulator test PYTHON={sys.executable}", 0, "passed")] if FULL else []),
]


@pytest.mark.full
def test_it_needs_nothing_else(tmp_path):
    for folder in ("emulator", "common/formats"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for command, status, said in COMMANDS:
        ended = call(*command.split(), cwd=tmp_path)
        assert (ended.returncode, said in ended.stdout) == (status, True), ended
