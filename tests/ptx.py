#!/usr/bin/env python3
"""The PTX of each rung (build/ptx/, made by make) holds the instructions that its idea names.

A rung keeps what the rungs below it taught, so the table says only where an instruction appears
(FROM) and, where that means something, the last one that has it (UNTIL); one that comes back has
another span. In all other rungs of the track the instruction must be absent.
"""

import re
import sys

from tools import BUILD, case, emulated, exit_status, have_nvcc, skip

# (rungs, what, regular expression that some line of PTX must match). Rungs are FROM-UNTIL, FROM- to
# the top of the track, or one; t00 and f00 are none of their tracks.
TABLE = [
    ("a01", "WMMA", r"wmma\.mma\.sync\.aligned\.\S*m16n16k16\.f32\.f32"),
    ("a02-", "mma m16n8k16 of fp16", r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f16\.f16\.f16"),
    ("a03-", "ldmatrix", r"ldmatrix\.sync\.aligned\.m8n8\.x4\.shared"),
    ("a05-", "cp.async past the L1", r"cp\.async\.cg\.shared\.global"),
    ("a05-", "groups of copies", r"cp\.async\.commit_group"),
    ("a05-", "waits for all copies", r"cp\.async\.wait_(group 0|all)"),
    ("a06-", "waits that leave copies on their way", r"cp\.async\.wait_group [1-9]"),
    (
        "v01 v20-v21 v23-",
        "16-byte loads by threads",
        r"ld\.global(\.nc)?\.(v4\.[ubf]32|v2\.[ubf]64)",
    ),
    ("v01", "fp32 multiply-adds", r"fma\.rn\.f32"),
    ("v02-", "wgmma", r"wgmma\.mma_async\.sync\.aligned"),
    ("v02 v18-", "wgmma m64n64k16", r"wgmma\S*\.m64n64k16\.f32\.bf16\.bf16"),
    ("v03-v04 v18 v22-", "wgmma m64n128k16", r"wgmma\S*\.m64n128k16\.f32\.bf16\.bf16"),
    ("v05-v14 v18 v22-", "wgmma m64n256k16", r"wgmma\S*\.m64n256k16\.f32\.bf16\.bf16"),
    ("v02- t01-", "2-D TMA loads", r"cp\.async\.bulk\.tensor\.2d\.shared::c\w+\.global"),
    ("v02- t01-", "expect_tx", r"mbarrier\.arrive\.expect_tx"),
    ("v02- t01-", "barrier-init fence", r"fence\.mbarrier_init\.release\.cluster"),
    ("v02- t01-", "tensor maps as kernel parameters", r"\.param \.align (64|128) \.b8 "),
    ("v05-", "registers given away", r"setmaxnreg\.dec\.sync\.aligned"),
    ("v05-", "registers taken", r"setmaxnreg\.inc\.sync\.aligned"),
    ("v02-v06", "waits on a token", r"mbarrier\.try_wait\.shared"),
    ("v07- t01-", "waits on a parity", r"mbarrier\.try_wait\.parity"),
    ("v08 v22-", "multicast", r"cp\.async\.bulk\.tensor\..*\.multicast::cluster"),
    ("v08 v22-", "addresses in a peer CTA", r"mapa\.shared::cluster"),
    ("v24-", "loads from a peer's shared memory", r"ld\.shared::cluster\.v4\.f32"),
    ("v08 v22-", "arrivals at a peer's barrier", r"mbarrier\.arrive\S*\.shared::cluster"),
    ("v08 v22-", "cluster barrier, arrive", r"barrier\.cluster\.arrive"),
    ("v08 v24-", "cluster barrier that orders memory", r"barrier\.cluster\.arrive\.release"),
    ("v22-", "cluster barrier that doesn't", r"barrier\.cluster\.arrive\.relaxed"),
    ("v08 v22-", "cluster barrier, wait", r"barrier\.cluster\.wait"),
    ("v01-v09 v20-v21 v23-", "results or sums stored by threads", r"st\.global\."),
    ("v22-", "a lane elected", r"elect\.sync"),
    ("v10- t01-", "TMA stores", r"cp\.async\.bulk\.tensor\.2d\.global\.shared::cta\S*bulk_group"),
    ("v10- t01-", "async proxy fence", r"fence\.proxy\.async"),
    ("v10- t01-", "wait until the store has read", r"cp\.async\.bulk\.wait_group\.read"),
    ("v14-", "lines that leave the L2 first", r"createpolicy\.fractional\.L2::evict_first"),
    ("v14-", "loads with a hint", r"bulk\.tensor\.2d\.shared\S*L2::cache_hint"),
    ("v14-", "stores with a hint", r"bulk\.tensor\.2d\.global\S*L2::cache_hint"),
    ("v15-v18 v22-", "wgmma m64n200k16", r"wgmma\S*\.m64n200k16\.f32\.bf16\.bf16"),
    ("v17-", "lets the next launch begin", r"griddepcontrol\.launch_dependents"),
    ("v17-", "waits for the launch before", r"griddepcontrol\.wait"),
    ("v12-v18 v22-", "stmatrix of four matrices", r"stmatrix\.sync\.aligned\.m8n8\.x4\.shared"),
    ("v15-v18 v22-", "stmatrix of two matrices", r"stmatrix\.sync\.aligned\.m8n8\.x2\.shared"),
    (
        "v19-v21 v23-",
        "stmatrix that transposes",
        r"stmatrix\.sync\.aligned\.m8n8\.x4\.trans\.shared",
    ),
    ("v20-v21 v23-", "arrivals of CTAs", r"atom\.acq_rel\.gpu\.global\.add"),
    ("f01-f03 f08", "wgmma m64n200k32 of e4m3", r"wgmma\S*\.m64n200k32\.f32\.e4m3\.e4m3"),
    ("f04-f07", "wgmma m64n128k32 of e4m3", r"wgmma\S*\.m64n128k32\.f32\.e4m3\.e4m3"),
    ("f08", "wgmma m64n176k32 of e4m3", r"wgmma\S*\.m64n176k32\.f32\.e4m3\.e4m3"),
    ("f00", "wgmmas of bf16", r"wgmma\S*\.bf16\.bf16"),
    ("f01-f06 f08", "TMA loads with a hint", r"bulk\.tensor\.2d\.shared\S*L2::cache_hint"),
    ("f01-f06 f08", "TMA stores with a hint", r"bulk\.tensor\.2d\.global\S*L2::cache_hint"),
    ("f02", "fp32 additions", r"add\.(rn\.)?(ftz\.)?f32"),
    ("f03-f07", "fp32 multiply-adds", r"fma\.rn\.f32"),
    ("f00", "results stored by threads", r"st\.global\."),
    ("t01", "words of int32", r"(ld|st)\.shared\.[ub]32"),
    ("t02-", "words of fp32", r"(ld|st)\.shared\.(v4\.)?[fb]32"),
    ("t05-", "16-byte shared accesses", r"st\.shared\.v4\.[fb]32"),
    ("t08-", "evict-last loads", r"createpolicy\.fractional\.L2::evict_last"),
    ("t00", "words moved past TMA", r"(ld|st)\.global"),
]


def instructions(text):
    """The lines of PTX without blank ones, comments (with -lineinfo they quote the source) and places
    in the source."""
    lines = [line for line in text.splitlines() if line.strip()]
    return [line for line in lines if not line.lstrip().startswith(("//", ".loc"))]


def matches(lines, expression):
    return [line for line in lines if re.search(expression, line)]


def has(spans, name):
    """Whether the rung is one of these; None if they say nothing about its track."""
    mine = [span.partition("-") for span in spans.split() if span[0] == name[0]]
    within = [first <= name <= (last or ("z" if dash else first)) for first, dash, last in mine]
    return any(within) if mine else None


def test_rung(name, lines):
    text = "\n".join(lines)
    for spans, what, expression in TABLE:
        expected = has(spans, name)
        if expected is not None:
            right = bool(re.search(expression, text, re.MULTILINE)) == expected
            found = f"{'none' if expected else 'some'} found: {expression}"
            case(f"{name} {'has' if expected else 'lacks'} {what}", "" if right else found)
    if has("v04- f01-", name):  # a ring has full and empty barriers
        made = len(matches(lines, r"mbarrier\.init"))
        case(f"{name} has full and empty barriers", "" if made > 1 else f"{made} are initialised")
    wrong = policies_in_loads(lines)
    case(f"{name} makes no policy in a loop that loads", "".join(wrong[:1]).strip())
    wrong = unconverged(lines)
    case(f"{name} reconverges before aligned barriers", "".join(wrong[:1]).strip())


def loops(lines):
    """(first line, last line) of every loop: a label, and a branch back to it."""
    labels = {line[:-1]: at for at, line in enumerate(lines) if re.fullmatch(r"\$L\w+:", line)}
    branches = [(re.search(r"\bbra\S*\s+(\$L\w+);", line), at) for at, line in enumerate(lines)]
    back = [(labels.get(found[1], at), at) for found, at in branches if found]
    return [(first, last) for first, last in back if first < last]


def policies_in_loads(lines):
    """Policies that are made anew for every load: in an innermost loop that loads by them."""
    found, there = [], loops(lines)
    made = [at for at, line in enumerate(lines) if "createpolicy" in line]
    for first, last in there:
        policies = [lines[at] for at in made if first <= at < last]
        inner = (first <= a and b <= last and (a, b) != (first, last) for a, b in there)
        loads = r"bulk\.tensor\.2d\.shared::\S*L2::cache_hint"
        if policies and matches(lines[first:last], loads) and not any(inner):
            found += policies
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


def main():
    for name in emulated.rungs():
        file = BUILD / "ptx" / f"{name}.ptx"
        if file.exists():
            test_rung(name, instructions(file.read_text()))
        elif not have_nvcc():
            skip(name, "its PTX needs nvcc")
        else:
            case(name, f"{file} was not built")
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
