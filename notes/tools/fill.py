#!/usr/bin/env python3
"""Fills README.md and notes/**/*.md with what is recorded: blocks, and figures in sentences.

    <!-- rung v07 -->        a block: everything up to its end is written by make notes
    <!-- end -->
    <!--=v07 tflops-->800 TFLOPS<!--/-->       one figure in a line of text

notes/writing-a-note.md describes them. Markers in code, fenced or between backticks, are code.
--check writes nothing and exits 1 if a page says anything else.

Exit status: 0 done (or equal), 1 a page differs, 2 bad usage or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from bench import results
from notes.tools import figures, tables

BLOCKS = {**tables.BLOCKS, **figures.BLOCKS}
KINDS = "|".join(BLOCKS)
END = "<!-- end -->"
# What is not text: a block, or code.
PIECE = re.compile(
    rf"""
    ^<!--[ ](?P<block>(?:{KINDS})\b[^<>\n]*?)[ ]-->\n
    (?:(?!<!--[ ](?:{KINDS})\b).*\n)*?
    <!--[ ]end[ ]-->$\n?
    |
    ^[ ]{{0,3}}(?P<code>(?P<tick>[`~])(?P=tick){{2,}}).*\n
    (?:.*\n)*?
    (?:[ \t]*(?P=code)(?P=tick)*[ \t]*$\n?|\Z)
    """,
    re.MULTILINE | re.VERBOSE,
)
CODE_SPAN = r"(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
FIGURE = re.compile(
    CODE_SPAN + r"|<!--=(?P<expression>[^<>]*?)-->(?P<value>[^<]*?)<!--/-->", re.DOTALL
)
STRAY = re.compile(rf"<!--=|<!--/-->|^<!-- (?:(?:{KINDS})\b|end -->$)", re.MULTILINE)


@dataclass(frozen=True)
class Segment:
    """A stretch of whole lines of a page."""

    kind: str  # text, code or block
    text: str
    line: int  # of its first line, from 1
    words: tuple = ()  # of a block's marker


def line_of(text, position):
    """How many lines come before that place."""
    return text.count("\n", 0, position)


def segments(page):
    """The segments of a page, in order; their texts add up to it. ValueError for a marker that has
    no partner."""
    found, end = [], 0
    for piece in [*PIECE.finditer(page), None]:
        text = page[end : piece.start() if piece else None]
        if text:
            found.append(Segment("text", text, 1 + line_of(page, end)))
            check_stray(found[-1])
        if piece:
            kind = "block" if piece["block"] else "code"
            words = (piece["block"] or "").split()
            found.append(Segment(kind, piece[0], 1 + line_of(page, piece.start()), tuple(words)))
            end = piece.end()
    return found


def check_stray(segment):
    """ValueError if half of a marker is in the text."""
    rest = FIGURE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), segment.text)
    stray = STRAY.search(rest)
    if stray:
        place = segment.line + line_of(segment.text, stray.start())
        raise ValueError(
            f"line {place}: '{stray[0]}' has no partner, or is followed by '<' or more"
        )


def filled_text(segment, library):
    """The text of a segment with its figures filled."""

    def replace(match):
        if match["code"]:
            return match[0]
        try:
            value = figures.text_of(match["expression"], library)
        except ValueError as error:
            place = segment.line + line_of(segment.text, match.start())
            raise ValueError(f"line {place}: {error}") from error
        return f"<!--={match['expression']}-->{value}<!--/-->"

    return FIGURE.sub(replace, segment.text)


def filled_block(segment, library):
    """A block with its markers."""
    kind, *words = segment.words
    try:
        lines = BLOCKS[kind](library, *words)
    except ValueError as error:
        raise ValueError(f"line {segment.line}: '{' '.join(segment.words)}': {error}") from error
    return "\n".join([segment.text.splitlines()[0], *lines, END, ""])


def fill(page, library):
    """The page filled; the blocks of sources at the end, when all that was used is known. ValueError
    for a marker that isn't understood."""
    library.used = []
    parts = segments(page)
    texts = {part.line: part.text for part in parts}
    fillers = {"text": filled_text, "block": filled_block}
    for part in sorted(parts, key=lambda part: part.words[:1] == ("sources",)):
        if part.kind in fillers:
            texts[part.line] = fillers[part.kind](part, library)
    return "".join(texts.values())


def pages(notes):
    """All notes, and the README beside their folder if there is one."""
    readme = notes.parent / "README.md"
    return [*sorted(notes.glob("**/*.md")), *([readme] if readme.exists() else [])]


def update(path, library, check):
    """Writes a page as it should be, or compares; True if it was so before."""
    text = path.read_text(encoding="utf-8")
    try:
        wanted = fill(text, library)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if wanted != text and check:
        print(f"{path}: not what 'make notes' would write; run it", file=sys.stderr)
    elif wanted != text:
        results.write_whole(path, wanted.encode("utf-8"))
        print(f"{path}: filled")
    return wanted == text


def main(arguments):
    """The whole program; returns its exit status."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("make notes", description=__doc__, formatter_class=layout)
    add = parser.add_argument
    add("--results", metavar="DIR", type=Path, default=results.RESULTS)
    add("--notes", metavar="DIR", type=Path, default=results.ROOT / "notes")
    add("--check", action="store_true", help="write nothing; exit 1 on a difference")
    options = parser.parse_args(arguments)
    try:
        library = tables.Library(options.results)
        right = [update(path, library, options.check) for path in pages(options.notes)]
    except (OSError, ValueError) as error:
        print(f"make notes: {error}", file=sys.stderr)
        return 2
    return int(options.check and not all(right))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
