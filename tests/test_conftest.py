"""What can go wrong in a test is counted: conftest.py runs here over planted tests, in a tree of its
own."""

from __future__ import annotations

import re
import shutil
import sys

import pytest

from tools import NVCC, ROOT, call

pytestmark = pytest.mark.check
PASSED, FAILED, SKIPPED = "1 passed", r"1 (failed|error)", "1 skipped"
# What a program does, and how the closing line begins.
PROGRAMS = {
    "echo 'ok - a'; echo 'skip - b: no GPU'": PASSED,
    "echo 'no GPU'; exit 77": SKIPPED,
    "echo 'ok - a'; echo 'not ok - b: no'; exit 1": FAILED,
    "true prints nothing": FAILED,
    "echo 'ok - a'; printf ok; kill -ABRT $$": FAILED,
    "echo 'ok - a'; sleep 60": FAILED,
    "env | grep ^EMULATOR_ | grep -vx EMULATOR_STORY=0 || echo 'ok - a'": PASSED,
}
# Why a test is skipped, and what it is under STRICT=1.
SKIPS = {
    "needs a GPU": SKIPPED,
    "needs a browser": FAILED,
    "needs nvcc": FAILED if NVCC else SKIPPED,
}


@pytest.fixture
def add(tmp_path):
    """Writes a file into a tree with conftest.py, and makes it a program."""
    shutil.copytree(ROOT / "tests/tools", tmp_path / "tests/tools")
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)

    def write(path: str, text: str) -> None:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        (tmp_path / path).chmod(0o755)

    return write


def expect(tree, begins: str, **environment: str) -> str:
    """The closing line begins so: all that is said of the tree's tests."""
    environment = {"STRICT": "", "FULL": "", "TEST_LIMIT": "2", **environment}
    said = call(sys.executable, "-m", "pytest", "tests", cwd=tree, env=environment).stdout
    assert re.match(begins, said.strip().splitlines()[-1]), said
    return said


@pytest.mark.parametrize("script", PROGRAMS)
def test_program(script, add, tmp_path):
    add("tests/test_programs.py", (ROOT / "tests/test_programs.py").read_text())
    add("tests/unit/test_a.c", "")
    add("build/tests/unit/test_a", f"#!/bin/bash\n{script}\n")
    expect(tmp_path, PROGRAMS[script], EMULATOR_POLICY="lazy")


@pytest.mark.parametrize("why", SKIPS)
@pytest.mark.parametrize(
    "where", ["def test(): pytest.skip({})", "pytest.importorskip('a', reason={})"]
)
def test_skip(where, why, add, tmp_path):
    """Of a test, and of a whole module."""
    add("tests/test_a.py", f"import pytest\n{where.format(repr(why))}\n")
    expect(tmp_path, SKIPPED)
    expect(tmp_path, SKIPS[why], STRICT="1")


def test_what_was_not_built_fails(add, tmp_path):
    add("tests/test_a.py", "import pytest\n@pytest.mark.needs('a')\ndef test(): pass\n")
    assert "make did not build a: " in expect(tmp_path, FAILED)
