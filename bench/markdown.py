"""What a note is made of: text, code, and blocks between markers that make notes writes.

    <!-- rung v07 -->        a block: everything up to its end is written by make notes
    <!-- end -->
    <!--=v07 tflops-->800 TFLOPS<!--/-->       one figure in a line of text

Markers in code, fenced or between backticks, are code. ValueError for one that has no partner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KINDS = "rung|variants|shapes|sweep|figures|hazard|agreement|energy|quantised|fp8|sources"
END = "<!-- end -->"
DASH = "–"  # in a cell without a figure
# What is not text: a block, a table of the README (whose body is written by someone else), or code.
PIECE = re.compile(
    rf"""
    ^<!--[ ](?P<block>(?:{KINDS})\b[^<>\n]*?)[ ]-->\n
    (?:(?!<!--[ ](?:{KINDS})\b).*\n)*?
    <!--[ ]end[ ]-->$\n?
    |
    ^<!--[ ](?P<table>[a-z]+):begin[ ]-->\n
    (?:.*\n)*?
    <!--[ ](?P=table):end[ ]-->$\n?
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
STRAY = re.compile(
    rf"<!--=|<!--/-->|^<!-- (?:(?:{KINDS})\b|end -->$|[a-z]+:begin -->$)", re.MULTILINE
)

# What means something to HTML or Markdown; a | does in a table alone, whose row takes care of it.
LIVE = re.compile(r"[&<>`\[\]\\]")


def plain(text):
    """A text of a record's, to be shown as it is."""
    names = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
    return LIVE.sub(lambda match: names.get(match[0]) or f"&#{ord(match[0])};", text)


def table(rows, words=2):
    """The lines of a table; its first row is the header, its first columns are words."""
    alignment = [*["---"] * words, *["---:"] * (len(rows[0]) - words)]
    escaped = [[cell.replace("|", "\\|") for cell in cells] for cells in rows]
    lines = [f"| {' | '.join(cells)} |" for cells in escaped]
    return [lines[0], f"|{'|'.join(alignment)}|", *lines[1:]]


@dataclass(frozen=True)
class Segment:
    """A stretch of whole lines of a note."""

    kind: str  # text, code, block or table
    text: str
    line: int  # of its first line, from 1
    words: tuple = ()  # of a block's marker


def line_of(text, position):
    """How many lines come before that place."""
    return text.count("\n", 0, position)


def segments(note):
    """The segments of a note, in order; their texts add up to it."""
    found, end = [], 0
    for piece in [*PIECE.finditer(note), None]:
        text = note[end : piece.start() if piece else None]
        if text:
            found.append(Segment("text", text, 1 + line_of(note, end)))
            check_stray(found[-1])
        if piece:
            kind = next(kind for kind in ("block", "table", "code") if piece[kind])
            words = (piece["block"] or "").split()
            found.append(Segment(kind, piece[0], 1 + line_of(note, piece.start()), tuple(words)))
            end = piece.end()
    return found


def check_stray(segment):
    """ValueError if half of a marker stands in the text."""

    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    stray = STRAY.search(FIGURE.sub(blank, segment.text))
    if stray:
        place = segment.line + line_of(segment.text, stray.start())
        raise ValueError(
            f"line {place}: '{stray[0]}' has no partner, or is followed by '<' or more"
        )


def replace_figures(segment, text_of):
    """The text of a segment with every figure replaced by text_of(expression)."""

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
