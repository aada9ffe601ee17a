"""What nvcc builds, and what make refuses to build: rungs, variants, rivals, parts for energy."""

from __future__ import annotations

import re
import struct
import subprocess
from collections import Counter

import pytest

from tools import BUILD, ROOT, STANDALONE, call, touched

from bench import rungs
from planted.plant import source_of

RUNGS = rungs.find()
PATCHES = {file.stem: file for file in sorted((ROOT / "bench" / "variants").glob("*.patch"))}
VARIANTS = [f"variants/steps/{variant}" for variant in PATCHES]

# ---------------------------------------------------------------- PTX

# Where an idea begins and ends, what it puts into the PTX, and a regular expression that matches it. A
# rung has what the one that it grows from has, unless it is named: from v01 on, but not from -v10 on;
# f alone: no rung of the track. Of a track that isn't named nothing is said. What orders something
# isn't listed: the emulator reports where it is missing; nor what it counts (test_counts.py).
TABLE = [
    ("a03", "ldmatrix", r"ldmatrix\.sync\.aligned\.m8n8\.x4\.shared"),
    ("a06", "waits that leave copies on their way", r"cp\.async\.wait_group [1-9]"),
    ("v01 -v02", "16-byte loads", r"ld\.global(\.nc)?\.(v4\.[ubf]32|v2\.[ubf]64)"),
    ("v01 -v02 f03", "fp32 multiply-adds", r"fma\.rn\.f32"),
    ("v05", "registers taken", r"setmaxnreg\.inc\.sync\.aligned"),
    ("s05", "cluster barrier that orders nothing", r"barrier\.cluster\.arrive\.relaxed"),
    ("s03", "a lane elected", r"elect\.sync"),
    ("v14", "lines that leave the L2 first", r"createpolicy\.fractional\.L2::evict_first"),
    ("v14 f01 -f07", "loads with a hint", r"bulk\.tensor\.2d\.shared\S*L2::cache_hint"),
    ("v14 f01 -f07", "stores with a hint", r"bulk\.tensor\.2d\.global\S*L2::cache_hint"),
    ("v17 s01", "lets the next launch begin", r"griddepcontrol\.launch_dependents"),
    ("v12", "stmatrix of four matrices", r"stmatrix\.sync\.aligned\.m8n8\.x4\.shared"),
    ("v15 v16", "stmatrix of two matrices", r"stmatrix\.sync\.aligned\.m8n8\.x2\.shared"),
    ("s04", "stmatrix that transposes", r"stmatrix\.sync\.aligned\.m8n8\.x4\.trans\."),
    ("t05", "16-byte shared accesses", r"st\.shared\.v4\.[fb]32"),
    ("t08", "evict-last loads", r"createpolicy\.fractional\.L2::evict_last"),
]


def has(row, rung):
    """Whether the rung is to have it; None if the row says nothing about its track."""
    words = row.split()
    if rung[0] not in {word.strip("-")[0] for word in words}:
        return None
    while rung and not {rung, f"-{rung}"} & {*words}:
        rung = RUNGS[rung].below
    return rung in words


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.needs("ptx/{rung}.ptx")
@pytest.mark.nvcc
def test_ptx(rung):
    """Without blank lines, comments (with -lineinfo they quote the source) and places in the source."""
    lines = (BUILD / f"ptx/{rung}.ptx").read_text().splitlines()
    lines = [line for line in lines if line and not line.lstrip().startswith(("//", ".loc"))]
    text = "\n".join(lines)
    rows = [(what, has(row, rung), bool(re.search(one, text))) for row, what, one in TABLE]
    wrong = [what for what, wanted, found in rows if wanted not in (None, found)]
    assert not wrong, f"{wrong} came or went: if it should, name {rung} in TABLE"
    labels, together = {}, False
    for at, line in enumerate(lines):
        if line.startswith("$L"):
            labels[line[:-1]] = at
        if (to := re.search(r"\bbra\S*\s+(\$L\w+);", line)) and to[1] in labels:
            # A loop would make a policy anew for every load.
            assert [one for one in lines[labels[to[1]] : at] if "createpolicy" in one] == []
        # Before an aligned barrier of a part of the threads is a bar.warp.sync, and nothing between the
        # two that may take lanes apart again.
        if re.search(r"barrier\.cluster\.arrive\S*aligned|bar\.sync \S+, \S+;", line):
            assert together, line
        apart = re.search(r"\bbra\b|^\s*@|:$", line)
        together = "bar.warp.sync" in line or (together and not apart)


def make(*words):
    """All that make says, and its exit status."""
    ended = call("make", "--no-print-directory", *words, cwd=ROOT)
    return ended.stdout, ended.returncode


# ---------------------------------------------------------------- programs

TMA = {"sm_90", "sm_100", "sm_120"}
GPUS = {"a": {*TMA, "sm_80", "sm_86", "sm_89"}, "t": TMA, "v": {"sm_90a"}}
GPUS |= {"s": GPUS["v"], "f": GPUS["v"]}
MORE = [*VARIANTS, *(f"standalone/{rung}" for rung in STANDALONE)]
SAMPLE = ("/a02-fp32-sums", "/f02-every-2", "/t08-six-ctas", "/v08-no-multicast", "/v07")


def rarely(program):
    """Without FULL=1 only if it is in the sample, or its patch or rung was touched."""
    is_new = touched() & {re.search(r"[vsatf]\d\d", program)[0], program.rpartition("/")[2]}
    often = is_new or program.endswith(SAMPLE)
    return pytest.param(program, marks=() if often else pytest.mark.full)


@pytest.mark.parametrize("program", [*(f"steps/{rung}" for rung in RUNGS), *map(rarely, MORE)])
@pytest.mark.needs("{program}")
@pytest.mark.nvcc
def test_is_built(program):
    """For the GPUs that it is for; make has refused what spills or is serialised."""
    found = set(re.findall(r"for '(sm_\w+)'", (BUILD / f"{program}.ptxas.log").read_text()))
    wanted = GPUS[re.search(r"[vsatf]\d\d", program)[0][0]]
    assert found == wanted or (len(found) == 1 and not program.startswith("steps"))


# A rung, a text in it, by what a mistake replaces it, and what the log says then.
SLOW = {
    "serialised": ("v02", "wgmma_wait<0>(acc);", "", "C751[0-9]"),
    "setmaxnreg is ignored": ("v05", "__launch_bounds__(THREADS, 1)", "", "C7508"),
    "spills": ("v01", "(THREADS, 2)", "(THREADS, 4)", "spill"),
    "stack": ("v01", "acc[i][j] +=", "acc[i][(j + k_tile) % TN] +=", "stack frame, 0 bytes spill"),
    "warning": ("v01", "float acc", "int nothing; float acc", "nothing"),
}


@pytest.mark.nvcc
@pytest.mark.parametrize(("mistake", "strict"), [*((one, 0) for one in SLOW), ("warning", 1)])
def test_refuses_slow_code(mistake, strict, tmp_path):
    """No object comes out, and make says why. A warning stops nobody but under STRICT=1."""
    rung, good, bad, says = SLOW[mistake]
    (tmp_path / f"{rung}_slow.cu").write_text(source_of(rung).replace(good, bad))
    built = tmp_path / "steps" / f"{rung}.o"
    said, status = make(f"STRICT={strict}", f"STEPS={tmp_path}", f"BUILD={tmp_path}", built)
    assert (status == 0, built.exists()) == (((mistake, strict) == ("warning", 0)),) * 2
    assert re.search(says, said), said


# ---------------------------------------------------------------- variants


@pytest.mark.parametrize("variant", PATCHES)
def test_variant_applies(variant, monkeypatch):
    """To its rung and device headers alone; it says what it tries, and goes by its own name."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(ROOT.parent))
    patch = PATCHES[variant]
    command = ["git", "apply", "--check", "--numstat", "--whitespace=nowarn", patch]
    applied = call(*command, cwd=ROOT, ends_well=True)
    mine = rf"\d+\t\d+\t(steps/{variant[:3]}_|common/device/)"
    assert [line for line in applied.stdout.splitlines() if not re.match(mine, line)] == []
    wanted = rf'(?s)# [A-Za-z].*\n# Expected: .*\n\+ +\.name = "{variant}",\n'
    assert re.match(wanted, patch.read_text())


# ---------------------------------------------------------------- rivals

FAST_CU = """namespace M12 {
constexpr int SPACE_LEN = 128;
template <int...> struct SMem { int any; };
template <int, int, bool...> CUtensorMap create_tensor_map(bf16 *, int, int) { return {}; }
template <int...> __global__ void matmulKernel12(int, int, int, const __grid_constant__ CUtensorMap,
    const __grid_constant__ CUtensorMap, const __grid_constant__ CUtensorMap, int *) {}
void createHilbert(int, int, int, int *) {}
}"""


@pytest.fixture
def clone(tmp_path):
    """A stand-in for fast.cu: the names of its kernel 12, and nothing in them."""
    for folder in (tmp_path, tmp_path / "inside"):
        (folder / "examples/matmul").mkdir(parents=True)
        (folder / "examples/matmul/matmul_12.cuh").write_text(FAST_CU)
    author = ["-c", "user.name=tests", "-c", "user.email=tests@localhost"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "stand-in"]):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    return tmp_path


REFUSED = {
    "": "FAST_CU=folder .* DEEPGEMM=folder",
    "FAST_CU=steps": "FAST_CU=steps is no clone",
    "FAST_CU={clone}/inside": "is no clone",  # git would name the commit around it
}


@pytest.mark.parametrize("words", REFUSED)
def test_rivals_are_refused(words, clone):
    said, status = make(f"RIVALS_IN={clone}", "rivals", *words.format(clone=clone).split())
    assert status == 2 and said.count("\n") == 1 and re.search(REFUSED[words], said), said


@pytest.mark.needs("harness/libharness.a")
@pytest.mark.nvcc
def test_adapter_names_its_clones_commit(clone):
    program = clone / "steps" / "v-fast-cu-12"
    said, status = make(f"RIVALS_IN={clone}", f"FAST_CU={clone}", program)
    assert status == 0, said
    head = call("git", "-C", clone, "rev-parse", "--short", "HEAD").stdout.strip()
    assert head and f"commit {head}" in call(program, "--help").stdout


# ---------------------------------------------------------------- parts for energy


@pytest.mark.needs("energy/parts")
@pytest.mark.nvcc
def test_parts_multiply():
    """The emulator cannot see what ptxas leaves out: a wgmma whose sums nothing reads. As cuobjdump prints
    sm_90's machine code, the lowest 16 of an instruction's 128 bits are the operation and its predicate,
    and bits 53 to 57 the columns of an HGMMA in eights. Each kernel has 8 for a block of columns."""
    data, found = (BUILD / "energy" / "parts.o").read_bytes(), Counter()
    for begin in (0, 8):  # code is aligned to 8 bytes or to 16
        for (low,) in struct.iter_unpack("<Q8x", data[begin : begin + (len(data) - 8) // 16 * 16]):
            found[8 * ((low >> 53 & 31) + 1)] += low & 0xFFFF in (0x79F0, 0x7DF0)
    assert +found == {200: 10 * 8, 40: 5 * 8, 104: 8, 96: 8}
