"""What a rung changes is the lesson: it must stay short, and so must a rung. And a rung says what it
is in its first line and in its step record, which must agree. `make diffstat` prints the figures."""

import pytest

from bench import rungs
from book.pages import changes

ROWS = changes.of_rungs()
# At most so many lines: added plus removed below the opening comment, from the rung below; and in all.
USUAL, ANY = (100, 350, ""), 10**6
LARGER = {
    "v02": (ANY, 350, "another machine: tensor cores fed by TMA instead of CUDA cores"),
    "v04": (ANY, 350, "another shape of program: producer and consumer instead of one loop"),
    "s01": (219, 350, "ring and roles move to common/device, and the kernel becomes a template"),
    "s09": (100, 360, "a second kernel, which adds the parts"),
    "f04": (104, 350, "the tile, its blocks and its scales change together"),
    "f05": (101, 350, "scales, their barrier and their maps"),
    "a02": (ANY, 350, "another interface: mma.sync from registers instead of WMMA"),
}


@pytest.mark.check
@pytest.mark.parametrize("rung, lines, changed", ROWS, ids=[row[0].name for row in ROWS])
def test_budget(rung, lines, changed):
    """A rung that says in its record which one it grows from says so in its first line: "v09, from
    v07: an idea.". Its second line is empty, unless the learner's path leaves it out."""
    most_changed, most_lines, _ = LARGER.get(rung.name, USUAL)
    assert sum(changed or ()) <= most_changed and lines <= most_lines
    text = rung.path.read_text(encoding="utf-8")
    said = rungs.field(text, "below")
    grows = f", from {said}" if said else ""
    first, second = text.split("\n")[:2]
    assert first == f"// {rung.name}{grows}: {rung.idea}."
    assert second.removeprefix("//").lower() == (f" {rung.aside}." if rung.aside else "")
