"""The tokens of CUDA C++ that the preprocessor has read, and its asm statements: their strings,
operands and lines.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# A token, or what separates tokens. Of the preprocessor's lines the markers say which line follows.
TOKENS = re.compile(
    r"""(?P<marker>^\#\ (?P<line>\d+)\ (?P<file>"(?:\\.|[^"\\\n])*")[^\n]*)
      | (?P<space>\s+|^\#[^\n]*)
      | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
      | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
      | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
      | (?P<word>[A-Za-z_$][\w$]*)
      | (?P<mark>::|->|<<<|>>>|\#\#|.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
ASM = ("asm", "__asm__", "__asm")
QUALIFIERS = ("volatile", "__volatile__", "__volatile", "inline", "__inline__", "goto")
OPENING, CLOSING = "([{", ")]}"


@dataclass
class Token:
    kind: str
    text: str
    begin: int  # offset in the file's text
    end: int
    line: int
    file: str


@dataclass
class Operand:
    """`[name] "constraint"(expression)`."""

    constraint: str
    expression: str
    name: str
    line: int


@dataclass
class Asm:
    """An asm statement without the semicolon after it."""

    first: Token
    last: Token
    text: str = ""  # of all its strings, with escapes replaced
    lines: list[int] = field(default_factory=list)  # of each character of the text
    outputs: list[Operand] = field(default_factory=list)
    inputs: list[Operand] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)  # line, what


def tokens_of(text: str, line: int = 1, file: str = "") -> list[Token]:
    """Of a text that begins in that line."""
    found: list[Token] = []
    for match in TOKENS.finditer(text):
        kind, piece = match.lastgroup or "", match.group()
        if kind == "marker":
            line, file = int(match["line"]) - 1, name_in(match["file"])
        elif kind != "space":
            found.append(Token(kind, piece, match.start(), match.end(), line, file))
        line += piece.count("\n")
    return found


def edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with what is between two offsets replaced."""
    pieces, at = [], 0
    for begin, end, new in sorted(edits):
        pieces += [text[at:begin], new]
        at = end
    return "".join(pieces) + text[at:]


def without_comments(text: str) -> str:
    """The text with blanks for comments."""
    comments = re.compile(r"//(?:\\\n|[^\n])*|/\*.*?\*/", re.DOTALL)
    return comments.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def unescaped(literal: str) -> list[tuple[str, int]]:
    """The characters of a string literal, each with the number of newlines before it in there."""
    raw = re.match(r'\w*R"([^()\\\s]{0,16})\((.*)\)\1"$', literal, re.DOTALL)
    escapes = re.compile(r"\\x[0-9a-fA-F]+|\\[0-7]{1,3}|\\.|[^\\]", re.DOTALL)
    pieces = raw[2] if raw else escapes.findall(literal, literal.index('"') + 1, len(literal) - 1)
    out, newlines = [], 0
    for piece in pieces:
        if piece != "\\\n":
            # Of what is no escape the character after the backslash counts.
            character = codecs.decode(piece, "unicode_escape", "replace") if piece[1:] else piece
            out.append((character[-1:], newlines))
        newlines += piece in ("\n", "\\\n")
    return out


def name_in(literal: str) -> str:
    """A file's name in a marker, whose escapes are bytes."""
    bytes_of = "".join(char for char, _ in unescaped(literal)).encode("latin-1")
    return bytes_of.decode("utf-8", "surrogateescape")


def closing_of(tokens: list[Token], opening: int) -> int:
    """The index of the token that closes the bracket at `opening`; len(tokens) if none does."""
    depth = 0
    for index in range(opening, len(tokens)):
        text = tokens[index].text
        depth += (text in OPENING) - (text in CLOSING) if tokens[index].kind == "mark" else 0
        if depth == 0:
            return index
    return len(tokens)


def angles(token: Token) -> int:
    """How much deeper in <> what follows the token is."""
    if token.kind != "mark" or token.text == "->":
        return 0
    return token.text.count("<") - token.text.count(">")


def split(tokens: list[Token], mark: str, in_angles: bool = True) -> list[list[Token]]:
    """What lies between the marks that are in no brackets, with in_angles not in <> either. `::`
    counts as two colons."""
    parts: list[list[Token]] = [[]] if tokens else []
    index, depth = 0, 0
    while index < len(tokens):
        token = tokens[index]
        last = closing_of(tokens, index) if token.text in OPENING else index
        depth += angles(token) if in_angles else 0
        if depth == 0 and (token.text == mark or (mark == ":" and token.text == "::")):
            parts.extend([] for _ in token.text)
        else:
            parts[-1] += tokens[index : last + 1]
        index = last + 1
    return parts


def first_outside(tokens: list[Token], begin: int, wanted: str | list[str]) -> int:
    """The index of the first of these that is in no brackets; len(tokens) if there is none."""
    index = begin
    while index < len(tokens) and tokens[index].text not in wanted:
        if tokens[index].text in CLOSING:
            return len(tokens)
        index = (closing_of(tokens, index) if tokens[index].text in OPENING else index) + 1
    return min(index, len(tokens))


def spelled(tokens: list[Token]) -> str:
    """The tokens on one line."""
    out = ""
    for i, token in enumerate(tokens):
        apart = i > 0 and tokens[i - 1].end < token.begin
        out += (" " if apart else "") + token.text
    return out


def read_template(asm: Asm, tokens: list[Token]) -> None:
    for token in tokens:
        if token.kind not in ("string", "raw"):
            what = "an asm string that is not a literal"
            asm.problems.append((token.line, f"{what}: `{token.text}`"))
            return
        for char, newlines in unescaped(token.text):
            asm.text += char
            asm.lines.append(token.line + newlines)


def read_operands(asm: Asm, tokens: list[Token]) -> list[Operand]:
    operands = []
    for part in split(tokens, ",", in_angles=False):
        line = part[0].line if part else asm.first.line
        name = ""
        if len(part) > 3 and part[0].text == "[" and part[2].text == "]":
            name, part = part[1].text, part[3:]
        whole = len(part) > 2 and part[0].kind == "string" and part[1].text == "("
        if not whole or closing_of(part, 1) != len(part) - 1:
            asm.problems.append((line, f"an asm operand: `{spelled(part)}`"))
            continue
        constraint = "".join(char for char, _ in unescaped(part[0].text))
        operands.append(Operand(constraint, spelled(part[2:-1]), name, line))
    return operands


def read_asm(tokens: list[Token], first: int) -> Asm | None:
    """The asm statement whose keyword is tokens[first]; None if it is something else."""
    index = first + 1
    while index < len(tokens) and tokens[index].text in QUALIFIERS:
        index += 1
    if index == len(tokens) or tokens[index].text != "(":
        return None
    close = closing_of(tokens, index)
    asm = Asm(tokens[first], tokens[min(close, len(tokens) - 1)])
    if close == len(tokens):
        asm.problems.append((asm.first.line, "an asm statement that does not end"))
        return asm
    if any(token.text == "goto" for token in tokens[first:index]):
        asm.problems.append((asm.first.line, "asm goto"))
    parts = split(tokens[index + 1 : close], ":", in_angles=False)
    template, outputs, inputs, *_ = [*parts, [], [], []]
    asm.outputs, asm.inputs = read_operands(asm, outputs), read_operands(asm, inputs)
    read_template(asm, template)
    return asm


def asm_statements(tokens: list[Token]) -> Iterator[Asm]:
    """The asm statements in their order, without those in operands of others."""
    end = 0
    for index, token in enumerate(tokens):
        is_asm = token.kind == "word" and token.text in ASM and token.begin >= end
        asm = read_asm(tokens, index) if is_asm else None
        if asm is not None:
            end = asm.last.end
            yield asm
