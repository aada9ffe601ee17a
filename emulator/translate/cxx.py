"""The tokens of a CUDA C++ file, and its asm statements: their strings, operands and lines. One in a
macro's body is found there, once.
"""

from __future__ import annotations

import codecs
import copy
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# A token, or what separates tokens. Directives end at a newline without a backslash before it.
TOKENS = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
      | (?P<splice>\\\n)
      | (?P<newline>\n)
      | (?P<space>[^\S\n]+)
      | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      | (?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
      | (?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
      | (?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)
      | (?P<word>[A-Za-z_$][\w$]*)
      | (?P<mark>::|->|<<<|>>>|\#\#|.)""",
    re.VERBOSE | re.DOTALL,
)
NOTHING = ("comment", "splice", "newline", "space")
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
    directive: int  # the number of the preprocessor's directive that it is part of, from 1; or 0


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

    begin: int
    end: int
    line: int
    in_macro: bool
    text: str = ""  # of all its strings, with escapes replaced
    lines: list[int] = field(default_factory=list)  # of each character of the text
    outputs: list[Operand] = field(default_factory=list)
    inputs: list[Operand] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)  # line, what
    # Which definitions it has of string macros with several.
    macros: dict[str, str] = field(default_factory=dict)
    # With an #if inside: each branch's directive, and the statement as it is there.
    branches: list[tuple[str, list[Asm]]] = field(default_factory=list)


def tokens_of(text: str) -> list[Token]:
    """All tokens but comments and spaces."""
    found: list[Token] = []
    line, directive, directives, at_line_start = 1, 0, 0, True
    for match in TOKENS.finditer(text):
        kind, piece = match.lastgroup or "", match.group()
        if kind == "newline":
            at_line_start, directive = True, 0
        elif kind not in NOTHING:
            if piece == "#" and at_line_start:
                directive = directives = directives + 1
            at_line_start = False
            found.append(Token(kind, piece, match.start(), match.end(), line, directive))
        line += piece.count("\n")
    return found


def edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    """The text with what is between two offsets replaced."""
    pieces, at = [], 0
    for begin, end, new in sorted(edits):
        pieces += [text[at:begin], new]
        at = end
    return "".join(pieces) + text[at:]


def parts_of(tokens: list[Token]) -> list[list[Token]]:
    """Those that are in no directive, and those of each directive."""
    parts: dict[int, list[Token]] = {0: []}
    for token in tokens:
        parts.setdefault(token.directive, []).append(token)
    return list(parts.values())


def without_comments(text: str) -> str:
    """The text with blanks for comments."""

    def one(match: re.Match) -> str:
        if match.lastgroup != "comment":
            return match.group()
        return re.sub(r"[^\n\\]|\\(?!\n)", " ", match.group())

    return TOKENS.sub(one, text)


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


def string_macros(tokens: list[Token]) -> dict[str, list[str]]:
    """Macros that are nothing but strings: the literals of each definition."""
    macros: dict[str, list[str]] = {}
    for directive in parts_of(tokens)[1:]:
        value = directive[3:]
        is_text = value and all(token.kind == "string" for token in value)
        if is_text and directive[1].text == "define":
            known = macros.setdefault(directive[2].text, [])
            known += [spelled(value)] * (spelled(value) not in known)
    return macros


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


def read_template(asm: Asm, tokens: list[Token], macros: dict[str, str]) -> None:
    for token in tokens:
        literals = [token.text] if token.kind in ("string", "raw") else []
        if token.kind == "word" and token.text in macros:
            literals = re.findall(r'"(?:\\.|[^"\\])*"', macros[token.text])
        if not literals:
            what = "an asm string that is not a literal"
            asm.problems.append((token.line, f"{what}: `{token.text}`"))
            return
        for literal in literals:
            for char, newlines in unescaped(literal):
                asm.text += char
                asm.lines.append(token.line + newlines)


def read_operands(asm: Asm, tokens: list[Token]) -> list[Operand]:
    operands = []
    for part in split(tokens, ",", in_angles=False):
        line = part[0].line if part else asm.line
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


def branches_of(tokens: list[Token]) -> list[tuple[str, list[Token]]]:
    """The branches of the first #if among a statement's tokens, each with all that the statement is
    there; none if there is no #if."""
    runs = [list(run) for _, run in itertools.groupby(tokens, lambda one: one.directive)]
    marks, depth = [], 0
    for index, run in enumerate(runs):
        word = run[1].text if run[0].directive != tokens[0].directive else ""
        depth += word.startswith("if")
        if depth == 1 and word.startswith(("if", "el", "endif")):
            marks.append(index)
        depth -= word == "endif"
        if marks and depth == 0:
            break
    some = [(spelled(runs[a]), runs[a + 1 : b]) for a, b in zip(marks, marks[1:])]
    some += [("#else", [])] if some and not some[-1][0].endswith("else") else []
    rest = [runs[: marks[0]], runs[marks[-1] + 1 :]] if marks else []
    return [(text, list(itertools.chain(*rest[0], *chosen, *rest[1]))) for text, chosen in some]


def read_asm(tokens: list[Token], first: int, macros: dict[str, list[str]]) -> list[Asm]:
    """The asm statement whose keyword is tokens[first], once for each way in which its string macros
    are defined; none if it is something else."""
    index = first + 1
    while index < len(tokens) and tokens[index].text in QUALIFIERS:
        index += 1
    if index == len(tokens) or tokens[index].text != "(":
        return []
    close = closing_of(tokens, index)
    start, last = tokens[first], tokens[min(close, len(tokens) - 1)]
    inside = tokens[index + 1 : close]
    asm = Asm(start.begin, last.end, start.line, start.directive != 0)
    odd = [token for token in inside if token.directive != start.directive]
    if close == len(tokens):
        asm.problems.append((start.line, "an asm statement that does not end"))
    elif odd:
        some = branches_of(tokens[first : close + 1])
        asm.branches = [(text, read_asm(branch, 0, macros)) for text, branch in some]
    if odd and not asm.branches:
        asm.problems.append((odd[0].line, "a preprocessor directive inside of an asm statement"))
    if asm.problems or asm.branches:
        return [asm]
    if any(token.text == "goto" for token in tokens[first:index]):
        asm.problems.append((start.line, "asm goto"))
    template, outputs, inputs, *_ = [*split(inside, ":", in_angles=False), [], [], []]
    asm.outputs, asm.inputs = read_operands(asm, outputs), read_operands(asm, inputs)
    used = sorted({token.text for token in template} & macros.keys())
    made = []
    for values in itertools.product(*(macros[name] for name in used)):
        one = copy.deepcopy(asm)
        one.macros = {name: value for name, value in zip(used, values) if len(macros[name]) > 1}
        read_template(one, template, dict(zip(used, values)))
        made.append(one)
    return made


def asm_statements(tokens: list[Token], macros: dict[str, list[str]]) -> Iterator[list[Asm]]:
    """The asm statements in their order."""
    end = 0
    for index, token in enumerate(tokens):
        is_asm = token.kind == "word" and token.text in ASM and token.begin >= end
        variants = read_asm(tokens, index, macros) if is_asm else []
        if variants:
            end = variants[0].end
            yield variants
