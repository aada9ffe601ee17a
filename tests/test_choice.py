#!/usr/bin/env python3
"""Tests of v18's model: it takes the kernel that is fastest, or close to it, where that is recorded.

The recorded runs are those with v18 and all of its variants in them, each of which takes one of
its kernels always. At the shapes of FITTED the model's constants were read off what was measured;
the others are a test of it. Needs no GPU: make builds tests/choice/choose.cu, which asks the rung,
and the same of a rung with a model in which turns end as quickly as others, which must fail here.
Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import re
import subprocess
import sys

from tools import BUILD, ROOT, case, exit_status, skip

from notes.tools import tables

MOST_SLOWER = 0.02  # than the fastest variant's rate
FITTED = ("16384x4096x256", "12288x3072x512", "6144x4096x2048")
H200_SMS = 132
TOLD = "16384x4096x256"  # that ends in turns take longer


def variants():
    """The variants that take one of v18's kernels always, by its place among them."""
    always = re.compile(r"^\+ +made->kernel = &KERNELS\[(\d+)\];$", re.MULTILINE)
    paths = sorted((ROOT / "bench" / "variants").glob("v18-*.patch"))
    found = [(always.search(path.read_text()), path.stem) for path in paths]
    return {int(kernel[1]): name for kernel, name in found if kernel}


def choice(program, sms, shape):
    """The variant that takes the kernel that the model takes."""
    command = [BUILD / "tests" / "choice" / program, str(sms), *shape.split("x")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return variants()[int(said)]


def measured():
    """(shape, multiprocessors, {variant: its rate as a multiple of v18's}) of the runs in which all
    variants have a result."""
    for run in tables.Library().runs:
        if {"v18", *variants().values()} <= {*run.measured}:
            rates = {name: run.against(name, "v18").ratio for name in variants().values()}
            yield "x".join(map(str, run.shape)), run.gpu["sms"], rates


def why_not(program, shape, sms, rates):
    """Why the model's choice is no good; empty if it is."""
    taken = choice(program, sms, shape)
    fastest = max(variants().values(), key=rates.get)
    slower = 1 - rates[taken] / rates[fastest]
    return f"it takes {taken}, {slower:.1%} slower than {fastest}" if slower > MOST_SLOWER else ""


def main():
    subprocess.run(["make", "-s", "choices"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    case("each of v18's kernels has a variant", "" if len(variants()) == 5 else f"{variants()}")
    runs = list(measured())
    if runs:
        shapes = {shape for shape, _, _ in runs}
        case("all variants were measured where it was fitted", " ".join(set(FITTED) - shapes))
        case("and where it was not", "" if shapes - set(FITTED) else "no ladder has them all")
    else:
        skip("v18's choices against its fastest kernels", "no ladder has all of its variants")
    for run in runs:
        words = "fitted to" if run[0] in FITTED else "not fitted to"
        case(f"the choice at {run[0]} ({words})", why_not("rung", *run))
    right, wrong = (choice(program, H200_SMS, TOLD) for program in ("rung", "quick-turns"))
    why = f"both take {right}" if right == wrong else ""
    case(f"a model with quick turns chooses otherwise at {TOLD}", why)
    for run in runs:
        if run[0] == TOLD:
            why = "" if why_not("quick-turns", *run) else "its choice passes for a good one"
            case(f"a model with quick turns is refused at {TOLD}", why)
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
