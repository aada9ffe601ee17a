#!/usr/bin/env python3
"""The PTX of each rung (build/ptx/, made by make) holds the instructions that its idea names.

A rung keeps what the rungs below it taught, so the table says only where an instruction appears
(FROM) and, where that means something, where it is left behind again (UNTIL, inclusive); one that
comes back has another row. In all other rungs of the track the instruction must be absent.
"""

import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAST = "v18"  # of its track
A_LAST = "a06"
T_LAST = "t08"
NONE = "t00"  # below all: no rung of the track has it
RUNGS = [
    f"{last[0]}{number:02}"
    for last in (LAST, A_LAST, T_LAST)
    for number in range(1, int(last[1:]) + 1)
]

# (FROM, UNTIL, what, regular expression that some line of PTX must match)
TABLE = [
    ("a01", "a01", "WMMA", r"wmma\.mma\.sync\.aligned\.\S*m16n16k16\.f32\.f32"),
    (
        "a02",
        A_LAST,
        "mma m16n8k16 of fp16",
        r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f16\.f16\.f16",
    ),
    ("a03", A_LAST, "ldmatrix", r"ldmatrix\.sync\.aligned\.m8n8\.x4\.shared"),
    ("a05", A_LAST, "cp.async past the L1", r"cp\.async\.cg\.shared\.global"),
    ("a05", A_LAST, "groups of copies", r"cp\.async\.commit_group"),
    ("a05", A_LAST, "waits for all copies", r"cp\.async\.wait_(group 0|all)"),
    ("a06", A_LAST, "waits that leave copies on their way", r"cp\.async\.wait_group [1-9]"),
    ("v01", "v01", "16-byte loads by threads", r"ld\.global(\.nc)?\.(v4\.[ubf]32|v2\.[ubf]64)"),
    ("v01", "v01", "fp32 multiply-adds", r"fma\.rn\.f32"),
    ("v02", LAST, "wgmma", r"wgmma\.mma_async\.sync\.aligned"),
    ("v02", "v02", "wgmma m64n64k16", r"wgmma\S*\.m64n64k16\.f32\.bf16\.bf16"),
    ("v03", "v04", "wgmma m64n128k16", r"wgmma\S*\.m64n128k16\.f32\.bf16\.bf16"),
    ("v05", "v14", "wgmma m64n256k16", r"wgmma\S*\.m64n256k16\.f32\.bf16\.bf16"),
    ("v02", LAST, "2-D TMA loads", r"cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global"),
    ("v02", LAST, "expect_tx", r"mbarrier\.arrive\.expect_tx"),
    ("v02", LAST, "barrier-init fence", r"fence\.mbarrier_init\.release\.cluster"),
    ("v02", LAST, "tensor maps as kernel parameters", r"\.param \.align (64|128) \.b8 "),
    ("v05", LAST, "registers given away", r"setmaxnreg\.dec\.sync\.aligned"),
    ("v05", LAST, "registers taken", r"setmaxnreg\.inc\.sync\.aligned"),
    ("v02", "v06", "waits on a token", r"mbarrier\.try_wait\.shared"),
    ("v07", LAST, "waits on a parity", r"mbarrier\.try_wait\.parity"),
    ("v08", "v08", "multicast", r"cp\.async\.bulk\.tensor\..*\.multicast::cluster"),
    ("v08", "v08", "addresses in a peer CTA", r"mapa\.shared::cluster"),
    ("v08", "v08", "arrivals at a peer's barrier", r"mbarrier\.arrive\S*\.shared::cluster"),
    ("v08", "v08", "cluster barrier, arrive", r"barrier\.cluster\.arrive"),
    ("v08", "v08", "cluster barrier, wait", r"barrier\.cluster\.wait"),
    ("v01", "v09", "results stored by threads", r"st\.global\."),
    ("v10", LAST, "TMA stores", r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta\S*bulk_group"),
    ("v10", LAST, "async proxy fence", r"fence\.proxy\.async"),
    ("v10", LAST, "wait until the store has read", r"cp\.async\.bulk\.wait_group\.read"),
    ("v14", LAST, "lines that leave the L2 first", r"createpolicy\.fractional\.L2::evict_first"),
    ("v14", LAST, "loads with a hint", r"bulk\.tensor\.2d\.shared\S*L2::cache_hint"),
    ("v14", LAST, "stores with a hint", r"bulk\.tensor\.2d\.global\S*L2::cache_hint"),
    ("v15", LAST, "wgmma m64n200k16", r"wgmma\S*\.m64n200k16\.f32\.bf16\.bf16"),
    ("v17", LAST, "lets the next launch begin", r"griddepcontrol\.launch_dependents"),
    ("v17", LAST, "waits for the launch before", r"griddepcontrol\.wait"),
    ("v18", LAST, "wgmma m64n64k16", r"wgmma\S*\.m64n64k16\.f32\.bf16\.bf16"),
    ("v18", LAST, "wgmma m64n128k16", r"wgmma\S*\.m64n128k16\.f32\.bf16\.bf16"),
    ("v18", LAST, "wgmma m64n256k16", r"wgmma\S*\.m64n256k16\.f32\.bf16\.bf16"),
    ("v12", LAST, "stmatrix of four matrices", r"stmatrix\.sync\.aligned\.m8n8\.x4\.shared"),
    ("v16", LAST, "stmatrix of two matrices", r"stmatrix\.sync\.aligned\.m8n8\.x2\.shared"),
    ("t01", T_LAST, "2-D TMA loads", r"cp\.async\.bulk\.tensor\.2d\.shared::cluster\.global"),
    ("t01", T_LAST, "expect_tx", r"mbarrier\.arrive\.expect_tx"),
    ("t01", T_LAST, "barrier-init fence", r"fence\.mbarrier_init\.release\.cluster"),
    ("t01", T_LAST, "waits on a parity", r"mbarrier\.try_wait\.parity"),
    ("t01", T_LAST, "tensor maps as kernel parameters", r"\.param \.align (64|128) \.b8 "),
    ("t01", T_LAST, "async proxy fence", r"fence\.proxy\.async"),
    ("t01", T_LAST, "TMA stores", r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta\S*bulk_group"),
    ("t01", T_LAST, "wait until the store has read", r"cp\.async\.bulk\.wait_group\.read"),
    ("t01", "t01", "words of int32", r"(ld|st)\.shared\.[ub]32"),
    ("t02", T_LAST, "words of fp32", r"(ld|st)\.shared\.(v4\.)?[fb]32"),
    ("t05", T_LAST, "16-byte shared accesses", r"st\.shared\.v4\.[fb]32"),
    ("t08", T_LAST, "evict-last loads", r"createpolicy\.fractional\.L2::evict_last"),
    ("t01", NONE, "words moved past TMA", r"(ld|st)\.global"),
]

# (FROM, UNTIL, what, expression, at least so many lines): a ring has full and empty barriers.
COUNTS = [("v04", LAST, "full and empty barriers", r"mbarrier\.init", 2)]


def instructions(text):
    """The lines of PTX without blank ones, comments (with -lineinfo they quote the source) and places
    in the source."""
    lines = [line for line in text.splitlines() if line.strip()]
    return [line for line in lines if not line.lstrip().startswith(("//", ".loc"))]


def matches(lines, expression):
    pattern = re.compile(expression)
    return sum(pattern.search(line) is not None for line in lines)


def expected_of(name):
    """Whether the rung has what its track's rows name: (what, expression) -> True or False."""
    expected = {}
    for first, last, what, expression in TABLE:
        if first[0] == name[0]:
            here = first <= name <= last
            expected[what, expression] = expected.get((what, expression), False) or here
    return expected


def test_rung(name, lines):
    """Prints a case for every row of the tables that says something about the rung."""
    good = True
    for (what, expression), expected in expected_of(name).items():
        found = matches(lines, expression) > 0
        verb = "has" if expected else "lacks"
        why = "" if found == expected else f": {'none' if expected else 'some'} found: {expression}"
        print(f"{'not ok' if why else 'ok'} - {name} {verb} {what}{why}")
        good &= not why
    for first, last, what, expression, least in COUNTS:
        if first <= name <= last:
            count = matches(lines, expression)
            why = "" if count >= least else f": {count} of {least} found: {expression}"
            print(f"{'not ok' if why else 'ok'} - {name} has {what}{why}")
            good &= not why
    for what, wrong in (
        ("makes no policy in a loop that loads", policies_in_loads(lines)),
        ("reconverges before aligned barriers", unconverged(lines)),
    ):
        print(f"not ok - {name} {what}: {wrong[0].strip()}" if wrong else f"ok - {name} {what}")
        good &= not wrong
    return good


def loops(lines):
    """(first line, last line) of every loop: a label, and a branch back to it."""
    labels = {line[:-1]: at for at, line in enumerate(lines) if re.fullmatch(r"\$L\w+:", line)}
    branches = [(re.search(r"\bbra\S*\s+(\$L\w+);", line), at) for at, line in enumerate(lines)]
    back = [(labels.get(found[1], at), at) for found, at in branches if found]
    return [(first, last) for first, last in back if first < last]


def policies_in_loads(lines):
    """Policies that are made anew for every load: in an innermost loop that loads by them."""
    found = []
    for first, last in loops(lines):
        inner = any(first <= a and b <= last and (a, b) != (first, last) for a, b in loops(lines))
        body = lines[first:last]
        if not inner and matches(body, r"bulk\.tensor\S*shared::cluster\S*L2::cache_hint"):
            found += [line for line in body if "createpolicy" in line]
    return found


def unconverged(lines):
    """Aligned barriers of a part of the threads without a bar.warp.sync before them, or with
    something between the two that may take lanes apart again."""
    barrier = re.compile(r"barrier\.cluster\.arrive\S*aligned|bar\.sync \S+, \S+;")
    together, found = False, []
    for line in lines:
        if barrier.search(line) and not together:
            found.append(line)
        if "bar.warp.sync" in line:
            together = True
        elif re.search(r"\bbra\b|^\s*@|:$", line):
            together = False
    return found


def have_nvcc():
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("nvcc") or os.access(f"{home}/bin/nvcc", os.X_OK)


def main():
    good = True
    for name in RUNGS:
        file = ROOT / "build" / "ptx" / f"{name}.ptx"
        if file.exists():
            good &= test_rung(name, instructions(file.read_text()))
        elif not have_nvcc():
            print(f"skip - {name}: its PTX needs nvcc")
        else:
            print(f"not ok - {name}: {file.relative_to(ROOT)} was not built")
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
