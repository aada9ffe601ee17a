"""What a note is made of: text, code, and blocks between markers that make notes writes.

    <!-- rung v07 -->        a block: everything up to its end is written by make notes
    <!-- end -->
    <!--=v07 tflops-->800 TFLOPS<!--/-->       one figure in a line of text

Markers in code, fenced or between backticks, are code. ValueError for one that has no partner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE = re.compile(r" {0,3}(```+|~~~+)")
KINDS = "rung|variants|shapes|figures|hazard|agreement|energy|sources"
BLOCK = re.compile(r"<!-- (?P<words>(?:" + KINDS + r")\b[^<>]*?) -->")
GENERATED = re.compile(r"<!-- (?P<name>[a-z]+):begin -->")  # of the README
END = "<!-- end -->"
CODE_SPAN = r"(?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
FIGURE = re.compile(
    CODE_SPAN + r"|<!--=(?P<expression>[^<>]*?)-->(?P<value>[^<]*?)<!--/-->", re.DOTALL
)
STRAY = re.compile(r"<!--=|<!--/-->")

# What means something to HTML or Markdown; a | does in a table alone, whose row takes care of it.
LIVE = re.compile(r"[&<>`\[\]\\]")


def plain(text):
    """A text of a record's, to be shown as it is."""
    names = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return LIVE.sub(lambda match: names.get(match[0]) or f"&#{ord(match[0])};", text)


def row(cells):
    """One row of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(rows, words=2):
    """The lines of a table; its first row is the header, its first columns are words."""
    alignment = [*["---"] * words, *["---:"] * (len(rows[0]) - words)]
    return [row(cells) for cells in (rows[0], alignment, *rows[1:])]


@dataclass(frozen=True)
class Segment:
    """A stretch of whole lines of a note."""

    kind: str  # text, code, block or table (whose body is written by someone else)
    text: str
    line: int  # of its first line, from 1
    words: tuple = ()  # of a block's marker


def closing_of(line):
    """How the block that this line begins ends, and of which kind it is; or None."""
    if BLOCK.fullmatch(line):
        return END, "block"
    match = GENERATED.fullmatch(line)
    return (f"<!-- {match['name']}:end -->", "table") if match else None


def end_of_fence(lines, start):
    """The line behind a fenced block."""
    mark = FENCE.match(lines[start])[1]
    for index in range(start + 1, len(lines)):
        text = lines[index].strip()
        if text.startswith(mark) and not text.strip(mark[0]):
            return index + 1
    return len(lines)


def end_of_block(lines, start, closing):
    """The line behind a block. ValueError if there is none, or another block begins before."""
    for index in range(start + 1, len(lines)):
        if lines[index].rstrip("\n") == closing:
            return index + 1
        if BLOCK.fullmatch(lines[index].rstrip("\n")):
            break
    raise ValueError(f"line {start + 1}: '{lines[start].strip()}' has no {closing}")


def segments(note):
    """The segments of a note, in order; their texts add up to it."""
    lines = note.splitlines(keepends=True)
    found, text_from, index = [], 0, 0

    def close_text(until):
        if until > text_from:
            found.append(Segment("text", "".join(lines[text_from:until]), text_from + 1))

    while index < len(lines):
        line = lines[index].rstrip("\n")
        closing = closing_of(line)
        if closing is None and not FENCE.match(line):
            if line == END or BLOCK.match(line):
                raise ValueError(f"line {index + 1}: '{line}' has no partner, or more behind it")
            index += 1
            continue
        close_text(index)
        kind = closing[1] if closing else "code"
        behind = end_of_block(lines, index, closing[0]) if closing else end_of_fence(lines, index)
        match = BLOCK.fullmatch(line)
        words = tuple(match["words"].split()) if match else ()
        found.append(Segment(kind, "".join(lines[index:behind]), index + 1, words))
        index = text_from = behind
    close_text(index)
    return found


def line_of(text, position):
    """How many lines come before that place."""
    return text.count("\n", 0, position)


def check_stray(segment):
    """ValueError if half of a figure's marker stands in the text."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    stray = STRAY.search(FIGURE.sub(blank, segment.text))
    if stray:
        place = segment.line + line_of(segment.text, stray.start())
        raise ValueError(f"line {place}: '{stray[0]}' has no partner, or '<' in between")


def replace_figures(segment, text_of):
    """The text of a segment with every figure replaced by text_of(expression)."""
    check_stray(segment)

    def replace(match):
        if match["code"]:
            return match[0]
        place = segment.line + line_of(segment.text, match.start())
        try:
            value = text_of(match["expression"].strip())
        except ValueError as error:
            raise ValueError(f"line {place}: {error}") from error
        return f"<!--={match['expression']}-->{value}<!--/-->"

    return FIGURE.sub(replace, segment.text)
