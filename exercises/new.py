"""Copies a rung under a new number: `make new N=30 FROM=16`.

    new.py NAME FROM

Exit status: 0 written, 2 a bad name, or a rung that exists already.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from exercises import run

STEPS = Path(__file__).resolve().parents[1] / "steps"
HEADER = """// {name}, from {origin}: (the idea, in a few words).
//
// (What changes, which resource that relieves, and by how much the kernel should be faster. Write it
// before you measure.) Expected: ... over {origin}.
"""


def rung(word: str, origin: str = "v") -> str:
    """7, 07, v7 and v07 are one rung; a number alone is of the track of `origin`."""
    found = re.fullmatch(r"([vsatf]?)0*(\d{1,2})", word)
    if found is None:
        print(
            f"new.py: {word!r} is no rung; say for example make new N=30 FROM=16", file=sys.stderr
        )
        sys.exit(2)
    return f"{found[1] or origin[0]}{int(found[2]):02}"


def renamed(source: str, name: str, origin: str) -> str:
    """The source of a rung under another name, as one that grows from it."""
    code = source[re.search(r"^(?!//)", source, re.MULTILINE).start() :]
    code = re.sub(rf"\b{origin}\b", name, code)
    code = re.sub(
        r'( +)\.idea = "[^"]*",\n( +\.below = "[^"]*",\n)?',
        rf'\1.idea = "(the idea)",\n\1.below = "{origin}",\n',
        code,
    )
    return HEADER.format(name=name, origin=origin) + code


def main() -> int:
    origin = rung(sys.argv[2])
    name = rung(sys.argv[1], origin)
    sources = list(STEPS.glob(f"{origin}_*.cu"))
    taken = list(STEPS.glob(f"{name}*.cu"))
    if not sources or taken or name[0] != origin[0]:
        why = (
            f"steps/{taken[0].name} exists"
            if taken
            else f"there is no {origin} on the track of {name}"
        )
        print(f"new.py: {name} from {origin}: {why}", file=sys.stderr)
        return 2
    path = STEPS / f"{name}_new.cu"
    path.write_text(renamed(sources[0].read_text(encoding="utf-8"), name, origin), encoding="utf-8")
    print(f"wrote steps/{path.name}; then: make step N={name} EMULATE=1, make diff N={name}")
    print(f"rename it as you like: {name}_WORD.cu remains {name}")
    return 0


if __name__ == "__main__":
    run(main)
