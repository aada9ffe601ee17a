"""What the library shows to a program that links it; tests/library says what it computes."""

from __future__ import annotations

import re

import pytest

from tools import BUILD, ROOT, call

HEADER = ROOT / "library/gemm_ladder.h"
DECLARED = set(re.findall(r"\b(gl_\w+)\(int|\b(gl_\w+)\(void", HEADER.read_text()))
DECLARED = {name for pair in DECLARED for name in pair if name}


def said(*command) -> str:
    return call(*command, ends_well=True).stdout


@pytest.mark.nvcc
@pytest.mark.needs("library/libgemm_ladder.so", "library/libgemm_ladder.a")
def test_exports_what_the_header_declares():
    """And nothing else, so that it cannot clash with a program's names or with another cudart."""
    for options, file in (("-gD", "libgemm_ladder.so"), ("-g", "libgemm_ladder.a")):
        listed = said("nm", options, "--defined-only", BUILD / "library" / file)
        assert set(re.findall(r"^[0-9a-f]+ [A-Za-z] (\w+)", listed, re.MULTILINE)) == DECLARED


@pytest.mark.nvcc
@pytest.mark.needs("library/libgemm_ladder.so")
def test_needs_no_cuda_library():
    needed = said("readelf", "-d", BUILD / "library/libgemm_ladder.so")
    assert "NEEDED" in needed and "libcuda" not in needed


@pytest.mark.check
@pytest.mark.parametrize("words", ["-std=c11 examples/linear.c", "-x c++ -std=c++11 {HEADER}"])
def test_header_is_both_languages(words):
    """As the example includes it, and in C++."""
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{HEADER.parent}"]
    toolkit = ["-isystem", ROOT / "emulator/include/toolkit"]
    call("gcc", *warnings, *toolkit, *words.format(HEADER=HEADER).split(), cwd=ROOT, ends_well=True)
