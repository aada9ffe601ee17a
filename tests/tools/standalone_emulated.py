"""Rewrites a standalone program so that a C++ compiler makes it run on the emulator.

    standalone_emulated.py build/standalone/v07.cu build/standalone/emulated/v07.cu

Where a device header stands in the program it is included instead, so that the emulator's headers can
take its place. The contract, the rung and the program around it stay as they are.
"""

import re
import sys
from pathlib import Path

# A section begins with its name; a device header's is its path.
BANNER = re.compile(r"^// ---- (.*?) -+\n", re.MULTILINE)
DEVICE = "common/device/"


def sections(text: str) -> list[tuple[str, str]]:
    """The name and the text of each section. The first has no name: it is what stands above."""
    parts = ["", *BANNER.split(text)]
    return list(zip(parts[0::2], parts[1::2]))


def for_emulator(text: str) -> str:
    (_, opening), *others = sections(text)
    rewritten = [opening]
    for name, body in others:
        include = f'#include "{name.removeprefix("common/")}"\n'
        rewritten.append(include if name.startswith(DEVICE) else body)
    return "".join(rewritten)


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: standalone_emulated.py PROGRAM.cu OUTPUT.cu", file=sys.stderr)
        return 2
    program, output = map(Path, sys.argv[1:])
    new = output.with_suffix(".new")
    new.write_text(for_emulator(program.read_text()))
    new.replace(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
