"""Code as HTML, line by line, as Pygments finds the words; its short class names are in style.css."""

from __future__ import annotations

import pygments.lexers
from pygments.formatters import HtmlFormatter
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
KEEP_ALL = {"stripnl": False, "ensurenl": False}  # every blank and newline
RECORD = "static const step "  # what follows says the same in every rung


class CudaLexer(CppLexer):
    """CUDA is C++ with words of its own: Pygments' own lexer for it knows C alone."""

    def get_tokens_unprocessed(self, text, stack=("root",)):
        for at, kind, value in super().get_tokens_unprocessed(text, stack):
            yield at, CUDA.get(value, kind) if kind in Token.Name else kind, value


def marked(tokens, marks):
    """Tokens, cut where a mark begins or ends; what is in one has a kind of its own. `marks` are
    {line: [(begin, end)]}."""
    line = column = 0
    for kind, value in tokens:
        for part in value.splitlines(keepends=True):
            inside = [(begin - column, end - column) for begin, end in marks.get(line, ())]
            edges = {0, len(part), *(edge for pair in inside for edge in pair)}
            cuts = sorted(edge for edge in edges if 0 <= edge <= len(part))
            for first, last in zip(cuts, cuts[1:]):
                within = any(begin <= first < end for begin, end in inside)
                yield kind.Mark if within else kind, part[first:last]
            line, column = (line + 1, 0) if part.endswith("\n") else (line, column + len(part))


def html_of(text, lexer, marks=None):
    """A text as HTML, a line for each of its lines."""
    tokens = marked(lexer.get_tokens(text), marks or {})
    return pygments.format(tokens, HtmlFormatter(nowrap=True))


def lines_of(text, marks=None):
    """The lines of a rung as HTML."""
    return html_of(text, CudaLexer(**KEEP_ALL), marks).split("\n")


def block_html(text, language):
    """A fenced block of a note."""
    try:
        named = pygments.lexers.get_lexer_by_name(language or "text", **KEEP_ALL)
    except ClassNotFound:
        named = TextLexer(**KEEP_ALL)
    cpp = language in ("cuda", "cu", "c++", "cpp")
    code = html_of(text, CudaLexer(**KEEP_ALL) if cpp else named)
    return f"<pre><code>{code.rstrip()}\n</code></pre>\n"


class Diff:
    """What a rung changes in the text of the one below, if there is one, without the opening comments
    and step records: `blocks` are (words for what is folded or '', changed, lines), and a line is
    (its sign, its number, its HTML). The first block is the opening comment."""

    def __init__(self, old, new):
        texts = [text.partition(RECORD)[0].rstrip() + "\n" for text in (old or new, new)]
        sides = [text.splitlines() for text in texts]
        firsts = [*map(changes.first_include, sides)]
        found, marks = changes.compare(*sides, *firsts), ({}, {})
        for side, lines in enumerate(sides):  # of a line that is new as a whole no word is marked
            for number, at in (pair for block in found for pair in block.marks[side].items()):
                if lines[number].strip() != lines[number][slice(*at[0])]:
                    marks[side][number] = at
        shown = [lines_of(*pair) for pair in zip(texts, marks)]
        rows = [(None, line) for line in range(firsts[1])]
        self.blocks = [("The opening comment", False, self.lines(shown, rows, " "))]
        for block in found:
            folded = f"{len(block.rows)} unchanged lines" if old else "The code"
            sign = "" if block.changed else " "
            lines = self.lines(shown, block.rows, sign)
            self.blocks.append((folded * block.hidden, block.changed, lines))
        signs = [sign for _, _, lines in self.blocks for sign, _, _ in lines]
        self.counts = signs.count("−"), signs.count("+")

    @staticmethod
    def lines(shown, rows, sign):
        """A block's lines: of what is on both sides, the new one."""
        places = [(0, i) if j is None else (1, j) for i, j in rows]
        return [(sign or "−+"[side], line + 1, shown[side][line]) for side, line in places]
