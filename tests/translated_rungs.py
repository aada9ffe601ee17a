#!/usr/bin/env python3
"""Every rung's standalone file, whole, through the emulator's translator: the rung's own asm against
the emulator's headers for rungs. f01 also with mistakes; the others run only with FULL=1, but all of
their PTX has to be known. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import re
import subprocess
import sys

from test_standalone import shapes, sizes

from tools import BUILD, FULL, ROOT, case, exit_status, in_parallel, skip
from tools.emulated import Shape, rungs

from emulator.translate import ptx

WORK = BUILD / "tests" / "translated"
LIMIT = 300  # seconds
# A mistake in f01, which replaces the first text by the second, and what is said of it.
PLANTED = {
    "no_fence": ("        wgmma_fence();", "", r"hazard: wgmma without wgmma\.fence"),
    "same_columns": ("advance_k<e4m3>(b, kk)", "b", r"f01 is wrong: D\["),
}


def without_macros(text: str) -> str:
    """A standalone file, in which macros write the wgmmas, with these wgmmas."""
    command = ["g++", "-E", "-P", "-x", "c++", "-"]

    def expanded(found: re.Match) -> str:
        macros = found.group()
        return subprocess.run(
            command, input=macros, capture_output=True, text=True, check=True
        ).stdout

    pattern = r"(?ms)^#define NAMES_8 .*^WGMMA\w*\(256,[^\n]*$"
    return re.sub(pattern, expanded, text)


def why_not(name: str, text: str, size: str, status: int, said: str) -> str:
    """Empty if the program runs and ends as it should."""
    (WORK / f"{name}.cu").write_text(text)
    command = [sys.executable, "-m", "emulator.translate", "--policies", "lazy"]
    command += [str(WORK / f"{name}.cu"), "--", *size.split()]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    output = ended.stdout + ended.stderr
    right = ended.returncode == status and re.search(said, output, re.MULTILINE)
    return "" if right else f"exit status {ended.returncode}, expected {said!r}: {output}"


def check_rung(rung: str) -> tuple[str, str]:
    shape = shapes(rungs()[rung].read_text())[0]
    shape = shape if shape.m > 1 else Shape(296, 584, 440)  # a family's: it has no tile
    size = " ".join(map(str, sizes(shape)))
    text = without_macros((BUILD / "standalone" / f"{rung}.cu").read_text())
    return rung, why_not(rung, text, size, 0, "^lazy: ok")


def unknown_in(rung: str) -> str:
    text = without_macros((BUILD / "standalone" / f"{rung}.cu").read_text())
    found = re.findall(r'::unknown\("[^"]*", \d+, .*', ptx.translate(text, f"{rung}.cu"))
    return f"{rung}: {found[0]}" if found else ""


def main() -> int:
    WORK.mkdir(parents=True, exist_ok=True)
    goals = [f"build/standalone/{rung}.cu" for rung in rungs()]
    subprocess.run(["make", "-s", *goals], cwd=ROOT, check=True)
    case("the rungs' PTX is known", "".join(map(unknown_in, rungs())))
    f01 = without_macros((BUILD / "standalone" / "f01.cu").read_text())
    case("f01", why_not("f01", f01, "264 208 384", 0, "264 x 208 x 384 on .*: verified"))
    for name, (before, after, said) in PLANTED.items():
        wrong = f01.replace(before, after)
        case(f"f01, {name}", why_not(name, wrong, "264 208 384", 1, said))
    if FULL:
        for rung, why in in_parallel(check_rung, rungs()):
            case(f"{rung}, translated", why)
    else:
        skip("every rung's standalone file, translated", "with FULL=1")
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
