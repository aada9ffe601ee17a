"""Whole programs around steps that are right, and wrong: what they print, the file that they write, and
their exit status, as the table in tests/unit/step_main.txt has them."""

from __future__ import annotations

import json
import os
import re
import resource
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tools import BUILD, ROOT, call

VERIFIED, FAILED, USAGE, CANNOT_RUN = 0, 1, 2, 77
# Of each machine: its program, the fewest launches before timing starts (on a GPU an exact one, and
# bounded ones on two copies; on the emulator one under each of the policies eager and lazy), and what the
# words in capitals of the table mean.
HOST = "--policy eager", "", "the host product agrees", "the host loop agrees"
ON_GPU = 3, "--protocol none", "--rounds 1", "cuBLAS agrees", "cublasSgeam agrees"
MACHINES = {
    "emulator": ("unit/wrong_rung", 2, *HOST),
    "pretended": ("unit/pretended_gpu", *ON_GPU),
    "gpu": ("gpu/wrong_rung", *ON_GPU),
}
WORDS = ("QUICK", "TIMED", "OTHER", "MOVER")


class Row(NamedTuple):
    machines: str
    step: str
    mistake: str
    words: str
    status: int
    says: str


def rows(machine: str) -> list[Row]:
    table = (ROOT / "tests/unit/step_main.txt").read_text()
    for word, meaning in zip(WORDS, MACHINES[machine][2:]):
        table = re.sub(rf"\b{word}\b", meaning, table)
    table = re.sub(r"(?m)^(#.*)?\n", "", table)
    parts = [one.partition("\n") for one in re.split(r"(?m)^(?=\w)", table)[1:]]
    fields = [(list(map(str.strip, head.split("|"))), says) for head, _, says in parts]
    made = [Row(*words, int(status), says) for (*words, status), says in fields]
    return [row for row in made if machine in row.machines.split()]


def run(machine: str, row: Row, folder) -> tuple[int, str]:
    """The program's status, and all that it prints. Words with a ; are the lines of a file for --runs."""
    words = row.words
    if ";" in words:
        (folder / "lines").write_text(words.replace(" ", "\t").replace(";", "\n"))
        words = "--runs lines"
    program, first = MACHINES[machine][:2]
    command = [BUILD / "tests" / program, row.step, row.mistake, str(first)]
    leaks = f"{os.environ['ASAN_OPTIONS']}:detect_leaks=0"  # what ends early frees nothing
    environment = {"ASAN_OPTIONS": leaks}
    ended = call(*command, "--json", "x.json", *words.split(), cwd=folder, env=environment)
    return ended.returncode, ended.stdout


def mistakes(row: Row, status: int, said: str, folder) -> list[str]:
    """What is wrong with a run in a folder of its own, where nothing is left but the file of a right
    result. What the program refuses it says in one line. Only what is right is called verified."""
    several = ";" in row.words
    runs = not re.search(r"--(help|explain|trials)\b", row.words)
    right = runs and row.status == VERIFIED
    left = {path.name: path.read_text() for path in folder.iterdir()}
    files = {"lines"} if several else {"x.json"} if right else set()
    expected = [
        (status == row.status, f"it exits with {status}"),
        (left.keys() == files or row.mistake == "no room", f"there is {[*left]}"),
    ]
    if not several:
        verified = right and row.step != "nothing"
        line = r"v98: .*\n" if row.status in (USAGE, CANNOT_RUN) else "(?s:.*)"
        expected.append((("verified  " in said) == verified, "verified or not"))
        expected.append((re.fullmatch(line, said), "it is not one line"))
    rest = said + left.get("x.json", "")
    for part in row.says.splitlines():
        wanted, part = not part.startswith("    !"), re.sub("^ {4}(! )?", "", part)
        expected.append(
            ((part in rest) == wanted, f"{part!r} is {'missing' if wanted else 'there'}")
        )
        rest = rest.partition(part)[2] if wanted else rest
    return [why for holds, why in expected if not holds]


@pytest.fixture
def new_folder(machine, tmp_path):
    """Makes one, unless the machine's GPU is not of the kind that the rows are for."""
    small = Row("gpu", "bf16", "right", "--size 8 --protocol none", VERIFIED, "")
    if machine == "gpu" and run(machine, small, tmp_path)[0] == CANNOT_RUN:
        pytest.skip("needs a GPU of compute capability 9.0")
    return lambda: Path(tempfile.mkdtemp(dir=tmp_path))


def on(machine: str, *marks):
    needed = pytest.mark.needs(f"tests/{MACHINES[machine][0]}")
    return pytest.param(machine, marks=[needed, *marks])


EMULATED, PRETENDED = (on(machine, pytest.mark.check) for machine in ("emulator", "pretended"))
GPU = on("gpu", pytest.mark.nvcc, pytest.mark.gpu)


@pytest.mark.parametrize("machine", [EMULATED, PRETENDED, GPU])
def test_runs(machine, new_folder):
    """Each row is a case."""
    wrong = []
    for row in rows(machine):
        folder = new_folder()
        status, said = run(machine, row, folder)
        if why := mistakes(row, status, said, folder):
            wrong.append(f"{row.step} | {row.mistake} | {row.words}: {why}\n{said}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("machine", [EMULATED])
def test_file(machine, new_folder):
    """It is replaced when it is whole. A device and a pipe are written to, and stay."""
    row, folder = Row(machine, "bf16", "right", "--size 64", VERIFIED, ""), new_folder()
    file, before = folder / "x.json", resource.getrlimit(resource.RLIMIT_FSIZE)
    file.write_text("old")
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    status, said = run(machine, row, folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (status, file.read_text()) == (FAILED, "old") and "File too large" in said
    assert run(machine, row, folder)[0] == VERIFIED
    assert json.loads(file.read_text())["step"] == "v98"
    # By way of links: a mistake destroys these, not the machine's devices.
    for device, wanted, why in (("null", VERIFIED, ""), ("full", FAILED, "No space left")):
        file.unlink()
        file.symlink_to(f"/dev/{device}")
        status, said = run(machine, row, folder)
        assert (status, file.is_symlink(), file.is_char_device()) == (wanted, True, True)
        assert why in said
    file.unlink()
    os.mkfifo(file)
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    assert run(machine, row, folder)[0] == VERIFIED
    assert json.loads(os.read(reader, 1 << 16))["step"] == "v98"
    os.close(reader)
    assert file.is_fifo() and [*folder.iterdir()] == [file]


@pytest.mark.parametrize("machine", [GPU])
def test_search_of_cublaslt(machine, new_folder):
    """In the search a kernel takes as long as in a burst, and not as long as enqueueing it; and what one
    process finds, another one takes by its digits."""
    words = "--size 512 --rounds 1"
    first = Row(
        machine, "bf16", "right", f"{words} --heuristics 4", VERIFIED, "    of cuBLASLt's best\n"
    )
    folder = new_folder()
    status, said = run(machine, first, folder)
    assert mistakes(first, status, said, folder) == []
    made = json.loads((folder / "x.json").read_text())
    winner = made["heuristics"]["winner"]
    assert winner["seconds"] == pytest.approx(made["timed"]["cublaslt"]["seconds"][0], rel=0.25)
    again = first._replace(words=f"{words} --algorithm {winner['algorithm']}")
    folder = new_folder()
    status, said = run(machine, again, folder)
    assert mistakes(again, status, said, folder) == []
