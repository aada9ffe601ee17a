"""Every rung as one file (`make standalone`): whole, compiled by nvcc alone, and with a main that works.

Of each file: nothing of the project is included, nothing is missing or twice, the contents name the
right lines; the preprocessor makes the same of it as of the rung. Some of each computation are built,
and their mains tried on the emulator: right results are verified; wrong ones, bits turned over on the
way to the host, and bad usage are found.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import BUILD, FULL, ROOT, STANDALONE
from tools.emulated import trials

from planted.plant import source_of

FILES = BUILD / "standalone"
RUNGS = sorted(path.name.partition("_")[0] for path in (ROOT / "steps").glob("*.cu"))
COMPUTATIONS = ["v07", "a01", "a02", "t01", "t02", "f01", "f05"]
TRIED = sorted({*COMPUTATIONS, *STANDALONE}) if FULL else COMPUTATIONS
WRONG = COMPUTATIONS[:5]  # standalone_wrong.sed has a mistake in each
VERIFIED, FAILED, UNSUPPORTED, CANNOT_RUN = 0, 1, 2, 77


# ---------------------------------------------------------------- the text


def preprocess(text: str, stubs: Path, *options: str) -> str:
    """What the preprocessor makes of a text, where the system's headers are empty."""
    for header in re.findall(r"^#include <(.+)>$", text, re.MULTILINE):
        (stubs / header).parent.mkdir(parents=True, exist_ok=True)
        (stubs / header).touch()
    command = ["g++", "-E", "-P", "-x", "c", "-nostdinc", "-D__CUDACC__", *options]
    command += ["-I", str(ROOT / "common"), "-I", str(stubs), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    """A folder with an empty file for each header of the system."""
    folder = tmp_path_factory.mktemp("stubs")
    for path in [*(ROOT / "common/device").glob("*"), ROOT / "common/step.h"]:
        if path.is_file():
            preprocess(
                "\n".join(re.findall(r"^#include <.+>$", path.read_text(), re.MULTILINE)), folder
            )
    return folder


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.needs("standalone/{rung}.cu")
def test_text(rung, stubs):
    text, source = (FILES / f"{rung}.cu").read_text(), source_of(rung)
    other = r'^\s*#\s*include\s*".*|.*([Ee]mulat|__CUDACC__|__cplusplus|step_main).*'
    assert not re.search(other, text, re.MULTILINE), "for one machine, and of nothing else"
    check_headers(text, preprocess(source, stubs, "-M"))
    lines = [(str(number), line) for number, line in enumerate(text.splitlines(), 1)]
    banners = [(number, line.strip("/- ")) for number, line in lines if line.startswith("// ---- ")]
    assert re.findall(r"(?m)^//   +(\d+)  (.+)$", text) == banners, "its contents"
    check_words(text, preprocess(source, stubs), stubs)


def check_headers(text: str, rule: str) -> None:
    """Each header that the rung includes, directly or not, is there, once, with its comments."""
    listed = [Path(name) for name in rule.replace("\\\n", " ").split()]
    used = [str(path.relative_to(ROOT)) for path in listed if ROOT / "common" in path.parents]
    _, *parts = re.split(r"^// ---- (.*?) -+\n", text, flags=re.MULTILINE)
    sections = [(name, body) for name, body in zip(parts[0::2], parts[1::2]) if "common/" in name]
    assert sorted(name for name, _ in sections) == sorted(used)
    for name, body in sections:
        comments = r"(?m)^ *(?://|/\*|\* ).*"
        there = re.findall(comments, (ROOT / name).read_text()) if "/device/" in name else []
        assert set(there) <= set(body.splitlines()), name


def check_words(text: str, wanted: str, stubs: Path) -> None:
    """Up to the program around the rung, its words are the rung's without its main and without what
    of the contract only the harness needs."""
    for left_out in (r"struct CUstream_st;", r"int step_main\([^()]*\);", r"int main\(.*"):
        wanted, count = re.subn(rf"^{left_out}$", "", wanted, flags=re.MULTILINE)
        assert count == 1, left_out
    before, banner, _ = text.partition("// ---- the program around it ")
    seen = re.sub(r"^#pragma nv_.*", "", preprocess(before, stubs), flags=re.MULTILINE).split()
    wanted = wanted.split()
    at = len(os.path.commonprefix([seen, wanted]))
    assert banner and seen == wanted, (
        f"{seen[at : at + 6]} where the rung has {wanted[at : at + 6]}"
    )


# ---------------------------------------------------------------- running programs


def ends(program: Path, status: int, said: str, *arguments: object, **environment: str) -> None:
    """The run says this on stdout if it verifies, or else in one line on stderr."""
    command = list(map(str, (program, *arguments)))
    how = {"capture_output": True, "text": True, "env": {**os.environ, **environment}}
    ended = subprocess.run(command, check=False, **how)
    output = ended.stdout if status == VERIFIED else ended.stderr
    assert ended.returncode == status and re.search(said, output, re.MULTILINE), ended
    assert status == VERIFIED or output.count("\n") == 1


def shapes(rung: str) -> list[list[int]]:
    """Small ones: clipped if the rung clips, and what its parts and padding need."""
    edges = trials(BUILD / "emulated" / rung)
    wanted = ("clipped edges", "tiles in parts", "rows that TMA does not take")
    words = [edges[name] for name in wanted if name in edges] or [next(iter(edges.values()))]
    pairs = [dict(zip(options[::2], options[1::2])) for options in words]
    found = [[int(one[name]) for name in ("--m", "--n", "--k") if name in one] for one in pairs]
    # Sums of fp16 hold so few products that with this k most of A has to be 0.
    return [*found, *([[40, 72, 2056]] if ".fp16_sums" in source_of(rung) else [])]


of_each_computation = pytest.mark.parametrize("rung", WRONG)
on_emulator = pytest.mark.needs("standalone/emulated/{rung}", "emulated/{rung}")


@pytest.mark.parametrize("rung", TRIED)
@on_emulator
@pytest.mark.cached
def test_verifies(rung):
    for shape in shapes(rung):
        said = rf"^{' x '.join(map(str, shape))} on .*: verified, .* (TFLOPS|GB/s)"
        ends(FILES / "emulated" / rung, VERIFIED, said, *shape)


@of_each_computation
@pytest.mark.needs("standalone/emulated/{rung}-wrong", "emulated/{rung}")
@pytest.mark.cached
def test_finds_a_mistake(rung):
    said = rf"^{rung} is wrong: D\[\d+\]\[\d+\] is \S+, not \S+$"
    ends(FILES / "emulated" / f"{rung}-wrong", FAILED, said, *shapes(rung)[0])


@of_each_computation
@on_emulator
@pytest.mark.cached
def test_finds_a_wrong_bit(rung):
    """Damage on the way to the host: the second and the third copy are D, after one launch and after
    the timed ones."""
    program, shape = FILES / "emulated" / rung, shapes(rung)[0]
    last = shape[0] * shape[1] * (2 if "GEMM_" in source_of(rung) else 4) - 1
    for damage, element in (("2 0", r"0\]\[0"), (f"3 {last}", r"\d+\]\[\d+")):
        said = rf"^{rung} is wrong: D\[{element}\] is "
        ends(program, FAILED, said, *shape, STANDALONE_DAMAGE=damage)


@of_each_computation
@on_emulator
@pytest.mark.cached
def test_refuses(rung):
    program, (m, _, *k) = FILES / "emulated" / rung, shapes(rung)[0]
    for value in ("12x", "", 0, -8, 1 << 40):
        ends(program, UNSUPPORTED, f"takes no n of '{value}': .*multiple", m, value, *k)
    ends(program, UNSUPPORTED, "^usage: .*M N", m)


@pytest.mark.needs("standalone/emulated/v07", "standalone/emulated/a06" if FULL else "emulated/v07")
def test_refuses_what_the_rung_does_not_take():
    ends(FILES / "emulated/v07", UNSUPPORTED, "no n of '12': .*multiple", 256, 12, 64)
    if FULL:  # of 256 rows the last would be past 2^32 bytes
        said = "takes no k of '8500000': .*at most 8388608"
        ends(FILES / "emulated/a06", UNSUPPORTED, said, 256, 128, 8500000)


@pytest.mark.parametrize("rung", STANDALONE)
@pytest.mark.needs("standalone/{rung}")
@pytest.mark.nvcc
@pytest.mark.full
def test_ends_with_77_without_a_gpu(rung):
    said = f"^{rung} cannot run here: it needs an NVIDIA GPU .*, but none was found"
    ends(FILES / rung, CANNOT_RUN, said, CUDA_VISIBLE_DEVICES="-1")


BAD = {
    "no step record": (".computes = GEMM_BF16", ".computes = 0 + 1", "computes"),
    "an unknown computation": ("GEMM_BF16", "GEMM_FP4", "GEMM_FP4"),
    "another main": ("int main(", "int other(", "its last line is not"),
    "a header that is not there": ("device/tma.cuh", "device/none.cuh", "none.cuh"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_source(what, tmp_path):
    """What cannot be written is an error in one line, and no file."""
    before, after, said = BAD[what]
    rung, output = tmp_path / "bad.cu", tmp_path / "standalone.cu"
    assert before in source_of("v02")
    rung.write_text(source_of("v02").replace(before, after))
    command = [sys.executable, "-m", "standalone.write", str(rung), str(output)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == FAILED and said in ended.stderr and ended.stderr.count("\n") == 1
    assert not output.exists()
