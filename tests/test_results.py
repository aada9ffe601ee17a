"""Recorded results can be read, and the README and notes show what they say."""

import contextlib
import json
import math

import pytest

from bench import fields, results
from bench import trace as traces
from notes.tools import fill

RECORDS = sorted(results.RESULTS.glob("*/**/*.jsonl"))
MOST_BYTES, MOST_TRACE_BYTES = 1_947_000, 200_000
# Changes that no check can see.
ANY_WILL_DO = {  # texts for people, and names that others give
    (field, "?") for field, kind in fields.KIND_OF.items() if kind in ("text", "number-or-name")
}
ANY_WILL_DO |= {("kernel", either) for either in ("7", "2", "?")}  # a number or a name
ANY_WILL_DO |= {("context.protocol", "None")}  # a run that was not timed
ANY_WILL_DO |= {("context.problem.alpha", "-1"), ("context.problem.beta", "-1")}


@pytest.mark.check
def test_pages():
    """The pages are what make notes would write."""
    assert fill.main(["--check"]) == 0


@pytest.mark.check
@pytest.mark.parametrize("path", RECORDS, ids=lambda path: "/".join(path.parts[-2:]))
def test_rows(path):
    """Each row is in a folder of its GPU, measured from a tree without changes, and each program has a
    result or none."""
    for one in results.load(path):
        assert results.slug(one.gpu) in path.parts
        assert one.date and not one.commit.endswith("+dirty")
        assert not one.old or path.stem == one.commit
        assert one.measured and not {*one.failed} & {*one.rows}


def accepted(row, known):
    """(field, value) of the wrong values with which a row passes, in any of its fields but the known."""
    for field, holder, key in fields.leaves(row):
        value = holder[key]
        number = 7 if isinstance(value, str) else str(value)
        wrongs = (None, [value], {"x": value}, -1, math.inf, True, "", "?", number)
        for wrong in () if field in known else wrongs:
            holder[key] = wrong
            with contextlib.suppress(ValueError):
                fields.check(row)
                if wrong is not value:
                    yield field, str(wrong)
        holder[key] = value
        known.add(field)


def test_every_field():
    """A recorded row is refused if a field has another name, or is anything else."""
    known = set()
    for path in RECORDS:
        context = {}
        for row in map(json.loads, path.read_text().splitlines()):
            row["context"] = context = {**context, **row.get("context", {})}
            assert {*accepted(row, known)} <= ANY_WILL_DO
            with pytest.raises(ValueError, match="there is no field"):
                fields.check({**row, "dates": ""})
    assert len(known) > 60


@pytest.mark.check
def test_traces():
    """All records are small, and so is a trace, which is of a tree without changes and has its own name."""
    assert sum(path.stat().st_size for path in RECORDS) <= MOST_BYTES
    for path in traces.TRACES.glob("*.json"):
        record = traces.load(path)
        assert path.stat().st_size < MOST_TRACE_BYTES
        assert not record["context"]["commit"].endswith("+dirty")
        assert path.stem == f"{record['step']}-emulator"
