#!/usr/bin/env python3
"""Inline PTX on the emulator: what translate/ptx.py makes of asm statements, and what it names.

Three programs are translated, compiled and run: one instruction after the other in one thread, whole
kernels, and kernels with one mistake each, of which the emulator has to report the right one. What
the translator does not know has to be named with its line where it is executed. Prints one line per case; exits 1 if any
failed.
"""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools import BUILD, ROOT, case, exit_status, in_parallel, skip

from emulator.translate import instructions, ptx

PROGRAMS = ROOT / "emulator" / "tests"
WORK = BUILD / "tests" / "emulate_ptx"
RUNGS = [path.name.partition("_")[0] for path in sorted((ROOT / "steps").glob("*.cu"))]
POLICIES = ("eager", "lazy", "newest-first", "late-reads", "late-loads", "random 1", "random 2")
LIMIT = 120  # seconds for one run

# ---------------------------------------------------------------- one instruction


# In the order of translate/instructions.py: constraints of results and, in brackets, of inputs, which
# are the operands %0, %1, ... in this order; the inputs' values -> the results: the instructions.
ONES = r"""
# Integer Arithmetic Instructions
r(rr) 0xFFFFFFFF 2 -> 1: add.u32 %0, %1, %2;
r(r) 3 -> 0xFFFFFFFC: add.s32 %0, %1, -7;
l(l) 5 -> 0x100000005: add.u64 %0, %1, 0x100000000;
r(rr) 3 5 -> 0xFFFFFFFE: sub.s32 %0, %1, %2;
r(rr) 0x10001 0x10001 -> 0x20001: mul.lo.u32 %0, %1, %2;
l(rr) 0xFFFFFFFF 2 -> 0x1FFFFFFFE: mul.wide.u32 %0, %1, %2;
l(rr) 0xFFFFFFFF 2 -> 0xFFFFFFFFFFFFFFFE: mul.wide.s32 %0, %1, %2;
r(rr) 0xFFFFFFFF 2 -> 1: mul.hi.u32 %0, %1, %2;
r(rrr) 3 5 7 -> 22: mad.lo.s32 %0, %1, %2, %3;
l(rl) 0x80000000 1 -> 0x200000001: mad.wide.u32 %0, %1, 4, %2;
r(rr) 100 7 -> 14: div.u32 %0, %1, %2;
r(rr) 0xFFFFFFFF 7 -> 0xFFFFFFFF: rem.s32 %0, %1, %2;
rr(rr) 0xFFFFFFFF 1 -> 0xFFFFFFFF 1: min.s32 %0, %2, %3; min.u32 %1, %2, %3;
rr(rr) 0xFFFFFFFF 1 -> 1 0xFFFFFFFF: max.s32 %0, %2, %3; max.u32 %1, %2, %3;
r(r) 1 -> 0xFFFFFFFF: neg.s32 %0, %1;
r(r) 0xF0F -> 8: popc.b32 %0, %1;
r(r) 0xFFFF -> 16: clz.b32 %0, %1;
r(r) 1 -> 0x80000000: brev.b32 %0, %1;
r(r) 0xABCDEF12 -> 15: bfe.u32 %0, %1, 8, 4;
r(rr) 5 0xFFFF -> 0xF5FF: bfi.b32 %0, %1, %2, 8, 4;
rr(r) 0x1F -> 0xFFFFFFFF 0x1F: szext.clamp.s32 %0, %2, 5; szext.clamp.u32 %1, %2, 40;
# Floating Point Instructions
f(ff) 1.5 2.25 -> 3.75: add.f32 %0, %1, %2;
f(f) 1.5 -> 0.5: sub.rn.f32 %0, %1, 0f3F800000;
f(f) 1.5 -> 3: mul.ftz.f32 %0, %1, 2.0;
f(fff) 3 5 7 -> 22: fma.rn.f32 %0, %1, %2, %3;
f(f) -2 -> 2: neg.f32 %0, %1; abs.f32 %0, %0;
f(f) -2 -> 0: max.f32 %0, %1, 0f00000000;
f(f) 4 -> 0.25: rcp.rn.f32 %0, %1;
ff(f) 4 -> 16 2: ex2.approx.ftz.f32 %0, %2; lg2.approx.f32 %1, %2;
ff(f) 4 -> 0.25 0.5: rcp.approx.ftz.f32 %0, %2; rsqrt.approx.f32 %1, %2;
f(ff) 3 2 -> 1.5: div.full.f32 %0, %1, %2;
f(f) 0 -> 0: tanh.approx.f32 %0, %1;
# Half Precision Floating Point Instructions
r(r) 0x3C004000 -> 0x40004600: fma.rn.f16x2 %0, %1, %1, %1; add.f16x2 %0, %0, 0; fma.rn.f16x2 %0, %1, %1, %1;
r(r) 0x3F80C000 -> 0x40004000: fma.rn.bf16x2 %0, %1, %1, %1;
r(r) 0x3F80C000 -> 0x40000000: { .reg .b32 one; mov.b32 one, 0x3F803F80; fma.rn.relu.bf16x2 %0, %1, one, one; }
rr(rr) 0x3C004000 0x40003C00 -> 0x40004000 0x3C003C00: mul.f16x2 %0, %2, %3; min.f16x2 %1, %2, %3;
# Comparison and Selection Instructions
rr(rr) 0xFFFFFFFF 1 -> 1 0: { .reg .pred p, q; setp.lt.s32 p, %2, %3; setp.lt.u32 q, %2, %3; selp.u32 %0, 1, 0, p; selp.b32 %1, 1, 0, q; }
rr(rr) 7 7 -> 1 0: { .reg .pred p, q; setp.hs.u32 p|q, %2, %3; selp.u32 %0, 1, 0, p; selp.u32 %1, 1, 0, q; }
rr(r) 3 -> 0 1: { .reg .pred p, q; setp.eq.u32 p, %2, 3; setp.ne.and.u32 q, %2, 3, p; selp.u32 %0, 1, 0, q; setp.ne.xor.u32 q, %2, 3, p; selp.u32 %1, 1, 0, q; }
r(f) nan -> 0: { .reg .pred p; setp.ne.f32 p, %1, %1; selp.u32 %0, 1, 0, p; }
# Logic and Shift Instructions
r(rr) 0xFF0F 0x0FFF -> 0xF0F: and.b32 %0, %1, %2;
r(r) 1 -> 0x81: or.b32 %0, %1, 0x80;
l(ll) 0x10000000000 1 -> 0x10000000001: xor.b64 %0, %1, %2;
r(r) 0 -> 0xFFFFFFFF: not.b32 %0, %1;
r(r) 2 -> 11: { .reg .pred p, q, r; setp.eq.u32 p, %1, 1; setp.eq.u32 q, %1, 2; or.pred r, p, q; not.pred p, r; @!p mov.u32 %0, 11; @p mov.u32 %0, 22; }
r(rrr) 12 10 1 -> 9: lop3.b32 %0, %1, %2, %3, 0xEA;
rr(rr) 3 4 -> 48 0: shl.b32 %0, %2, %3; shl.b32 %1, %2, 32;
rr(rr) 0x80000001 0xC -> 0x19 0x64000000: shf.l.wrap.b32 %0, %2, %3, 33; shf.r.clamp.b32 %1, %2, %3, 5;
rr(r) 0x80000000 -> 0x8000000 0xFFFFFFFF: shr.u32 %0, %2, 4; shr.s32 %1, %2, 40;
# Data Movement and Conversion Instructions
r(f) 1 -> 0x3F800000: mov.b32 %0, %1;
l(rr) 1 2 -> 0x200000001: mov.b64 %0, {%1, %2};
rr(l) 0x200000001 -> 1 2: mov.b64 {%0, %1}, %2;
r(r) 0x12345678 -> 0x56781234: { .reg .b16 %%h<2>; mov.b32 {%%h0, %%h1}, %1; mov.b32 %0, {%%h1, %%h0}; }
r(rr) 0x44332211 0x88776655 -> 0x66552211: prmt.b32 %0, %1, %2, 0x5410;
rr(r) 7 -> 7 0: { .reg .pred p; shfl.sync.down.b32 %0|p, %2, 0, 31, 1; shfl.sync.up.b32 %1|p, %2, 1, 0, 1; selp.b32 %1, 1, 0, p; }
l(r) 0xFFFFFFFF -> 0xFFFFFFFF: cvt.u64.u32 %0, %1;
l(r) 0xFFFFFFFF -> 0xFFFFFFFFFFFFFFFF: cvt.s64.s32 %0, %1;
r(l) 0x1234567890 -> 0x34567890: cvt.u32.u64 %0, %1;
f(r) 0xFFFFFFFF -> -1: cvt.rn.f32.s32 %0, %1;
rr(f) -2.5 -> 0xFFFFFFFE 0: cvt.rzi.s32.f32 %0, %2; cvt.rni.u32.f32 %1, %2;
r(ff) 1 -2 -> 0x3C00C000: cvt.rn.f16x2.f32 %0, %1, %2;
r(ff) 1e6 -1e6 -> 0x7BFFFBFF: cvt.rn.satfinite.f16x2.f32 %0, %1, %2;
r(ff) 1 -2 -> 0x3F800000: cvt.rn.relu.bf16x2.f32 %0, %1, %2;
r(f) inf -> 0x7F7F7BFF: { .reg .b16 h<2>; cvt.rn.satfinite.f16.f32 h0, %1; cvt.rn.satfinite.bf16.f32 h1, %1; mov.b32 %0, {h0, h1}; }
r(ff) 1 -2 -> 0x3C00C000: { .reg .b16 e; cvt.rn.satfinite.e4m3x2.f32 e, %1, %2; cvt.rn.f16x2.e4m3x2 %0, e; }
r(ff) 1 -2 -> 0x3F80C000: cvt.rn.bf16x2.f32 %0, %1, %2;
f(f) 0.5 -> 0.5: { .reg .b16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }
l() -> 7: { .reg .b64 p; createpolicy.fractional.L2::evict_first.b64 p, 1.0; mov.b64 %0, 7; }
# What is around instructions: operands, scopes, comments, jumps, special registers.
+r(r) 40 2 -> 42: add.u32 %0, %0, %1;
rr() -> 0 1: mov.u32 %0, %%tid.x; mov.u32 %1, %ntid.x;
rr() -> 0 32: mov.u32 %0, %%laneid; mov.u32 %1, WARP_SZ;
rr() -> 0 1: mov.u32 %0, %cluster_ctarank; mov.u32 %1, %%cluster_nctarank;
rr() -> 0 1: mov.u32 %0, %clusterid.x; mov.u32 %1, %%lanemask_le;
r() -> 5: // a comment; with a semicolon\n mov.u32 /* and %9 one */ %0, 5;
rr() -> 2 1: { .reg .u32 a; mov.u32 a, 1; { .reg .u32 a; mov.u32 a, 2; mov.u32 %0, a; } mov.u32 %1, a; }
r(r) 4 -> 10: { .reg .pred p; .reg .u32 i; mov.u32 i, 0; mov.u32 %0, 0; loop_%=: add.u32 i, i, 1; add.u32 %0, %0, i; setp.lt.u32 p, i, %1; @p bra loop_%=; bra.uni $L_end; mov.u32 %0, 0; $L_end: }
r(r) 9 -> 9: { .reg .b32 %r<3>; mov.b32 %r2, %1; mov.b32 %0, %r2; }
r(n) 13 -> 13: mov.u32 %0, %1;
l(l) 0x123456789 -> 0x123456789: mov.b64 %0, %1;
r(h) 0xFFFE -> 0xFFFE: { .reg .b16 h; mov.b16 h, %1; cvt.u32.u16 %0, h; }
"""


class One(NamedTuple):
    """A row of the table, its values as the bits that are stored."""

    results: str
    inputs: str
    values: list[int]
    expected: tuple[int, ...]
    text: str


def bits(constraint: str, value: str) -> int:
    return (
        struct.unpack("<I", struct.pack("<f", float(value)))[0]
        if constraint == "f"
        else int(value, 0)
    )


def rows() -> Iterator[One]:
    for line in re.findall("^[^#\n].*", ONES, re.MULTILINE):
        kinds, text = line.split(": ", 1)
        results, inputs, values, expected = re.fullmatch(
            r"(.+)\((.*)\)(.*) -> (.*)", kinds
        ).groups()
        given = (
            results[1:] if results[0] == "+" else ""
        ) + inputs  # a result that is read comes first
        values = [bits(*pair) for pair in zip(given, values.split())]
        expected = tuple(bits(*pair) for pair in zip(results.lstrip("+"), expected.split()))
        yield One(results, inputs, values, expected, text)


TYPES = {"r": "unsigned", "l": "unsigned long long", "f": "float", "h": "unsigned short"}


def literal(constraint: str, value: int) -> str:
    if constraint == "f":
        return f"__uint_as_float({value}u)"
    return f"({TYPES.get(constraint, 'int')}){value}{'ull' if constraint == 'l' else ''}"


def ones_program() -> str:
    """One kernel that executes all of ONES and stores their results."""
    body, at = [], 0
    for number, one in enumerate(rows()):
        results = one.results.lstrip("+")
        tied = one.results.startswith("+")
        values = list(one.values)
        lines = []
        for i, kind in enumerate(results):
            initial = literal(kind, values.pop(0)) if tied else "0"
            lines.append(f"    {TYPES[kind]} r{i} = {initial};")
        sign = "+" if tied else "="
        outputs = ", ".join(f'"{sign}{kind}"(r{i})' for i, kind in enumerate(results))
        inputs = ", ".join(f'"{k}"({literal(k, v)})' for k, v in zip(one.inputs, values))
        lines.append(f'    asm volatile("{one.text}" : {outputs} : {inputs});')
        for i, kind in enumerate(results):
            bits = f"__float_as_uint(r{i})" if kind == "f" else f"r{i}"
            lines.append(f"    out[{at + i}] = {bits};")
        body.append(f"__device__ void one_{number}(unsigned long long *out) {{")
        body += [*lines, "}"]
        at += len(results)
    calls = "".join(f" one_{number}(out);" for number in range(sum(1 for _ in rows())))
    return "\n".join(
        [
            '#include "launches.h"',
            *body,
            f"__global__ void all(unsigned long long *out) {{{calls} }}",
            "int main() {",
            f"    print(run(all, {{1, 1}}, {at}));",
            "}",
            "",
        ]
    )


# ---------------------------------------------------------------- what is not known

UNKNOWN = [
    ('asm("frobnicate.b32 %0, 1;" : "=r"(x));', [(1, "`frobnicate.b32 %0, 1`")]),
    ('asm("mov.u32 %0,\\n"\n"wgmma_nothing;" : "=r"(x));', [(1, "the name `wgmma_nothing`")]),
    (
        'f();\nasm("{ .reg .pred p;\\n"\n    "  tcgen05.alloc p;\\n"\n    "}");',
        [(3, "tcgen05.alloc")],
    ),
    ('asm("mov.u32 %0, 1;" : "=q"(x));', [(1, 'constraint "=q"')]),
    ('asm("mov.u32 %3, 1;" : "=r"(x));', [(1, "the operand %3")]),
    ('asm("bra nowhere;");', [(1, "label `nowhere`")]),
    ('asm(".shared .b32 x;");', [(1, "the directive `.shared .b32 x`")]),
    ('asm(".reg .f8 x;");', [(1, "the directive `.reg .f8 x`")]),
    ("asm(TEXT);", [(1, "`TEXT`")]),
    ('asm volatile goto("bra %l0;" :::: there);', [(1, "asm goto")]),
    ('asm("@p mov.u32 %0, 1;" : "=r"(x));', [(1, "the register `p`")]),
    ('asm("{ mov.u32 %0, 1;" : "=r"(x));', [(1, "not closed")]),
    ('asm("mov.u32 %0, %%envreg3;" : "=r"(x));', [(1, "the name `%envreg3`")]),
    ('asm("add.u32 %0, 1;" : "=r"(x));', [(1, "these operands of `add.u32 %0, 1`")]),
    (
        'asm("wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2 {%0}, %1, %2, p, 1, 1;" :);',
        [(1, "the instruction `wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2")],
    ),
    (
        'asm("frobnicate.b32 %0, 1;" : "=r"(x));\nasm("unheard.of;");',
        [(1, "frobnicate"), (2, "unheard.of")],
    ),
    ('// asm("frobnicate;");\n/* asm("frobnicate;"); */ const char *s = "asm(1)";', []),
    ('# 7 "system.h" 3\nasm("frobnicate;");\n# 20 "user.cu" 2\nasm("odd;");', [(20, "odd")]),
    ('asm volatile("" ::: "memory");', []),
    ('#ifndef A\n#define A\nasm("frobnicate;");\n#endif', [(3, "frobnicate")]),
    ('#if X\n#endif\nasm("frobnicate;");', [(3, "frobnicate")]),
]


def unknown_in(translated: str) -> list[tuple[int, str]]:
    """Line and name of what the translator did not know."""
    calls = re.findall(r'::unknown\("[^"]*", (\d+), ("(?:\\.|[^"\\])*")\)', translated)
    return [(int(line), json.loads(what)) for line, what in calls]


def check_unknown(text: str, expected: list[tuple[int, str]]) -> str:
    found = unknown_in(ptx.translate(text, "user.cu"))
    fits = len(found) == len(expected) and all(
        line == at and word in what for (line, what), (at, word) in zip(found, expected)
    )
    return "" if fits else f"{found}, not {expected}"


def check_calls() -> str:
    """What the table calls is there."""
    header = (ROOT / "emulator/include/emulator/ptx.h").read_text()
    named = " ".join(code for _, _, code in instructions.ROWS)
    for group, one in {"round": "rni", "how": "up", "op": "add", "way": "l", "relu_": ""}.items():
        named = named.replace("_{" + group + "}", f"_{one}").replace("{" + group + "}", one)
    named += " ".join(instructions.SPECIAL.values())
    calls = set(re.findall(r"::emulator::ptx::(\w+)", named))
    return ", ".join(sorted(call for call in calls if not re.search(rf"\b{call}\b", header)))


def without_macros(text: str) -> str:
    """A file of make standalone, in which macros write the wgmmas, with these wgmmas."""
    return re.sub(
        r"^#define NAMES_8 .*^WGMMA\w*\(256,[^\n]*$",
        lambda found: (
            subprocess.run(
                ["g++", "-E", "-P", "-x", "c++", "-"],
                input=found.group(),
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        ),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )


def check_standalone() -> str:
    """The rungs' own PTX, as make standalone writes it, is all known."""
    for rung in RUNGS:
        source = BUILD / "standalone" / f"{rung}.cu"
        if not source.exists():
            return f"{source} was not written"
        found = unknown_in(ptx.translate(without_macros(source.read_text()), source.name))
        if found:
            return f"{source.name}: {found}"
    return ""


def check_lines() -> str:
    """Every line of a translated file is where it was."""
    for source in sorted(PROGRAMS.glob("*.cu")):
        text = source.read_text()
        translated = ptx.translate(text, source.name)
        if translated.count("\n") != text.count("\n"):
            return f"{source.name} has {translated.count(chr(10))} lines, not {text.count(chr(10))}"
        for number, (old, new) in enumerate(zip(text.splitlines(), translated.splitlines()), 1):
            if (
                old.startswith(("__global__", "int main", "#define"))
                and old.split()[:2] != new.split()[:2]
            ):
                return f"{source.name}:{number}: {new}"
    return ""


# ---------------------------------------------------------------- programs

FLAGS = [
    "-std=c++20",
    "-O2",
    "-g1",
    "-w",
    "-fsanitize=thread",
    "-fno-tree-vectorize",
    "-fno-tree-slp-vectorize",
    "-fno-store-merging",
    "-fno-tree-sra",
    "--param=tsan-distinguish-volatile=1",
    "-fno-strict-aliasing",
    "-Wno-psabi",
]


def build(name: str, text: str) -> Path:
    source, program = WORK / f"{name}.cu", WORK / name
    source.write_text(f'#line 1 "{name}.cu"\n' + ptx.translate(text, f"{name}.cu"))
    folders = ("common/device/emulated", "common", "emulator/include", "emulator/tests")
    include = [f"-I{ROOT / folder}" for folder in folders]
    include += ["-isystem", f"{ROOT}/emulator/include/toolkit", "-include", "emulator/ptx.h"]
    command = ["g++", *FLAGS, *include, "-no-pie", "-x", "c++", str(source)]
    command += ["-x", "none", "-o", str(program)]
    command += [str(BUILD / "emulator" / "libemulator.a"), "-lm"]
    subprocess.run(command, check=True)
    return program


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess:
    """In the folder of its source, so that reports show its lines."""
    command = [str(program), *arguments]
    return subprocess.run(
        command, cwd=PROGRAMS, capture_output=True, text=True, timeout=LIMIT, check=False
    )


def check_ones(program: Path) -> None:
    result = run(program)
    numbers = [int(word) for word in result.stdout.split()]
    case("instructions: the program runs", result.stderr if result.returncode else "")
    at = 0
    for one in rows():
        count = len(one.expected)
        got = tuple(numbers[at : at + count])
        at += count
        why = "" if got == one.expected else f"{[hex(g) for g in got]}"
        case(f"`{' '.join(one.text.split())}`", why)


def listed(program: Path) -> list[str]:
    return run(program, "--list").stdout.split()


def check_kernel(program: Path, kernel: str) -> tuple[str, str]:
    for policy in POLICIES:
        result = run(program, kernel, *policy.split())
        if result.returncode != 0:
            return kernel, f"{policy}: {(result.stdout + result.stderr).strip()[:600]}"
    return kernel, ""


def check_mistake(program: Path, kernel: str, wanted: str) -> tuple[str, str]:
    said = []
    for policy in POLICIES:
        result = run(program, kernel, *policy.split())
        output = result.stdout + result.stderr
        if result.returncode == 0:
            said.append(f"{policy}: nothing")
        elif not re.search(wanted, output):
            return kernel, f"{policy}: {output.strip()[:600]}"
        else:
            return kernel, ""
    return kernel, "; ".join(said)


def mistakes_in(text: str) -> dict[str, str]:
    """What a report must say, by kernel: the comments `// report: WORDS` before each."""
    return {
        name: words for words, name in re.findall(r"// report: (.*)\n__global__ void (\w+)", text)
    }


def main() -> int:
    WORK.mkdir(parents=True, exist_ok=True)
    for text, expected in UNKNOWN:
        case(f"unknown: `{' '.join(text.split())}`", check_unknown(text, expected))
    case("what the table calls is there", check_calls())
    if RUNGS:
        case("the rungs' PTX is known", check_standalone())
    else:
        skip("the rungs' PTX is known", "there are no rungs here")
    case("lines stay where they are", check_lines())
    texts = {"ones": ones_program()}
    texts.update((name, (PROGRAMS / f"{name}.cu").read_text()) for name in ("kernels", "mistakes"))
    programs = dict(zip(texts, in_parallel(lambda item: build(*item), texts.items())))
    check_ones(programs["ones"])
    kernels, mistakes = (listed(programs[name]) for name in ("kernels", "mistakes"))
    written = re.findall(r'^    \{"(\w+)", ', texts["kernels"], re.MULTILINE)
    case("all kernels are listed", "" if kernels and kernels == written else f"listed: {kernels}")
    for kernel, why in in_parallel(lambda k: check_kernel(programs["kernels"], k), kernels):
        case(f"kernel: {kernel}", why)
    wanted = mistakes_in(texts["mistakes"])
    why = ", ".join({*wanted} ^ {*mistakes}) if mistakes else "none is listed"
    case("every mistake says what is to be reported", why)
    check = lambda item: check_mistake(programs["mistakes"], *item)
    for kernel, why in in_parallel(check, wanted.items()):
        case(f"reported: {kernel}", why)
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
