"""Programs in C, C++ and CUDA: each prints a line a case, `ok - NAME` or `not ok - NAME`, and exits with 0,
with 1 if a case failed, or with 77 and a reason if it can run none."""

import re
import subprocess

import pytest

from tools import BUILD, ROOT, call

NOT_RUN = 77
# Sources: how make ends the names of their programs below build/, and their marks.
SOURCES = {
    "tests/unit/test_*.c": {"": "check"},
    "tests/gpu/test_*.c": {"": "nvcc gpu"},
    "tests/device/test_*.cpp": {"": "check"},
    "tests/device/test_*.cu": {"-emulated": "", "-gpu": "nvcc gpu"},
    "tests/library/test_*.cpp": {"-emulated": "", "-gpu": "nvcc gpu"},
}


def programs():
    for sources, ends in SOURCES.items():
        for source in sorted(ROOT.glob(sources)):
            for end, words in ends.items():
                name = f"{source.relative_to(ROOT).with_suffix('')}{end}"
                marks = [*words.split(), *(["alone"] if "timing" in name else [])]
                yield pytest.param(name, marks=[getattr(pytest.mark, mark) for mark in marks])


@pytest.mark.needs("{program}")
@pytest.mark.parametrize("program", [*programs()])
def test_program(program):
    ended = call(BUILD / program, cwd=ROOT, stdin=subprocess.DEVNULL)
    if ended.returncode == NOT_RUN:
        pytest.skip(ended.stdout.strip() or "it says not why")
    if ended.returncode or "ok - " not in ended.stdout:
        said = re.sub(r"(?m)^ok - .*\n", "", ended.stdout)
        pytest.fail(f"{said}exit status {ended.returncode}", pytrace=False)
