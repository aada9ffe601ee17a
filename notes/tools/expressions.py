"""The figures in the sentences of the notes: `v07/v06 tflops @4096 as gain`.

    figure := who ["/" who] quantity {"@" selector} ["as" format]

notes/README.md says what each of them means. Every error is an ExpressionError.
"""

from __future__ import annotations

import re

from notes.tools import quantities, readings
from notes.tools.quantities import ExpressionError

FIGURE = re.compile(
    r"(?P<who>[a-z][\w-]*(?:/[a-z][\w-]*)?) (?P<quantity>[A-Za-z_][\w.-]*)"
    r"(?P<selectors>(?: @\w+)*)(?: as (?P<form>.+))?"
)


class Evaluator:
    """Expressions to texts, from the records of a library."""

    def __init__(self, library):
        self.library = library

    def text(self, expression):
        """What stands for an expression, a quotient from one record. ExpressionError, quoting it,
        if nothing can."""
        words = " ".join(expression.split())
        match = FIGURE.fullmatch(words)
        try:
            if not match:
                raise ExpressionError("write who and a quantity: v07/v06 tflops @4096 as gain")
            selectors = tuple(word[1:] for word in match["selectors"].split())
            who = match["who"].split("/")
            requests = [readings.Request(one, match["quantity"], selectors) for one in who]
            answers = readings.answer(requests, self.library)
            found = [answers[request] for request in requests]
            quantity = quantities.divide(*found) if len(found) > 1 else found[0]
            return quantities.write_as(quantity, (match["form"] or "").split())
        except ExpressionError as error:
            raise ExpressionError(f"'{words}': {error}") from error
