"""Colours a unified diff on stdin: removed lines red, added ones green, and where a line was only edited, the
changed words in reverse video. Standard library only."""

import re
import sys
from difflib import SequenceMatcher

RED, GREEN, DIM, REVERSE, PLAIN, END = (f"\x1b[{code}m" for code in (31, 32, 36, 7, 27, 0))
ALIKE = 0.5  # lines with less in common are not edits of one another


def marked(old, new):
    """Both lines with their changed words marked; as they are if they have little in common."""
    sides = [re.findall(r"\w+|\s+|[^\w\s]", line) for line in (old, new)]
    matcher = SequenceMatcher(None, *sides, autojunk=False)
    if matcher.ratio() < ALIKE:
        return old, new
    texts = ["", ""]
    for tag, *ends in matcher.get_opcodes():
        for side in (0, 1):
            part = "".join(sides[side][ends[2 * side] : ends[2 * side + 1]])
            texts[side] += part if tag == "equal" or not part.strip() else f"{REVERSE}{part}{PLAIN}"
    return texts


def show(removed, added):
    """Prints a change: the lines that went, then those that came. As many of each are paired in order."""
    if len(removed) == len(added):
        removed, added = zip(*map(marked, removed, added)) if removed else ((), ())
    for colour, sign, lines in ((RED, "-", removed), (GREEN, "+", added)):
        for line in lines:
            print(f"{colour}{sign}{line}{END}")


def main():
    """Reads the diff, change by change."""
    removed, added = [], []
    for line in map(str.rstrip, sys.stdin):
        if line[:1] in ("-", "+") and line[:4] not in ("--- ", "+++ "):
            (removed if line[:1] == "-" else added).append(line[1:])
            continue
        show(removed, added)
        removed, added = [], []
        print(f"{DIM}{line}{END}" if line[:2] in ("@@", "--", "++") else line)
    show(removed, added)


if __name__ == "__main__":
    main()
