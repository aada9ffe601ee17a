"""Fills README.md and notes/**/*.md with what is recorded: blocks, and figures in sentences.

    <!-- rung v07 -->        a block: everything up to its end is written by make notes
    <!-- end -->
    <!--=v07 tflops-->800 TFLOPS<!--/-->       one figure in a line of text

CONTRIBUTING.md describes them. Markers in code, fenced or between backticks, are code.
--check writes nothing and exits 1 if a page says anything else.

Exit status: 0 done (or equal), 1 a page differs, 2 bad usage or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from bench import results
from notes.tools import figures, tables

BLOCKS = {**tables.BLOCKS, **figures.BLOCKS}
KINDS = "|".join(BLOCKS)
END = "<!-- end -->"
# A block, code, or a figure in a sentence.
PIECE = re.compile(
    rf"""
    ^<!--[ ](?P<block>(?:{KINDS})\b[^<>\n]*?)[ ]-->\n
    (?:(?!<!--[ ](?:{KINDS})\b).*\n)*?
    <!--[ ]end[ ]-->$
    |
    ^[ ]{{0,3}}(?P<fence>(?P<tick>[`~])(?P=tick){{2,}}).*\n
    (?:.*\n)*?
    (?:[ \t]*(?P=fence)(?P=tick)*[ \t]*$|\Z)
    |
    (?P<ticks>`+)(?!`)(?:(?!\n\n)[\s\S])+?(?<!`)(?P=ticks)(?!`)
    |
    <!--=(?P<figure>[^<>]*?)-->[^<]*?<!--/-->
    """,
    re.MULTILINE | re.VERBOSE,
)
STRAY = re.compile(rf"<!--=|<!--/-->|^<!-- (?:(?:{KINDS})\b|end -->$)", re.MULTILINE)


def pieces(page):
    """Matches of all blocks, code and figures. ValueError for a marker that has no partner."""
    rest = PIECE.sub(lambda piece: re.sub(r"[^\n]", " ", piece[0]), page)
    if stray := STRAY.search(rest):
        line = 1 + page.count("\n", 0, stray.start())
        why = "has no partner, or is followed by '<' or more"
        raise ValueError(f"line {line}: '{stray[0]}' {why}")
    return list(PIECE.finditer(page))


def filled(piece, library):
    """A block or a figure as it should be, with its markers; code as it is."""
    if piece["figure"] is not None:
        value = figures.text_of(piece["figure"], library)
        return f"<!--={piece['figure']}-->{value}<!--/-->"
    if piece["block"] is None:
        return piece[0]
    kind, *words = piece["block"].split()
    return "\n".join([f"<!-- {piece['block']} -->", *BLOCKS[kind](library, *words), END])


def fill(page, library):
    """The page filled; the blocks of sources at the end, when all that was used is known.
    ValueError for a marker that isn't understood."""
    library.used, texts, found = {}, {}, pieces(page)
    for piece in sorted(found, key=lambda piece: piece["block"] == "sources"):
        try:
            texts[piece.start()] = filled(piece, library)
        except (ValueError, TypeError, ZeroDivisionError) as error:  # TypeError: its words
            line = 1 + page.count("\n", 0, piece.start())
            marker = piece["block"] or piece["figure"]
            raise ValueError(f"line {line}: '{marker}': {error}") from error
    return PIECE.sub(lambda piece: texts[piece.start()], page)


def pages(notes):
    """All notes, and the README beside their folder if there is one."""
    readme = notes.parent / "README.md"
    return [*sorted(notes.glob("**/*.md")), *([readme] if readme.exists() else [])]


def update(path, library, check):
    """Writes a page as it should be, or compares; True if it was so before."""
    page = path.read_text(encoding="utf-8")
    try:
        wanted = fill(page, library)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if wanted != page and check:
        print(f"{path}: not what 'make notes' would write; run it", file=sys.stderr)
    elif wanted != page:
        results.write_whole(path, wanted.encode("utf-8"))
        print(f"{path}: filled")
    return wanted == page


def main(arguments):
    """The whole program; returns its exit status."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("make notes", description=__doc__, formatter_class=layout)
    add = parser.add_argument
    add("--notes", metavar="DIR", type=Path, default=results.ROOT / "notes")
    add("--check", action="store_true", help="write nothing; exit 1 on a difference")
    options = parser.parse_args(arguments)
    try:
        library = tables.Library()
        right = [update(path, library, options.check) for path in pages(options.notes)]
    except (OSError, ValueError) as error:
        print(f"make notes: {error}", file=sys.stderr)
        return 2
    return int(options.check and not all(right))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
