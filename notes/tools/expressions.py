"""The figures in the sentences of the notes: `v07/v06 tflops @4096 as gain`.

    figure := who ["/" who] quantity {"@" selector} ["as" format]

notes/README.md says what each of them means. Every error is an ExpressionError.
"""

from __future__ import annotations

import re

from notes.tools import quantities, readings
from notes.tools.quantities import ExpressionError

WHO = r"[a-z][a-z0-9_]*(?:-[a-z0-9]+)*"
FIGURE = re.compile(
    rf"(?P<who>{WHO}(?:/{WHO})?) (?P<quantity>[A-Za-z_][\w.-]*)"
    r"(?P<selectors>(?: @[A-Za-z0-9]+)*)(?: as (?P<form>.+))?"
)


class Evaluator:
    """Expressions to texts, from the records of a library."""

    def __init__(self, library):
        self.library = library

    def text(self, expression):
        """What stands for an expression, a quotient from one record. ExpressionError, quoting it, if
        nothing can."""
        words = " ".join(expression.split())
        try:
            match = FIGURE.fullmatch(words)
            if not match:
                raise ExpressionError("write who and a quantity: v07/v06 tflops @4096 as gain")
            selectors = tuple(word[1:] for word in match["selectors"].split())
            who = [
                readings.Request(one, match["quantity"], selectors)
                for one in match["who"].split("/")
            ]
            answers = readings.answer(who, self.library)
            found = [answers[request] for request in who]
            quantity = quantities.divide(*found) if len(found) > 1 else found[0]
            return quantities.write_as(quantity, (match["form"] or "").split())
        except ExpressionError as error:
            raise ExpressionError(f"'{words}': {error}") from error
