#!/usr/bin/env python3
"""Fills notes/**/*.md and the README from recorded results: blocks and single figures.

notes/README.md describes the markers of blocks (<!-- rung v07 -->) and of figures in a line of text
(<!--=v07 tflops-->). --check writes nothing and exits 1 if a note says anything else.

Exit status: 0 done (or equal), 1 a note differs, 2 bad usage or a file that cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import markdown, process
from bench.records import recorded
from notes.tools import expressions, note_blocks, readings, readme_table


def fill_block(segment, library):
    """A block's markers with what belongs between them."""
    head = segment.text.splitlines()[0]
    try:
        lines = note_blocks.lines_of(library, segment.words)
    except ValueError as error:
        raise ValueError(f"line {segment.line}: {error}") from error
    return "\n".join([head, *lines, markdown.END, ""])


def fill(note, library):
    """The note with its single figures and its blocks filled; the blocks of sources at the end, when
    all that was used is known. ValueError for a marker that isn't understood."""
    library.used = []
    evaluator = expressions.Evaluator(library)
    parts = markdown.segments(note)
    texts = [segment.text for segment in parts]
    sources = [index for index, segment in enumerate(parts) if segment.words[:1] == ("sources",)]
    for index, segment in enumerate(parts):
        if segment.kind == "text":
            texts[index] = markdown.replace_figures(segment, evaluator.text)
        elif segment.kind == "block" and index not in sources:
            texts[index] = fill_block(segment, library)
    for index in sources:
        texts[index] = fill_block(parts[index], library)
    return "".join(texts)


def pages(notes):
    """All notes, and the README beside their folder if there is one."""
    found = sorted(notes.glob("**/*.md"))
    readme = notes.parent / "README.md"
    return [*found, readme] if readme.exists() else found


def update(options):
    """Writes or compares all notes; returns the exit status."""
    library = readings.Library(options.results, variants=options.variants)
    status = 0
    for path in pages(options.notes):
        note = path.read_text(encoding="utf-8")
        try:
            wanted = fill(note, library)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        words = "not what notes_tables.py would write; 'make notes'", "filled"
        status |= readme_table.put(path, note, wanted, options.check, words)
    return status


def main(arguments=None):
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description="Fill the notes from recorded results.", allow_abbrev=False
    )
    add = parser.add_argument
    add("--variants", metavar="FILE", type=Path, help="default: newest run with variants")
    add("--results", metavar="DIR", type=Path, default=recorded.RESULTS)
    add("--notes", metavar="DIR", type=Path, default=recorded.ROOT / "notes")
    add("--check", action="store_true", help="write nothing; exit 1 on a difference")
    return readme_table.status_of("notes_tables", update, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(process.ended(main))
