"""The expressions of the notes: `v07/v06 tflops as more`, `v07 cycles / 16 as cycles`.

    expression := sum ["as" format]
    sum        := product {("+" | "-") product}
    product    := factor {("*" | "/") factor}
    factor     := number | "(" sum ")" | "const" name | reading
    reading    := who ["/" who] figure {"@" selector}

notes/README.md says what each of them means. Nothing here is handed to Python to evaluate. Every
error is an ExpressionError.
"""

from __future__ import annotations

import re
from pathlib import Path

from bench.records import recorded
from notes.tools import quantities, readings
from notes.tools.quantities import ExpressionError, Quantity

CONSTANTS = recorded.ROOT / "notes" / "constants.md"
TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?(?![\w.]))"
    r"|(?P<word>[A-Za-z_][\w.]*(?:-[a-z0-9]+)*)"
    r"|(?P<selector>@[A-Za-z0-9]+)"
    r"|(?P<sign>[-+*/()]))"
)
CONSTANT_ROW = re.compile(r"^\| `(?P<name>\w+)` \| (?P<value>[^|]*) \| (?P<source>[^|]*) \|$")
LEADING_NUMBER = re.compile(r"[0-9][0-9,]*(?:\.[0-9]+)?")
DEEPEST = 20  # parentheses in each other


def read_constants(path=CONSTANTS):
    """{name: text} of the table of constants. ValueError for a row that is none, or a second one."""
    found = {}
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if not line.startswith("| `"):
            continue
        row = CONSTANT_ROW.match(line)
        if not row or not row["value"].strip() or not row["source"].strip():
            raise ValueError(f"{path}: not | `name` | value | source |: {line}")
        if row["name"] in found:
            raise ValueError(f"{path}: a second {row['name']}")
        found[row["name"]] = row["value"].strip()
    return found


def tokens_of(text):
    """[(kind, text)] of an expression."""
    found, position, text = [], 0, text.rstrip()
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            raise ExpressionError(f"not understood from here on: {text[position:].strip()}")
        found.append((match.lastgroup, match[match.lastgroup]))
        position = match.end()
    return found


class Parser:
    """Recursive descent; every method returns a tree: a tuple whose first element says what."""

    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.place = 0
        self.depth = 0

    def peek(self, ahead=0):
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else ("end", "the end")

    def take(self):
        token = self.peek()
        self.place += 1
        return token

    def signs(self, wanted, part):
        """part {sign part}, from left to right."""
        tree = part()
        while self.peek() in {("sign", sign) for sign in wanted}:
            sign = self.take()[1]
            tree = (sign, tree, part())
        return tree

    def sum(self):
        return self.signs("+-", self.product)

    def product(self):
        return self.signs("*/", self.factor)

    def factor(self):
        kind, text = self.take()
        if kind == "number":
            return ("number", float(text))
        if (kind, text) == ("sign", "("):
            return self.parenthesis()
        if (kind, text) == ("word", "const"):
            return ("const", self.word("the name of a constant"))
        if kind == "word":
            return self.reading(text)
        raise ExpressionError(f"'{text}' where a number, a name or a parenthesis should stand")

    def parenthesis(self):
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f"more than {DEEPEST} parentheses in each other")
        tree = self.sum()
        if self.take() != ("sign", ")"):
            raise ExpressionError("a parenthesis is not closed")
        self.depth -= 1
        return tree

    def word(self, what):
        kind, text = self.take()
        if kind != "word":
            raise ExpressionError(f"'{text}' where {what} should stand")
        return text

    def reading(self, subject):
        """A figure of one program, or of one over another's."""
        below = None
        if self.peek() == ("sign", "/"):
            self.take()
            below = self.word("the program to divide by")
        figure = self.word(f"a figure of {below or subject}")
        selectors = []
        while self.peek()[0] == "selector":
            selectors.append(self.take()[1][1:])
        own = ("reading", readings.Request(subject, figure, tuple(selectors)))
        if below is None:
            return own
        return ("/", own, ("reading", readings.Request(below, figure, tuple(selectors))))

    def whole(self):
        tree = self.sum()
        if self.place < len(self.tokens):
            raise ExpressionError(f"'{self.peek()[1]}' is too much")
        return tree


def requests_of(tree):
    """All requests in a tree."""
    if tree[0] == "reading":
        return [tree[1]]
    if tree[0] in ("number", "const"):
        return []
    return requests_of(tree[1]) + requests_of(tree[2])


class Evaluator:
    """Expressions to texts, from the records of a library."""

    def __init__(self, library, constants=CONSTANTS):
        self.library = library
        self.path = constants
        self.known = None

    def constant(self, name):
        """The text of a constant."""
        if self.known is None:
            self.known = read_constants(self.path)
        if name not in self.known:
            raise ExpressionError(f"there is no constant {name} in {Path(self.path).name}")
        return self.known[name]

    def number_of_constant(self, name):
        """What it begins with, as a number."""
        number = LEADING_NUMBER.match(self.constant(name))
        if not number:
            raise ExpressionError(f"the constant {name} does not begin with a number")
        return float(number[0].replace(",", ""))

    def value(self, tree, answers):
        """The quantity of a tree."""
        if tree[0] == "number":
            return Quantity(tree[1], "number")
        if tree[0] == "const":
            return Quantity(self.number_of_constant(tree[1]), "number")
        if tree[0] == "reading":
            return answers[tree[1]]
        left, right = self.value(tree[1], answers), self.value(tree[2], answers)
        if tree[0] == "*":
            return quantities.multiply(left, right)
        if tree[0] == "/":
            return quantities.divide(left, right)
        return quantities.add(left, right, 1 if tree[0] == "+" else -1)

    def text(self, expression):
        """What stands for an expression. ExpressionError, quoting it, if nothing can."""
        words = " ".join(expression.split())
        try:
            body, _, form = words.partition(" as ")
            tree = Parser(body).whole()
            if tree[0] == "const" and not form:
                return self.constant(tree[1])
            answers = readings.answer(requests_of(tree), self.library)
            return quantities.write_as(self.value(tree, answers), form.split())
        except ExpressionError as error:
            raise ExpressionError(f"'{words}': {error}") from error
