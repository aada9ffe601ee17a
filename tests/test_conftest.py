"""What can go wrong in a test is counted: conftest.py runs here over planted tests, in a tree of its
own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tools import NVCC, ROOT

PASSED, FAILED, SKIPPED = "1 passed, 0 failed, 0 skipped", "0 passed, 1 failed, 0 skipped", 77
# What a program does, and the closing line.
PROGRAMS = [
    ("passes", "echo 'ok - a'; echo 'ok - b'", "2 passed, 0 failed, 0 skipped"),
    ("fails a case", "echo 'ok - a'; echo 'not ok - b: no'; exit 1", FAILED),
    ("fails a case but exits 0", "echo 'ok - a'; echo 'not ok - b: no'", FAILED),
    ("skips a case", "echo 'ok - a'; echo 'skip - b: no GPU'", "1 passed, 0 failed, 1 skipped"),
    ("skips everything", "echo 'no GPU'; exit 77", "0 passed, 0 failed, 1 skipped"),
    ("prints nothing", "true", FAILED),
    ("exits 1 without a reason", "echo 'ok - a'; exit 1", FAILED),
    ("dies in the middle of a line", "echo 'ok - a'; printf ok; kill -ABRT $$", FAILED),
    ("never ends", "echo 'ok - a'; sleep 60", FAILED),
    ("must not see a policy", "env | grep ^EMULATOR_ || echo 'ok - a'", PASSED),
]
# What a test of Python does, and the closing lines without and with STRICT=1.
SKIPS = [
    ("needs a GPU", "0 passed, 0 failed, 1 skipped", "0 passed, 0 failed, 1 skipped"),
    ("needs a browser", "0 passed, 0 failed, 1 skipped", FAILED),
    (
        "needs nvcc",
        "0 passed, 0 failed, 1 skipped",
        FAILED if NVCC else "0 passed, 0 failed, 1 skipped",
    ),
]


@pytest.fixture
def closing_line(tmp_path):
    """Runs the tests of a tree: its closing line, and all that was said."""
    shutil.copytree(ROOT / "tests/tools", tmp_path / "tests/tools")
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "emulator/tests").mkdir(parents=True)

    def run(**environment: str) -> tuple[str, str]:
        environment = {**os.environ, "STRICT": "", "FULL": "", "TEST_LIMIT": "2", **environment}
        command = [sys.executable, "-m", "pytest", "tests"]
        how = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
        said = subprocess.run(command, check=False, **how).stdout
        return said.strip().splitlines()[-1], said

    run.tree = tmp_path
    return run


def add(tree, path: str, text: str) -> None:
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(text)
    (tree / path).chmod(0o755)


@pytest.mark.check
@pytest.mark.parametrize(("does", "script", "line"), PROGRAMS, ids=[row[0] for row in PROGRAMS])
def test_program(does, script, line, closing_line):
    add(closing_line.tree, "tests/unit/test_a.c", "")
    add(closing_line.tree, "build/tests/unit/test_a", f"#!/bin/bash\n{script}\n")
    assert closing_line(EMULATOR_POLICY="lazy")[0] == line


@pytest.mark.check
@pytest.mark.parametrize(("why", "line", "strict"), SKIPS)
def test_skip(why, line, strict, closing_line):
    add(
        closing_line.tree,
        "tests/test_a.py",
        f"import pytest\ndef test():\n    pytest.skip('{why}')\n",
    )
    assert closing_line()[0] == line
    assert closing_line(STRICT="1")[0] == strict


@pytest.mark.check
def test_what_was_not_built_fails(closing_line):
    add(closing_line.tree, "tests/unit/test_a.c", "")
    line, said = closing_line()
    assert line == FAILED and "make did not build tests/unit/test_a" in said
    assert "again: " in said and said.count("tests/unit/test_a.c::test_a") == 2


CACHED = """import pytest
@pytest.mark.cached
@pytest.mark.needs("{program}")
@pytest.mark.parametrize("program", ["program"])
def test(program):
    assert open("build/program.o").read() != "bad"
"""


@pytest.mark.check
def test_a_pass_is_remembered_by_its_object(closing_line):
    add(closing_line.tree, "tests/test_a.py", CACHED)
    add(closing_line.tree, "build/program", "")
    for content, full, line, known in (
        ("bad", "", FAILED, False),
        ("good", "", PASSED, False),
        ("good", "", PASSED, True),
        ("good", "1", PASSED, False),
        ("bad", "", FAILED, False),
    ):
        add(closing_line.tree, "build/program.o", content)
        last, said = closing_line(FULL=full)
        assert last == line and ("1 known from before" in said) == known, content
