"""What rungs' programs do with bad input, and a GPU's where there is none: it is hidden here.
tests/unit has all that options can be."""

import re
import subprocess

import pytest

from tools import BUILD, ROOT

RUNGS = sorted(path.name.partition("_")[0] for path in ROOT.glob("steps/*.cu"))
KINDS = [("emulated", rung) for rung in ("v07", "a01", "t02", "f01")]
KINDS += [pytest.param("steps", rung, marks=pytest.mark.nvcc) for rung in ("v07", "a01", "t02")]
# Which programs refuse which options.
REFUSED = [
    (
        "",
        "--size=abc ; --size=0 ; --unknown ; 4096 ; --inputs foo ; --policy foo ; --size 4096 --m",
    ),
    ("", "--json ; --json no/such/directory/result.json ; --json -"),
    ("steps", "--policy lazy ; --rounds=0 ; --device=-1"),
    ("emulated", "--protocol burst ; --rounds 3 ; --device 0 ; --seed x"),
    (".*/[^t]", "--inputs bits"),
    (".*/t", "--k 4"),
    (".*/(?!a01)", "--alpha 1 ; --beta=0"),
    (".*/a01", "--alpha x ; --beta nan"),
]
# Which rungs refuse which shapes. 4 elements of fp32 are 16 bytes: only D of a01 has them. Up to v09
# tiles are whole.
SHAPES = [
    ("(?!v21|v23|v24|s07|s08)", "--size 4095"),
    ("t", "--n 4098 ; --m 4 --n 1"),
    ("t0[^1]", "--m 4098 ; --m 1 --n 4"),
    ("(?!t|v21|v23|v24|s07|s08)", "--n 4102 ; --k 4100"),
    ("v(?!21|23|24)|a0[^1]|f", "--n 4100"),
    ("f", "--k 4104"),
    ("a0[3-6]", "--m 256 --n 8 --k 8388616"),
    ("v0", "--m 8 ; --m 4104 ; --n 8 ; --n 4104 ; --k 8 ; --k 4104"),
]
OPTIONS = {"emulated": "--policy", "steps": "--protocol --rounds --device"}


def run(folder, rung, words, where):
    """A program's status and what it prints; the folder is where it may leave a file."""
    ended = subprocess.run(
        [BUILD / folder / rung, *words.split()],
        cwd=where,
        env={"CUDA_VISIBLE_DEVICES": "-1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    return ended.returncode, ended.stdout, ended.stderr


def refused(table, program):
    """The options that the table's rows for a program have."""
    rows = [words for who, words in table if re.match(who, program)]
    return [words.strip() for row in rows for words in row.split(";")]


def ends_with_a_line(folder, rung, words, where, status=2):
    """The program ends with this status, one line on stderr that names it, and no file."""
    ended, out, error = run(folder, rung, f"--json left.json {words}", where)
    assert (ended, out, error.count("\n")) == (status, "", 1), words
    assert error.startswith(f"{rung}: ") and not [*where.iterdir()], words
    return error


@pytest.mark.needs("{folder}/{rung}")
@pytest.mark.parametrize(("folder", "rung"), KINDS)
def test_options(folder, rung, tmp_path):
    for words in refused(REFUSED, f"{folder}/{rung}"):
        ends_with_a_line(folder, rung, words, tmp_path)
    status, text, _ = run(folder, rung, "--help", tmp_path)
    names = {"--size", "--m", "--n", "--inputs", "--seed", "--json", *OPTIONS[folder].split()}
    names |= {"--k"} if rung[0] != "t" else set()
    names |= {"--alpha", "--beta"} if rung == "a01" else set()
    assert status == 0 and names <= {*re.findall(r"--\w+", text)}


@pytest.mark.needs("{folder}/{rung}")
@pytest.mark.parametrize(("folder", "rung"), KINDS)
def test_machine(folder, rung, tmp_path):
    """It starts where there is no driver, nor for the emulator CUDA; without a GPU it exits with 77."""
    said = subprocess.check_output(["readelf", "-d", BUILD / folder / rung], text=True)
    needed = " ".join(line for line in said.splitlines() if "NEEDED" in line)
    unwanted = {"steps": r"libcuda\.so|libnvidia", "emulated": "libcu|libnvidia|libtsan"}[folder]
    assert needed and not re.search(unwanted, needed)
    if folder == "steps":
        error = ends_with_a_line(folder, rung, "--protocol none --size 512", tmp_path, 77)
        assert f"make step N={rung} EMULATE=1" in error


@pytest.mark.needs("emulated/{rung}")
@pytest.mark.parametrize("rung", RUNGS)
def test_shapes(rung, tmp_path):
    """What its step record limits."""
    for words in refused(SHAPES, rung):
        error = ends_with_a_line("emulated", rung, words, tmp_path)
        assert words != "--n 4098" or "16 bytes" in error
