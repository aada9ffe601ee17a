"""What emulator.translate makes of CUDA C++ and of inline PTX, and its command line: values of
instructions, what is unknown and at which line, options, and where reports say that a mistake is.
test_cases.py has whole programs.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from emulator.translate import __main__ as translate
from emulator.translate import cuda, instructions, ptx

ROOT = translate.ROOT
CASES = ROOT / "emulator" / "tests" / "cases"
WORK = translate.BUILD / "emulator" / "tests" / "emulate"
LIBRARY = pytest.mark.needs("emulator/libemulator.a")


RUN = ROOT / "emulator/translate/run"


def emulate(arguments: str, folder: Path, tool: Path = RUN, **more) -> subprocess.CompletedProcess:
    return subprocess.run(
        [tool, *arguments.split()],
        cwd=folder,
        env={**os.environ, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


# ---------------------------------------------------------------- one instruction

# In the order of translate/instructions.txt: constraints of results and, in brackets, of inputs, which
# are the operands %0, %1, ... in this order; the inputs' values -> the results: the instructions.
# Inputs without a value are 256 bytes of memory: S shared, by its shared address, P the same by a
# pointer, G global and 0.
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
r(rrr) 0x3E003D80 0x3E923F58 0x80020002 -> 0x40ED410D: fma.rn.f16x2 %0, %1, %2, %3;
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
# Memory: ld, st, cp.async, red, atom, fences.
rr(G) -> 0 0: ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, _, _}, [%2];
rrr(S) -> 4 3 1: st.shared.v2.b32 [%3], {4, 3};\n\tst.shared::cta.v2.u32 [%3 + 8], {2, 1}; ld.shared.v4.b32 {%0, %1, _, %2}, [%3];
h(S) -> 2: st.shared.u32 [%1], 0x10002; ld.shared.u16 %0, [%1];
r(S) -> 5: { .reg .u64 t, g; cvt.u64.u32 t, %1; cvta.shared.u64 g, t; st.u32 [g], 5; cvta.to.shared.u64 t, g; ld.shared.u32 %0, [t]; }
rr(SGn) 8 -> 5 6: st.global.v4.u32 [%3], {5, 6, 7, 8}; cp.async.ca.shared.global.L2::128B [%2], [%3], %4;\n cp.async.wait_all; ld.shared.v2.u32 {%0, %1}, [%2];
rrr(SGn) 1 -> 5 6 0: st.global.v4.u32 [%4], {5, 6, 7, 8}; cp.async.cg.shared.global [%3], [%4], 16, 8; cp.async.commit_group; cp.async.ca.shared.global [%3+16], [%4], 4; cp.async.commit_group;\ncp.async.wait_group %5;\n ld.shared.v4.u32 {%0, %1, %2, _}, [%3]; cp.async.wait_all;
r(S) -> 5: st.release.cta.shared::cta.u32 [%1], 5; ld.shared::cta.acquire.cta.u32 %0, [%1];
r(G) -> 2: red.release.gpu.global.add.u32 [%1], 2; fence.acq_rel.gpu;\nmembar.gl; ld.volatile.global.u32 %0, [%1];
r(Gr) 63 -> 63: red.global.max.u32 [%1], %2; red.global.max.u32 [%1], 5; ld.global.u32 %0, [%1];
r(G) -> 3: red.global.or.b32 [%1], 1; red.global.or.b32 [%1], 2; ld.global.u32 %0, [%1];
r(G) -> 1: red.global.inc.u32 [%1], 1; red.global.inc.u32 [%1], 1; red.global.inc.u32 [%1], 1; ld.global.u32 %0, [%1];
ff(Gf) 1.5 -> 1.5 1.5: red.global.add.v4.f32 [%2], {%3, %3, %3, %3}; ld.global.v2.f32 {%0, %1}, [%2 + 8];
r(Gr) 0x3F803F80 -> 0x40004000: red.global.add.noftz.bf16x2 [%1], %2; red.global.add.noftz.bf16x2 [%1], %2; ld.global.u32 %0, [%1];
rr(G) -> 0 1: atom.acquire.gpu.global.cas.b32 %0, [%2], 0, 1; atom.exch.release.gpu.global.b32 %1, [%2], 0;
r(G) -> 7: griddepcontrol.launch_dependents;\ngriddepcontrol.wait; nanosleep.u32 100; prefetch.global.L2 [%1]; mov.u32 %0, 7;
r(r) 0 -> 7: { .reg .u64 t; mov.u64 t, %%globaltimer;\n\tmov.u64 t, %%clock64; .reg .pred p; setp.ne.u32 p, %1, 0; @p trap; mov.u32 %0, 7; }
# mbarriers: states, counts, bytes by hand, and one that becomes another one.
r(P) -> 1: { .reg .pred p; .reg .b64 s; mbarrier.init.b64 [%1], 3; mbarrier.arrive.b64 _, [%1]; mbarrier.arrive.release.cta.b64 s, [%1], 2; mbarrier.test_wait.b64 p, [%1], s; selp.u32 %0, 1, 0, p; }
r(P) -> 1: { .reg .pred p; mbarrier.init.b64 [%1], 2; mbarrier.inval.b64 [%1];\nmbarrier.init.b64 [%1], 1; mbarrier.expect_tx.relaxed.cta.b64 [%1], 16; mbarrier.arrive.expect_tx.b64 _, [%1], 8; mbarrier.complete_tx.b64 [%1], 20; mbarrier.complete_tx.b64 [%1], 4; mbarrier.test_wait.parity.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }
# Of Hopper and Ampere GEMMs and attention kernels: known, and passed over here.
l(SGr) 0 -> 0: { bra.uni $L_end; cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%2, {%3, %3}], [%1]; cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%2], [%1], %3; $L_end: }
l(S) -> 0: { bra.uni $L_end; mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], 1; mbarrier.arrive_drop.shared::cta.b64 %0, [%1]; $L_end: }
l(G) -> 0: { bra.uni $L_end; fence.proxy.tensormap::generic.acquire.gpu [%1], 128; discard.global.L2 [%1], 128; applypriority.global.L2::evict_normal [%1], 128; $L_end: }
ffffr(r) 0 -> 0 0 0 0 0: { bra.uni $L_end; activemask.b32 %4; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%5,%5}, {%5}, {%0,%1,%2,%3}; mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%5,%5,%5,%5}, {%5,%5}, {%0,%1,%2,%3}; { .reg .f64 d<4>; mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d0,d1}, {d2}, {d3}, {d0,d1}; } movmatrix.sync.aligned.m8n8.trans.b16 %4, %5; $L_end: }
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
# Not executed here. Each is in the Limits of notes/check-your-kernel.md.
r(l) -> : mbarrier.pending_count.b64 %0, %1;
(ll) -> : tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;
+rrrr(rr) -> : mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};
+rr(llr) -> : { .reg .pred p; setp.ne.b32 p, %4, 0; wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, %2, %3, p, 1, 1, 0, 0; }
(lr) -> : cp.async.bulk.global.shared::cta.bulk_group.L2::128B [%0], [%1], 16;
"""


class One(NamedTuple):
    """A row of the table, its values as the bits that are stored."""

    results: str
    inputs: str
    values: list[int]
    expected: list[int]
    text: str


def bits(constraint: str, value: str) -> int:
    if constraint == "f":
        return struct.unpack("<I", struct.pack("<f", float(value)))[0]
    return int(value, 0)


def rows() -> Iterator[One]:
    for results, inputs, values, expected, text in re.findall(
        r"(?m)^([^#\n]*?)\((.*?)\)(.*?) -> (.*?): (.*)", ONES
    ):
        # A result that is read comes first.
        given = (results[1:] if results[:1] == "+" else "") + inputs
        valued = (kind for kind in given if kind not in MEMORY)
        values = [bits(*pair) for pair in zip(valued, values.split())]
        wanted = [bits(*pair) for pair in zip(results.lstrip("+"), expected.split())]
        yield One(results, inputs, values, wanted, text)


MEMORY = {"S": '"r"(S32(shared))', "P": '"l"(shared)', "G": '"l"(memory)'}
# Types by their constraints, and numbers by their bits.
ONES_HEAD = """#include "common.h"
typedef unsigned r; typedef unsigned long long l; typedef float f; typedef unsigned short h;
typedef int n;
template <typename T> T of(l bits) { T value; memcpy(&value, &bits, sizeof value); return value; }
template <typename T> l bits(T value) { l b = 0; memcpy(&b, &value, sizeof value); return b; }
"""


def ones_program() -> str:
    """A kernel that executes all of ONES, and prints their results."""
    text, calls, at = ONES_HEAD, "", 0
    for number, one in enumerate(rows()):
        tied, results = one.results[:1] == "+", one.results.lstrip("+")
        values = iter([*one.values, *[0] * 9])
        given = [next(values) if tied else 0 for _ in results]
        inputs = ", ".join(
            MEMORY.get(kind) or f'"{kind}"(of<{kind}>({next(values)}ull))' for kind in one.inputs
        )
        outputs = ", ".join(
            f'"{"+" if tied else "="}{kind}"(r{i})' for i, kind in enumerate(results)
        )
        text += f"__device__ void one_{number}(l *out, r *memory) {{\n"
        text += "__shared__ alignas(128) r shared[64];\n"
        for i, kind in enumerate(results):
            text += f"{kind} r{i} = of<{kind}>({given[i]}ull);\n"
        text += f'asm volatile("{one.text}" : {outputs} : {inputs});\n'
        text += "".join(f"out[{at + i}] = bits(r{i});\n" for i in range(len(results))) + "}\n"
        if one.expected:
            calls += f" one_{number}(out, memory + 64 * {number});"
            at += len(results)
    text += f"__global__ void every(l *out, r *memory) {{{calls} }}\nint main() {{\n"
    text += (
        f"    l *out = dev({at}, 0ull);\n    every<<<1, 1>>>(out, dev({64 * (number + 1)}, 0u));\n"
    )
    return text + f'    for (auto one : host(out, {at})) printf("%llu\\n", one);\n}}\n'


@LIBRARY
def test_values_of_instructions():
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "ones.cu").write_text(ones_program())
    ended = emulate(f"--policies eager -I {CASES} ones.cu", WORK)
    assert ended.returncode == 0, ended.stdout
    numbers = iter(map(int, re.findall(r"(?m)^ *(\d+)$", ended.stdout)))
    for one in rows():
        got = [next(numbers) for _ in one.expected]
        assert got == one.expected, f"{one.text}: {list(map(hex, got))}"


# ---------------------------------------------------------------- what is not known

UNKNOWN = [
    ('asm("frobnicate.b32 %0, 1;" : "=r"(x));', [(1, "`frobnicate.b32 %0, 1`")]),
    ('asm("mov.u32 %0,\\n"\n"wgmma_nothing;" : "=r"(x));', [(1, "the name `wgmma_nothing`")]),
    ('f();\nasm("{ .reg .pred p;\\n"\n    "  tcgen05.alloc p;\\n"\n    "}");', [(3, "tcgen05.alloc")]),
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
    ('asm("wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2 {%0}, %1, %2, p, 1, 1;" :);',
     [(1, "the instruction `wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2")]),
    ('asm("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1}];" :: "l"(x), "r"(y));',
     [(1, "these operands of")]),
    ('// asm("frobnicate;");\n/* asm("frobnicate;"); */ const char *s = "asm(1)";', []),
    ('asm volatile("" ::: "memory");', []),
    ('#define A(x) \\\n    asm("frobnicate;" \\\n        ::"r"(x))\nA(1);', [(4, "frobnicate")]),
    ('asm("frobnicate;");' + 11 * "\n" + 'asm("odd.of;");', [(1, "frobnicate"), (12, "odd.of")]),
    ('asm("mov.u32 %0, %1;" : "=r"(x)\n: "r"(({ asm("odd.of;"); 1; })));', [(2, "odd.of")]),
]  # fmt: skip


@pytest.mark.parametrize("text, expected", UNKNOWN, ids=[text for text, _ in UNKNOWN])
def test_what_is_unknown_is_named(text, expected):
    preprocessor = ["g++", "-E", "-x", "c++", "-"]
    text = subprocess.run(
        preprocessor, input=text, capture_output=True, text=True, check=True
    ).stdout
    calls = r'::unknown\("[^"]*", (\d+), ("(?:\\.|[^"\\])*")\)'
    found = [(int(line), json.loads(what)) for line, what in re.findall(calls, ptx.translate(text))]
    assert [line for line, _ in found] == [line for line, _ in expected]
    assert all(word in what for (_, what), (_, word) in zip(found, expected)), found


def test_what_the_table_calls_is_there():
    headers = [*(ROOT / "emulator/include/emulator").glob("*.h"), ROOT / "common/formats/half.h"]
    declared = set(re.findall(r"\w+", "".join(header.read_text() for header in headers)))
    code = " ".join(row.code for row in instructions.ROWS).replace("op_{op}", "op_add")
    assert set(re.findall(r"::emulator::ptx::(\w+)", code)) <= declared


# ---------------------------------------------------------------- CUDA C++


def test_lines_stay_where_they_are():
    text = "__global__ void f() {\n__shared__ int\n a,\n\n b;\ng<1\n><<<1,\n2>>>();\n}\n"
    assert cuda.translate(text).count("\n") == text.count("\n")
    marked = '# 7 "a\\040\\303\\244.cu"\n\nasm("odd.of;");'
    assert '::unknown("a \\u00e4.cu", 8, "the instruction `odd.of`")' in ptx.translate(marked)


# ---------------------------------------------------------------- the command line

PROGRAMS = {
    "folder/widths.h": "#pragma once\nstatic_assert(WIDTH == 16);\n",
    "one.cu": """#include <widths.h>
#include <cstdio>
#include <cstring>
__global__ void kernel(int *to) {
    to[1] = 0; // PAST [end]
}
int main(int argc, char **argv) {
    int *to = nullptr;
    cudaMalloc(&to, std::strcmp(argv[1], "past") ? 8 : 4);
    kernel<<<1, 1>>>(to);
    std::puts("kernel<<<1, 1>>>(); // no launch");
    return std::strcmp(argv[1], "fail") ? 0 : 3;
}
""",
    "race.cu": "__global__ void kernel() {\n    __shared__ int x;\n    x += 1;\n}\n"
    "int main() { kernel<<<1, 64>>>(); }\n",
    "header.cu": "#include <thrust/fill.h>\n#ifdef FILL\nthrust::less<int> less;\n#endif\nint main() {}\n",
    "slow.cu": """#define BY(name) <name.h>
#include BY(folder/widths)
const int N = 1024 * 65536;
__global__ void kernel(int n) {
    int lane = 0;
#define LANE "mov.u32 %0, %%laneid;"
    asm volatile(
#if WIDTH == 8
        "nothing %0;"
#else
        LANE
#endif
        : "=r"(lane));
    for (volatile int i = 0; i < n; i = i + 1) {}
}
int main() {
    kernel<<<N, 1>>>(N / 64);
}
""",
    "instruction.cu": """__global__ void kernel(int *to) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(to[0]) : "r"(0));
}
int main() {
    int *to = nullptr;
    cudaMalloc(&to, 4);
    kernel<<<1, 1>>>(to);
}
""",
}
ONE = "-I folder -D WIDTH=16 one.cu --"
# (what, arguments in the folder of the programs, exit status, expressions of what is said)
RUNS = [
    ("options and arguments", f"{ONE} x", 0, r"^eager: ok", r"^  kernel<<<1, 1>>>\(\); // no launch$",
     "^random with seed 3: ok"),
    ("a mistake", f"--policies eager {ONE} past", 1, "address: ", r"^ *one.cu:5  to\[1\] = 0; // PAST \[end\]$"),
    ("a program that fails by itself", f"--policies eager {ONE} fail", 1, "status 3"),
    ("a mistake that is allowed",
     f"--quiet --policies eager,lazy --allow early-exit {CASES}/cuda_barrier.cu -- no_read_wait", 0,
     "^lazy: ok", r"\[early-exit, allowed\]"),
    ("an unknown instruction", "--policies eager,lazy instruction.cu", 2,
     "instruction.cu:2: .*tcgen05", "does not know this$"),
    ("a header is missing", "-D WIDTH=16 one.cu", 2, "widths.h", "nothing was run$"),
    ("an unknown header", "-D FILL header.cu", 2, r"^header.cu:3: .* no header thrust/fill.h; "),
    ("an unknown header that is not used", "--policies eager header.cu", 0, "^eager: ok"),
    ("a launch of minutes", "-I . --policies eager --seconds 4 -D WIDTH=16 slow.cu", 1,
     r"^this launch of \d+ CTAs of 1 threads will take about .* N = \d+ \(slow.cu:3\)$",
     r"^  still running after 4 s \(.*N = "),
    ("another size", "-I . --policies eager -D WIDTH=16 --set N=64 slow.cu", 0, "^eager: ok"),
    ("no such constant", "--set M=64 race.cu", 2, "--set: the program has no constant M"),
    ("no such policy", f"--policies late {ONE} x", 2, "there is no policy 'late'"),
    ("no such file", "none.cu", 2, "there is no file none.cu"),
    ("no such folder", "--sarif none/x race.cu", 2, r"\Acheck-kernel: .*none/.*\n\Z"),
    ("no file to write to", "--junit /dev/null race.cu", 2, r"\Acheck-kernel: /dev/null is no file\n\Z"),
]  # fmt: skip


def write_programs(folder: Path) -> None:
    for name, text in PROGRAMS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@LIBRARY
def test_command_line():
    write_programs(WORK)
    for name, arguments, status, *said in RUNS:
        ended = emulate(arguments, WORK)
        missing = [words for words in said if not re.search(words, ended.stdout, re.MULTILINE)]
        assert (ended.returncode, missing) == (status, []), f"{name}: {ended.stdout}"


# ---------------------------------------------------------------- as a tool of its own

# How editors and GitHub find GCC's messages.
MATCHER = r"(?m)^(\S.*?):(\d+):(?:\d+:)?\s+(?:fatal )?(warning|error|note):\s"
# (arguments, exit status, what is found: rule, level, file, lines of it and of notes; runs that fail)
FINDS = [
    (f"{ONE} x", 0, [], ""),
    (f"--policies eager,lazy {ONE} past", 1, ["address error one.cu 5 5"], "eager lazy"),
    ("--policies eager --allow uninitialised race.cu", 1,
     ["uninitialised warning race.cu 3 3", "race error race.cu 3 3 3"], "eager"),
    (f"--policies eager {ONE} fail", 1, ["status error one.cu 1"], "eager"),
    ("instruction.cu", 2, ["unknown error instruction.cu 2 2"], "eager"),
    ("-D FILL header.cu", 2, ["build error header.cu 1"], "build"),
    ("-D WIDTH=16 one.cu", 2, ["build error one.cu 1"], "build"),
]  # fmt: skip


def result_said(result: dict) -> str:
    places = [at["physicalLocation"] for at in result["locations"] + result["relatedLocations"]]
    file = places[0]["artifactLocation"]["uri"].replace("folder/", "", 1)
    lines = [str(place["region"]["startLine"]) for place in places]
    return " ".join([result["ruleId"], result["level"], file, *lines])


@LIBRARY
def test_installed(tmp_path):
    into, work = tmp_path / "a tool", tmp_path / "clone/folder"
    make = ["make", "-C", ROOT / "emulator", f"BUILD={os.path.relpath(translate.BUILD, ROOT)}"]
    make += [f"DESTDIR={tmp_path}", "PREFIX=/a tool"]
    subprocess.run([*make, "install"], check=True)
    subprocess.run(["chmod", "-R", "a-w", into], check=True)
    before = {path: path.stat().st_mtime_ns for path in into.rglob("*")}
    for folder in (work / "emulator/translate", tmp_path / "clone/.git"):
        folder.mkdir(parents=True)  # the former is of another project
    write_programs(work)
    for arguments, status, found, failed in FINDS:
        files = f"--format gcc --sarif x.sarif --junit x.xml {arguments}"
        ended = emulate(files, work, into / "bin/check-kernel", XDG_CACHE_HOME=f"{tmp_path}/cache")
        (log,) = json.loads((work / "x.sarif").read_text())["runs"]
        said = [*map(result_said, log["results"])]
        assert (ended.returncode, said) == (status, found), ended.stdout
        rules = [rule["id"] for rule in log["tool"]["driver"]["rules"]]
        assert rules == [one.split()[0] for one in found]
        cases = ElementTree.parse(work / "x.xml").findall("testcase")
        assert [case.get("name") for case in cases if case.findtext("failure")] == failed.split()
        lines = re.findall(MATCHER, ended.stdout)
        said = [line if kind == "note" else f"{kind} {file} {line}" for file, line, kind in lines]
        assert " ".join(said) == " ".join(one.partition(" ")[2] for one in found), ended.stdout
    assert {path: path.stat().st_mtime_ns for path in into.rglob("*")} == before
    subprocess.run(["chmod", "-R", "u+w", into], check=True)
    subprocess.run([*make, "uninstall"], check=True)
    assert {path.name for path in into.rglob("*")} == {"lib", "bin"}
