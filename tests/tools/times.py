"""How long tests and a first step take: python3 -m tools.times WORD..., with PYTHONPATH=tests.

Each is measured in a fresh clone of HEAD, on this machine, which should be idle; WORD chooses some by
their names. What is measured is printed with what `make test` says at its end, and written to
tests/times.tsv.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from datetime import date

from tools import BUILD, GPU, NVCC, ROOT, call, git

CLONE = BUILD / "times"
TIMES = ROOT / "tests/times.tsv"
COLUMNS = ("what", "seconds", "at most", "result", "cores", "nvcc", "GPU", "commit", "date")
SENTENCE = ("notes/emulator.md", r"\Z", "One sentence more.\n")
RUNG_LINE = ("steps/v07_mbarrier.cu", r"(?m)^(static int launch\(.*\n)", r"\g<1>    (void)p;\n")
HEADER_LINE = ("common/device/mbarrier.cuh", r"(?m)^#pragma once$", "#pragma once\n")
PATHS = [path for path in os.environ["PATH"].split(":") if not os.path.exists(f"{path}/nvcc")]
WITHOUT = {"CUDA_HOME": "/none", "PATH": ":".join(path for path in PATHS if "ccache" not in path)}
# Name, what `make` gets, at most so many seconds, an edit before, and the environment.
MEASURED = (
    ("step, from nothing", "step N=7", 12 if GPU else 15, None, {}),
    ("check, from nothing", "check", 90, None, {}),
    ("test, from nothing, without nvcc", "test", 360, None, WITHOUT),
    ("test, after a changed sentence", "test", 40, SENTENCE, WITHOUT),
    ("test, after a line in one rung", "test", 90, RUNG_LINE, WITHOUT),
    ("test, after a line in a device header", "test", 300, HEADER_LINE, WITHOUT),
    ("test, from nothing", "test", 300 if GPU else 600, None, {}),
    ("test FULL=1, from nothing", "test FULL=1", 1680, None, {"STRICT": "1"}),
)


def clone() -> None:
    shutil.rmtree(CLONE, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(ROOT), str(CLONE)], check=True)


def edit(path: str, pattern: str, after: str) -> None:
    text = (CLONE / path).read_text()
    changed = re.sub(pattern, after, text, count=1)
    assert changed != text, path
    (CLONE / path).write_text(changed)


def measure(name: str, verb: str, most: int, change, environment: dict[str, str]) -> tuple:
    if change:
        edit(*change)
    else:
        clone()
    began = time.monotonic()
    how = {"env": {"CCACHE_DISABLE": "1", **environment}, "stderr": subprocess.DEVNULL}
    made = call("make", *verb.split(), cwd=CLONE, **how)
    seconds = round(time.monotonic() - began)
    last = (made.stdout.strip().splitlines() or [""])[-1]
    result = last if "passed" in last else f"exit status {made.returncode}"
    nvcc = "yes" if NVCC and environment is not WITHOUT else "no"
    machine = (os.cpu_count(), nvcc, "yes" if GPU else "no")
    commit = git("rev-parse", "--short", "HEAD")[0]
    return (name, seconds, most, result, *machine, commit, date.today())


def main() -> int:
    lines = TIMES.read_text().splitlines()[1:] if TIMES.exists() else []
    rows = [line.split("\t") for line in lines]
    for row in MEASURED:
        if any(word in row[0] for word in sys.argv[1:] or [""]):
            found = [str(value) for value in measure(*row)]
            print("\t".join(found), flush=True)
            rows = [old for old in rows if (old[0], old[6]) != (found[0], found[6])] + [found]
            TIMES.write_text("".join("\t".join(line) + "\n" for line in (COLUMNS, *rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
