"""Every rung as one file (`make standalone`): nothing of the project is included, and it runs on the emulator as
any program does, by its own PTX: a right one is verified, a wrong one is not."""

from __future__ import annotations

import re
import sys

import pytest

from tools import BUILD, ROOT, call

from bench import rungs
from emulator.translate import __main__ as translate

of_rungs = pytest.mark.parametrize("rung", rungs.find())
on_emulator = pytest.mark.needs("standalone/{rung}.cu", "emulator/libemulator.a")


def text_of(rung: str) -> str:
    return (BUILD / "standalone" / f"{rung}.cu").read_text()


def expect_run(name: str, text: str, size: str, status: int, said: str) -> None:
    """The emulator runs it at a size; its exit status, and what it says."""
    path = BUILD / "tests" / "translated" / f"{name}.cu"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    command = [sys.executable, "-m", "emulator.translate", "--policies", "lazy", path, "--"]
    ended = call(*command, *size.split(), cwd=ROOT)
    found = re.search(said, ended.stdout, re.MULTILINE)
    assert ended.returncode == status and found, ended


@on_emulator
@of_rungs
def test_text(rung):
    """It includes system headers alone, says how to compile it, and the emulator knows its PTX."""
    text = text_of(rung)
    assert not re.search(r'#\s*include\s*"|#pragma once', text)
    assert re.match(rf"// {rung} .*\n// +nvcc .*-o {rung} {rung}.cu && ", text)
    options = translate.arguments([f"{BUILD}/standalone/{rung}.cu"])
    program = translate.Program(options, BUILD / "tests" / "translated" / rung)
    assert re.findall(r'::unknown\("[^"]*", \d+, .*', program.translate()) == []


CASES = (  # a rung; a mistake, which replaces the first text by the second; a size; what is said
    ("f01", "", "", "264 208 384", "264 x 208 x 384 verified"),
    ("f01", "        wgmma_fence();", "", "264 208 384", r"hazard: wgmma without wgmma\.fence"),
    ("f01", "advance_k<e4m3>(b, kk)", "b", "264 208 384", "f01 is wrong"),
    ("v07", "(&b[kk])", "(&b[0])", "256 512 192", "v07 is wrong"),
    ("a01", "+ beta * c.x[i]", "- beta * c.x[i]", "200 136 72", "a01 is wrong"),
    ("a02", "acc[j], pair)", "acc[j], 1 - pair)", "256 128 64", "a02 is wrong"),
    ("t01", "+ 1)); //", "+ 2)); //", "64 96", "t01 is wrong"),
    ("t02", "smem.a[i * BN + j]", "smem.a[j * BN + i]", "128 128", "t02 is wrong"),
    ("v07", "", "", "256 12 64", "multiples of 256"),
)


@on_emulator
@pytest.mark.parametrize("rung, before, after, size, said", CASES)
def test_main(rung, before, after, size, said):
    """Its main verifies what is right, finds what is wrong, and rejects a shape."""
    text = text_of(rung)
    assert before in text
    name = f"{rung}-{CASES.index((rung, before, after, size, said))}"
    expect_run(name, text.replace(before, after), size, 0 if "verified" in said else 1, said)


@on_emulator
@pytest.mark.full
@of_rungs
def test_rung_translated(rung):
    """Past the edges of its tiles, if it takes such shapes; else some whole tiles."""
    text = text_of(rung)
    size = "296 584 448" if re.search(r"\.n = \d", text) else "512 512 384"
    expect_run(rung, text, size if ".k = " in text else size[:7], 0, "^lazy: ok")
