"""Source code as HTML, line by line: Pygments finds the words, the classes are the book's own."""

from __future__ import annotations

import html
from functools import cache
from pathlib import PurePosixPath

import pygments.lexers
from pygments.lexers.c_cpp import CppLexer
from pygments.lexers.special import TextLexer
from pygments.token import Token
from pygments.util import ClassNotFound

from book.pages import changes

CUDA_KEYWORDS = """__global__ __device__ __host__ __shared__ __constant__ __grid_constant__
    __launch_bounds__ __restrict__ DEVICE HOST_DEVICE"""
CUDA_VARIABLES = "threadIdx blockIdx blockDim gridDim warpSize"
CUDA = {
    **dict.fromkeys(CUDA_KEYWORDS.split(), Token.Keyword),
    **dict.fromkeys(CUDA_VARIABLES.split(), Token.Name.Builtin),
}
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
KEEP_ALL = {"stripnl": False, "ensurenl": False}  # every blank and newline


class CudaLexer(CppLexer):
    """CUDA is C++ with words of its own: Pygments' own lexer for it knows C alone."""

    def get_tokens_unprocessed(self, text, stack=("root",)):
        for at, kind, value in super().get_tokens_unprocessed(text, stack):
            yield at, CUDA.get(value, kind) if kind in Token.Name else kind, value


def lexer_of(language="", path=""):
    """The lexer for a language, as it is named after ```, or else for a file; one that finds
    nothing for what Pygments does not know."""
    name, suffix = PurePosixPath(path).name, PurePosixPath(path).suffix
    if language in ("cuda", "cu", "c++", "cpp") or suffix in (".cu", ".cuh"):
        return CudaLexer(**KEEP_ALL)
    language = "bash" if name == "run" else language
    find = pygments.lexers.get_lexer_by_name if language else pygments.lexers.get_lexer_for_filename
    try:
        return find(language or name, **KEEP_ALL)
    except ClassNotFound:
        return TextLexer(**KEEP_ALL)


@cache
def class_of(kind):
    """The class of a kind of token, '' for plain text."""
    return next((name for group, name in CLASSES if kind in group), "")


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
    return lines if lines[-1] else lines[:-1]  # what stands behind the last newline is no line


@cache
def file_lines(path, text):
    """The lines of a file of that name. What is returned must not be changed."""
    return lines_of(text, lexer_of(path=path))


@cache
def file_html(path, text):
    """The same as HTML."""
    return [*map(line_html, file_lines(path, text))]


def span(name, text):
    """A piece of a line as HTML."""
    escaped = html.escape(text, quote=False)
    return f'<span class="{name}">{escaped}</span>' if name else escaped


def line_html(line, marks=(), tag="mark"):
    """One line as HTML. `marks` are (begin, end) of the characters that stand in `tag`; none touch."""
    if not marks:
        return "".join(span(name, text) for name, text in line)
    tags = {begin: f"<{tag}>" for begin, _ in marks} | {end: f"</{tag}>" for _, end in marks}
    made, at = [], 0
    for name, text in line:
        cuts = sorted(edge - at for edge in tags if 0 < edge - at < len(text))
        for first, last in zip([0, *cuts], [*cuts, len(text)]):
            made += [tags.get(at + first, ""), span(name, text[first:last])]
        at += len(text)
    return "".join([*made, tags.get(at, "")])


def block_html(text, language):
    """A fenced block of a note."""
    lines = lines_of(text, lexer_of(language))
    return "<pre><code>" + "\n".join(map(line_html, lines)) + "\n</code></pre>\n"


class Diff:
    """Two files side by side, as the template wants them; each is (path, text). The opening comments
    are left out: the page shows the rung's own."""

    def __init__(self, *files):
        self.lines = [file_lines(*file) for file in files]
        texts = [text for _, text in files]
        self.changed = changes.changed_lines(*texts)
        sides = [text.splitlines() for text in texts]
        self.blocks = changes.compare(*sides, *map(changes.first_include, sides))

    def cells(self, block, side):
        """(row, number, HTML) of every line on that side of a block: 0 is the old one."""
        lines, marks, tag = self.lines[side], block.marks[side], ("del", "ins")[side]
        return [
            (number, row[side] + 1, line_html(lines[row[side]], marks.get(row[side], ()), tag))
            for number, row in enumerate(block.rows, 1)
            if row[side] is not None
        ]
