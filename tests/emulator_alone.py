#!/usr/bin/env python3
"""The emulator needs little of the tree: in a copy that holds that alone, its own Makefile builds it,
its tests build and pass, and a program in another folder is checked. Prints one line per case; exits
1 if any failed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

from tools import BUILD, FULL, ROOT, case, exit_status

NEEDED = ("emulator", "common/device", "common/formats")
COPY = BUILD / "tests" / "emulator_alone"
LIMIT = 600  # seconds
RUN = "emulator/translate/run --quiet --policies eager"
ONE = "emulator/tests/cases/cuda_barrier.cu --"
# (case, command, exit status, what it prints)
COMMANDS = [
    ("make builds the library", "make -C emulator", 0, ""),
    ("it is built once", "make -q -C emulator", 0, ""),
    ("a test", "make -f emulator/Makefile build/emulator/tests/test_units", 0, ""),
    ("the test passes", "build/emulator/tests/test_units", 0, "ok - "),
    ("a right program", f"{RUN} {ONE} add_one", 0, "eager: ok"),
    ("a wrong program", f"{RUN} {ONE} no_store_fence", 1, "[proxy-fence]"),
    *([("all tests", "make -C emulator test", 0, "ok - ")] if FULL else []),
]


def main() -> int:
    shutil.rmtree(COPY, ignore_errors=True)
    for folder in NEEDED:
        shutil.copytree(ROOT / folder, COPY / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name, command, status, said in COMMANDS:
        ended = subprocess.run(
            command.split(),
            cwd=COPY,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        right = ended.returncode == status and said in ended.stdout
        case(name, "" if right else f"exit status {ended.returncode}: {ended.stdout[-2000:]}")
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
