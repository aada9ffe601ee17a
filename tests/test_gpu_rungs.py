"""What every rung has to do on a GPU: a process for each rung and test, of one run after another."""

from __future__ import annotations

import json
import re
from itertools import cycle

import pytest

from tools import BUILD, FULL, ROOT, STANDALONE, call, tool

from bench import rungs
from planted.plant import source_of

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc]
RUNGS = list(rungs.find())
CLIPS = ".multiple = {.m = 1,"  # rows that no tile divides
ANY_ROW = ".any_row = true,"  # rows that are not whole 16 bytes

# Rungs, what their sources have, and shapes: m n k or m n, and further options.
RIGHT = [
    # One tile, far from square, fewer k-tiles than stages, more tiles than CTAs.
    ("[vsaf]", "", "256 256 64, 256 512 64, 256 256 4096, 1024 2048 512, 2304 3328 1088"),
    ("[vsaf]", "", "4096 4096 128, 256 16384 256, 16384 256 192"),
    # An odd number of tiles in m: not for v08, whose clusters span two.
    ("[saf]|v(?!08)", "", "128 256 64, 128 16384 256, 1152 768 320"),
    ("[vsaf]", CLIPS, "128 8 8, 8 8 8, 1 8 8, 1 8 4096, 200 456 200, 130 264 72, 1000 1000 1000"),
    ("[vsaf]", CLIPS, "5000 264 136, 2660 3088 328, 3132 4016 456"),
    # Few rows of long ones: few tiles, or a last wave nearly empty, of many k-tiles.
    ("[vs]", CLIPS, "16 4096 14336, 1 8192 8192, 64 4096 14336, 128 4736 15296, 16 1000 4104"),
    ("[vs]", CLIPS, "3 136 100008"),
    ("s", ANY_ROW, "1 1 1, 3 5 7, 129 131 8193, 1000 1001 1003, 2047 2049 2051, 16 4097 14335"),
    ("s", ANY_ROW, "64 4096 14337, 4097 4095 63"),
    # Sums beyond what fp16 holds, the longest rows, a tall, thin product.
    ("a", "", "256 128 20480, 81920 256 256"),
    ("a01", "", "256 512 64 --alpha 0.3 --beta 7e3, 256 512 64 --alpha 1e-38 --beta 1"),
    ("a01", "", "256 512 64 --alpha 1e-38 --beta 0, 1000 260 520 --alpha 0 --beta -2.5"),
    ("a01", "", "1000 260 520 --alpha 1 --beta -2.5, 1000 260 520 --alpha -2.5 --beta 0"),
    ("a01", "", "1000 260 520 --alpha 0 --beta 0, 1000 260 520 --alpha -2.5 --beta 1"),
    ("a01", "", "1000 260 520 --alpha 0 --beta 1, 1000 260 520 --alpha 1 --beta 0"),
    # Thin ones.
    ("t", "", "32 32, 4 4, 4 8, 256 4096, 32 32768, 32768 32, 1000 1004, 4 131072, 131072 4"),
    ("t", "", "4 4194304, 4194304 4, 128 65532, 4096 16384, 1024 2048 --inputs bits"),
    ("t", CLIPS, "1 4, 3 4, 33 36"),
]
# With FULL=1 also what takes a second opinion long, and more than 4 GiB: 48 GB of GPU memory.
RIGHT += [
    ("[vsaf]", CLIPS, "8200 8200 8200, 16384 16384 16384"),
    ("a", "", "256 8 8388608, 8192 8192 8192"),
    ("t", "", "40000 32768"),
] * FULL
# Each kernel of a rung that chooses has to take one of these: several tiles for a CTA, or few of
# long rows, for the parts of a tile in a cluster. Their number is prime to that of a kernel's forms.
KERNELS = [
    ("s", "", "296 584 440, 896 64 568, 72 136 8200, 256 256 8192, 200 584 568"),
    ("s", ANY_ROW, "100 135 4104, 15 62 5001"),
]
MANY, EVERY = 64, 19  # prime to the forms as well
SANITIZED = [
    ("[vsaf]", "", "256 512 256"),
    ("[vsaf]", CLIPS, "200 456 200"),
    ("s", ANY_ROW, "129 203 135"),
    ("s0[5-7]", "", "72 136 2056 --kernel 4"),  # tiles in parts
    ("s07", "", "72 130 2056 --kernel 4"),
    ("s09", ANY_ROW, "72 131 16392"),  # in parts apart
    ("t", "", "128 256, 100 228"),
]
STANDALONE_AT = [
    ("[vsaf]", "", "256 256 64, 256 16384 192"),
    ("[vsaf]", CLIPS, "1 8 8, 200 456 200"),
    ("a", "", "256 128 20480"),  # a sum beyond what fp16 holds, were A not mostly 0
    ("t", "", "4 4, 1000 1004, 4 131072, 131072 4"),
]


def shapes_of(rung, table):
    """A rung's shapes as words. k of the f track is rounded up to whole 16 bytes."""
    has = source_of(rung)
    rows = [row for rungs, word, row in table if re.match(rungs, rung) and word in has]
    shapes = [shape.split() for row in rows for shape in row.split(",")]
    for words in shapes if rung[0] == "f" else []:
        words[2] = str(-(-int(words[2]) // 16) * 16)
    return shapes


def options(rung, words):
    """The same as options of its program."""
    names = ("--m", "--n") if rung[0] == "t" else ("--m", "--n", "--k")
    sizes = [word for pair in zip(names, words) for word in pair]
    return [*sizes, *words[len(names) :]]


def run(*command):
    ended = call(*command, cwd=ROOT)
    if ended.returncode == 77:
        pytest.skip(f"needs a GPU that can run it: {ended.stdout.strip()}")
    return ended


def run_shapes(folder, rung, shapes, *checker):
    """Runs the rung's program at all shapes, but for those that are too large for this GPU; returns
    the digests of D."""
    lines = []
    for i, words in enumerate(shapes):
        more = ["--protocol", "none", "--json", f"{folder}/{i:03}.json"]
        lines.append("\t".join([*options(rung, words), *more]))
    while lines:
        (folder / "runs").write_text("\n".join([*lines, ""]))
        ended = run(*checker, BUILD / "steps" / rung, "--runs", folder / "runs")
        large = re.search(r"--runs, line (\d+): .* of GPU memory and", ended.stdout)
        assert ended.returncode == (2 if large else 0), ended.stdout[-4000:]
        lines = lines[int(large[1]) :] if large else []
    return [json.loads(file.read_text())["digest"] for file in sorted(folder.glob("*.json"))]


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.needs("steps/{rung}")
def test_right(rung, tmp_path):
    """So are the contenders, and guards are whole; two processes give the same bits. Of many kernels
    that a rung chooses among some run, with FULL=1 each."""
    shapes, of_kernels = shapes_of(rung, RIGHT), shapes_of(rung, KERNELS)
    (tmp_path / "again").mkdir()
    again = run_shapes(tmp_path / "again", rung, shapes if FULL else shapes[:8])
    if of_kernels:
        refusal = run(BUILD / "steps" / rung, "--kernel", "0").stdout
        count = int(re.search(r"from 1 to (\d+)", refusal)[1])
        numbers = range(1, 1 + count, 1 if FULL or count <= MANY else EVERY)
        shapes += [[*one, "--kernel", str(at)] for at, one in zip(numbers, cycle(of_kernels))]
    assert again and all(again)
    assert run_shapes(tmp_path, rung, shapes)[: len(again)] == again


@pytest.mark.needs("steps/s09")
def test_tuned(tmp_path, monkeypatch):
    """The quick tuner's pick is in the row and in the user's file."""
    file, row = tmp_path / "folder" / "tuned.txt", tmp_path / "row.json"
    monkeypatch.setenv("GEMM_LADDER_TUNED", str(file))
    shape = ("512", "256", "128")
    ended = run(BUILD / "steps/s09", *options("s09", shape), "--tune", "--json", row)
    assert ended.returncode == 0 and f"kept in {file}" in ended.stdout, ended.stdout
    found = json.loads(row.read_text())
    gpu, pick = found["context"]["gpu"]["name"], found["timed"]["tuned"]["kernel"]
    assert file.read_text().split("\t")[:-1] == [gpu, *shape, str(pick)]


# No access out of bounds or to what was never written, no race in shared memory, no misused barrier.
@pytest.mark.parametrize("checker", ["memcheck", "initcheck", "synccheck", "racecheck"])
@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.needs("steps/{rung}")
@pytest.mark.full
def test_sanitized(rung, checker, tmp_path):
    sanitizer = tool("compute-sanitizer") or pytest.skip("needs compute-sanitizer")
    command = [sanitizer, "--tool", checker, "--error-exitcode", "99"]
    run_shapes(tmp_path, rung, shapes_of(rung, SANITIZED), *command)


@pytest.mark.parametrize("rung", STANDALONE)
@pytest.mark.needs("standalone/{rung}")
def test_standalone(rung):
    for words in [[], *shapes_of(rung, STANDALONE_AT)]:
        ended = run(BUILD / "standalone" / rung, *words)
        assert ended.returncode == 0 and " verified, " in ended.stdout, ended.stdout
