"""The emulator in a tree that holds little else, and on the rungs' own PTX: their standalone files."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from tools import BUILD, FULL, ROOT, emulated

from emulator.translate import ptx

of_rungs = pytest.mark.parametrize("rung", emulated.rungs())

# ---------------------------------------------------------------- alone

RUN = "emulator/translate/run --quiet --policies eager emulator/tests/cases/cuda_barrier.cu --"
# Commands one after the other, their exit status, and what they print.
COMMANDS = [
    ("make -C emulator", 0, ""),
    ("make -q -C emulator", 0, ""),
    ("make -f emulator/Makefile build/emulator/tests/test_units", 0, ""),
    ("build/emulator/tests/test_units", 0, "ok - "),
    (f"{RUN} add_one", 0, "eager: ok"),
    (f"{RUN} no_store_fence", 1, "[proxy-fence]"),
    *([(f"make -C emulator test PYTHON={sys.executable}", 0, "passed")] if FULL else []),
]


@pytest.mark.seconds(60)
@pytest.mark.full
def test_it_needs_nothing_else(tmp_path):
    for folder in ("emulator", "common/device", "common/formats"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for command, status, said in COMMANDS:
        ended = subprocess.run(
            command.split(), cwd=tmp_path, capture_output=True, text=True, check=False
        )
        output = ended.stdout + ended.stderr
        assert (ended.returncode, said in output) == (status, True), f"{command}: {output}"


# ---------------------------------------------------------------- the rungs' PTX


def standalone(rung: str) -> str:
    """A rung's standalone file, with wgmmas where macros write them."""
    text = (BUILD / "standalone" / f"{rung}.cu").read_text()

    def expanded(found: re.Match) -> str:
        command = ["g++", "-E", "-P", "-x", "c++", "-"]
        return subprocess.run(
            command, input=found.group(), capture_output=True, text=True, check=True
        ).stdout

    return re.sub(r"(?ms)^#define NAMES_8 .*^WGMMA\w*\(256,[^\n]*$", expanded, text)


def expect_run(name: str, text: str, size: str, status: int, said: str) -> None:
    path = BUILD / "tests" / "translated" / f"{name}.cu"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    command = [sys.executable, "-m", "emulator.translate", "--policies", "lazy", path, "--"]
    ended = subprocess.run(
        [*command, *size.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    output = ended.stdout + ended.stderr
    assert ended.returncode == status and re.search(said, output, re.MULTILINE), output


@pytest.mark.needs("standalone/{rung}.cu")
@of_rungs
def test_ptx_of_a_rung_is_known(rung):
    translated = ptx.translate(standalone(rung), f"{rung}.cu")
    assert re.findall(r'::unknown\("[^"]*", \d+, .*', translated) == []


F01 = [  # a mistake, which replaces the first text by the second; the exit status, what is said
    ("right", "", "", 0, "264 x 208 x 384 on .*: verified"),
    ("no_fence", "        wgmma_fence();", "", 1, r"hazard: wgmma without wgmma\.fence"),
    ("same_columns", "advance_k<e4m3>(b, kk)", "b", 1, r"f01 is wrong: D\["),
]


@pytest.mark.needs("standalone/f01.cu", "emulator/libemulator.a")
@pytest.mark.cached("emulator/**/*", "common/**/*")
@pytest.mark.seconds(20)
@pytest.mark.parametrize("name, before, after, status, said", F01, ids=[row[0] for row in F01])
def test_f01_translated(name, before, after, status, said):
    text = standalone("f01")
    assert before in text
    expect_run(f"f01-{name}", text.replace(before, after), "264 208 384", status, said)


@pytest.mark.needs("standalone/{rung}.cu", "emulator/libemulator.a")
@pytest.mark.full
@pytest.mark.seconds(40)
@of_rungs
def test_rung_translated(rung):
    """Past the edges of its tiles, if it takes such shapes; else some whole tiles."""
    text = standalone(rung)
    size = "296 584 448" if re.search(r"\.multiple_n = \d,", text) else "512 512 384"
    size = size if ".multiple_k = " in text else size[:7]
    expect_run(rung, text, size, 0, "^lazy: ok")
