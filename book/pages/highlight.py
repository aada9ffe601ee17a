"""Source code as HTML, line by line: Pygments finds the words, the classes are the book's own."""

from __future__ import annotations

import bisect
import html
from functools import cache
from pathlib import PurePosixPath

import pygments.lexers
from pygments.lexers.c_cpp import CppLexer
from pygments.token import Token
from pygments.util import ClassNotFound

CUDA_KEYWORDS = {
    "__global__", "__device__", "__host__", "__shared__", "__constant__", "__grid_constant__",
    "__launch_bounds__", "__restrict__", "DEVICE", "HOST_DEVICE",
}  # fmt: skip
CUDA_VARIABLES = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"}
# A class of style.css for a kind of token; the first that fits, so the narrow ones stand first.
CLASSES = (
    (Token.Comment.PreprocFile, "s"),
    (Token.Comment.Preproc, "p"),
    (Token.Comment, "c"),
    (Token.Keyword.Type, "t"),
    (Token.Keyword, "k"),
    (Token.Operator.Word, "k"),
    (Token.Name.Builtin, "b"),
    (Token.Name.Function, "f"),
    (Token.Name.Tag, "k"),
    (Token.Literal.String, "s"),
    (Token.Literal.Number, "m"),
    (Token.Generic.Deleted, "gd"),
    (Token.Generic.Inserted, "gi"),
    (Token.Generic.Heading, "c"),
    (Token.Generic.Subheading, "c"),
)
# Files whose names say nothing to Pygments, and words behind ``` that it does not know.
LEXERS = {".cuh": "cuda", ".cu": "cuda", ".clang-format": "yaml", ".patch": "diff"}


class CudaLexer(CppLexer):
    """C++ with CUDA's own words. Pygments' own CUDA lexer knows C alone."""

    name = "CUDA C++"

    def get_tokens_unprocessed(self, text, stack=("root",)):
        """As CppLexer, with these words found."""
        for index, kind, value in super().get_tokens_unprocessed(text, stack):
            if kind in Token.Name or kind in Token.Keyword:
                if value in CUDA_KEYWORDS:
                    kind = Token.Keyword
                elif value in CUDA_VARIABLES:
                    kind = Token.Name.Builtin
            yield index, kind, value


def lexer_named(name):
    """The lexer of that name, or one that finds nothing. It keeps every blank and newline."""
    if name in ("cuda", "cu", "c++", "cpp"):
        return CudaLexer(stripnl=False, ensurenl=False)
    try:
        return pygments.lexers.get_lexer_by_name(name or "text", stripnl=False, ensurenl=False)
    except ClassNotFound:
        return pygments.lexers.get_lexer_by_name("text", stripnl=False, ensurenl=False)


def lexer_of(path):
    """The lexer for a file, by its name."""
    path = PurePosixPath(path)
    known = LEXERS.get(path.suffix) or LEXERS.get(path.name)
    if known or path.name == "run":
        return lexer_named(known or "bash")
    try:
        return pygments.lexers.get_lexer_for_filename(path.name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return lexer_named("text")


@cache
def class_of(kind):
    """The class of a kind of token, '' for plain text."""
    for group, name in CLASSES:
        if kind in group:
            return name
    return ""


def lines_of(text, lexer):
    """The lines of a text without their ends, each a list of (class, text)."""
    lines = [[]]
    for kind, value in lexer.get_tokens(text):
        name = class_of(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((name, part))
    if not lines[-1]:
        lines.pop()  # what stands behind the last newline is no line
    return lines


@cache
def file_lines(path, text):
    """The lines of a file of that name. What is returned must not be changed."""
    return lines_of(text, lexer_of(path))


def span(name, text):
    """A piece of a line as HTML."""
    escaped = html.escape(text, quote=False)
    return f'<span class="{name}">{escaped}</span>' if name else escaped


def line_html(line, marks=(), tag="mark"):
    """One line as HTML. `marks` are (begin, end) of the characters that stand in `tag`."""
    if not marks:
        return "".join(span(*piece) for piece in line)
    edges = [edge for mark in marks for edge in mark]
    made, at = [], 0
    for name, text in line:
        end = at + len(text)
        while at < end:
            behind = bisect.bisect_right(edges, at)  # how many edges are at or before this place
            if edges[behind - 1 : behind] == [at] and behind % 2:
                made.append(f"<{tag}>")
            until = min([end, *edges[behind : behind + 1]])
            made.append(span(name, text[len(text) - (end - at) :][: until - at]))
            at = until
            if behind % 2 and at == edges[behind]:
                made.append(f"</{tag}>")
    return "".join(made)


def block_html(text, language):
    """A fenced block of a note."""
    lines = lines_of(text, lexer_named(language))
    return "<pre><code>" + "\n".join(map(line_html, lines)) + "\n</code></pre>\n"
