#!/usr/bin/env python3
"""Fills notes/**/*.md and the README from recorded results: blocks and single figures.

notes/writing-a-note.md describes the markers of blocks (<!-- rung v07 -->) and of figures in a line of text
(<!--=v07 tflops-->). --check writes nothing and exits 1 if a note says anything else.

Exit status: 0 done (or equal), 1 a note differs, 2 bad usage or a file that cannot be read.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench import markdown, process
from bench.records import recorded
from notes.tools import note_blocks, readings, readme_table


def fill(note, library):
    """The note with its single figures and its blocks filled; the blocks of sources at the end,
    when all that was used is known. ValueError for a marker that isn't understood."""
    library.used = []
    text_of = partial(readings.text_of, library=library)
    parts = markdown.segments(note)
    texts = {part.line: part.text for part in parts}
    for part in sorted(parts, key=lambda part: part.words[:1] == ("sources",)):
        if part.kind == "text":
            texts[part.line] = markdown.replace_figures(part, text_of)
        elif part.kind == "block":
            try:
                lines = note_blocks.lines_of(library, part.words)
            except ValueError as error:
                raise ValueError(f"line {part.line}: {error}") from error
            marker = part.text.splitlines()[0]
            texts[part.line] = "\n".join([marker, *lines, markdown.END, ""])
    return "".join(texts.values())


def pages(notes):
    """All notes, and the README beside their folder if there is one."""
    found = sorted(notes.glob("**/*.md"))
    readme = notes.parent / "README.md"
    return [*found, readme] if readme.exists() else found


def main(arguments):
    """The whole program; returns its exit status."""
    parser = process.parser(__doc__)
    add = parser.add_argument
    add("--variants", metavar="FILE", type=Path, help="default: newest run with variants")
    add("--results", metavar="DIR", type=Path, default=recorded.RESULTS)
    add("--notes", metavar="DIR", type=Path, default=recorded.ROOT / "notes")
    add("--check", action="store_true", help="write nothing; exit 1 on a difference")
    options = parser.parse_args(arguments)
    library = readings.Library(options.results, variants=options.variants)
    filled = partial(fill, library=library)
    return readme_table.update("make notes", pages(options.notes), filled, options.check)


if __name__ == "__main__":
    process.run_as("make notes", main, {})
