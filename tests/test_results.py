"""Recorded results can be read, and the README and notes show what they say."""

import pytest

from bench import results
from bench import trace as traces
from notes.tools import fill

RECORDS = sorted(results.RESULTS.glob("*/**/*.jsonl"))
MOST_BYTES, MOST_TRACE_BYTES = 1_947_000, 200_000


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


@pytest.mark.check
def test_traces():
    """All records are small, and so is a trace, which is of a tree without changes and has its own name."""
    assert sum(path.stat().st_size for path in RECORDS) <= MOST_BYTES
    for path in traces.TRACES.glob("*.json"):
        record = traces.load(path)
        assert path.stat().st_size < MOST_TRACE_BYTES
        assert not record["context"]["commit"].endswith("+dirty")
        assert path.stem == f"{record['step']}-emulator"
