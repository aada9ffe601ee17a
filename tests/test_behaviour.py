"""What rungs' programs reject: what their step records rule out, and a GPU's where there is none: it is
hidden here. tests/unit has all that options can be."""

import re
import subprocess

import pytest

from tools import BUILD, call

from bench import rungs

# 4 elements of fp32 are 16 bytes: only D of a01 has them. Up to v09 tiles are whole.
REJECTED = [
    ("", "--unknown ; --protocol burst ; --json no/such/directory/result.json ; --size 4096 --m"),
    ("(?!a01)", "--alpha 1"),
    ("(?!s0[7-9])", "--size 4095"),
    ("t", "--n 4098 ; --m 4 --n 1 ; --k 4"),
    ("t0[^1]", "--m 4098 ; --m 1 --n 4"),
    ("(?!t|s0[7-9])", "--n 4102 ; --k 4100 ; --inputs bits"),
    ("v|s0[1-6]|a0[^1]|f", "--n 4100"),
    ("f", "--k 4104"),
    ("a0[3-6]", "--m 256 --n 8 --k 8388616"),
    ("v0", "--m 8 ; --m 4104 ; --n 8 ; --n 4104 ; --k 8 ; --k 4104"),
]


def rejection(program, words, where, status=2):
    """The line on stderr with which a program ends; it leaves no file."""
    command = ["env", "-i", "CUDA_VISIBLE_DEVICES=-1", program, "--json", "left.json"]
    ended = call(*command, *words.split(), cwd=where, stderr=subprocess.PIPE, timeout=20)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (status, "", 1), words
    assert ended.stderr.startswith(f"{program.name}: ") and not [*where.iterdir()], words
    return ended.stderr


@pytest.mark.needs("emulated/{rung}")
@pytest.mark.parametrize("rung", rungs.find())
def test_shapes(rung, tmp_path):
    for who, several in REJECTED:
        for words in several.split(" ; ") if re.match(who, rung) else ():
            error = rejection(BUILD / "emulated" / rung, words, tmp_path)
            assert words != "--n 4098" or "16 bytes" in error


@pytest.mark.nvcc
@pytest.mark.needs("steps/{rung}")
@pytest.mark.parametrize("rung", ["v07", "a01", "t02"])
def test_without_a_gpu(rung, tmp_path):
    """It starts, though there is no driver either."""
    for words in ("--unknown", "--policy lazy", "--rounds=0", "--device=-1"):
        rejection(BUILD / "steps" / rung, words, tmp_path)
    error = rejection(BUILD / "steps" / rung, "--protocol none --size 512", tmp_path, 77)
    assert "needs an NVIDIA GPU of compute capability " in error
    assert f"make step N={rung} EMULATE=1" in error
