"""What a rung changes is the lesson: it must stay short, and so must a rung. And a rung says what it
is in its first line and in its step record, which must agree. `make diffstat` prints the figures."""

import pytest

from bench import rungs
from book.pages import changes

ROWS = changes.of_rungs()
MAX_CHANGED = 100  # lines added plus removed below the opening comment, from the rung below
MAX_LINES = 350
# Rungs that may change more than MAX_CHANGED, and why.
EXCEPTIONS = {
    "v02": "another machine: tensor cores fed by TMA instead of CUDA cores",
    "v04": "another shape of program: producer and consumer instead of one loop",
    "v18": "every function becomes a template, and a model chooses among its instances",
    "v20": "parts of tiles, a workspace for their sums, and a count of arrivals",
    "v22": "the consumers, the clusters and the epilogue become parameters of a family",
    "v23": "joins v19, v20 and v21 to the family",
    "s01": "the ring and its roles move to common/device, and the kernel becomes a template",
    "a02": "another interface: mma.sync from registers instead of WMMA",
}
# Rungs that may be longer than MAX_LINES: by how much at most, and why.
LONGER = {
    "v18": (402, "five kernels in one, and on the host the model that chooses"),
    "v22": (492, "a family of kernels, and on the host its plans"),
    "v23": (602, "a family of kernels, and all that v19, v20 and v21 add"),
    "v24": (640, "v23 with a third form of each kernel"),
}


@pytest.mark.check
@pytest.mark.parametrize("rung, lines, changed", ROWS, ids=[row[0].name for row in ROWS])
def test_budget(rung, lines, changed):
    """Only a rung that grows from another than the one numbered below it says so, and in both
    places: "v09, from v07: an idea."."""
    assert lines <= LONGER.get(rung.name, (MAX_LINES,))[0]
    assert rung.name in EXCEPTIONS or sum(changed or ()) <= MAX_CHANGED
    track = [row[0].name for row in ROWS if row[0].name[0] == rung.name[0]]
    usual = dict(zip(track[1:], track)).get(rung.name)
    text = rung.path.read_text(encoding="utf-8")
    assert rungs.field(text, "below") in (None, rung.below if rung.below != usual else None)
    grows = f", from {rung.below}" if rung.below != usual else ""
    assert text.startswith(f"// {rung.name}{grows}: {rung.idea}.\n")
