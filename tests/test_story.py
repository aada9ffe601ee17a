"""The story below a report of two unordered accesses has the report's lines and the carriers, and the
run that it names has the same report. (Of v02 two of the planted mistakes have a story.)"""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from test_planted import PROGRAMS

from tools import ROOT

from planted import plant

# The words of a run, and lines of its story.
TABLE = r"""
v02-no-wait-for-the-tiles: issues TMA load.*; lands.* full, phase 0; \* syncs.* barrier 0, phase 0
v02-no-barrier-after-init: initialises; expects \d+ bytes.* full, phase 0; uses
v04-full-does-not-expect-the-producer: arrives.* full\[0\], phase 0; expects.* full\[0\], phase 1
v04-no-wait-on-empty: lands.* full\[0\], phase 0; arrives.* empty\[0\], phase 0
v04-no-wait-on-full --policy lazy: \* arrives.* empty\[0\], phase 0; lands.* full\[0\], phase 0
v07-no-wait-on-full: \* syncs.*\* syncs.* barrier 0, phase 0; need not wait.* empty\[0\]; lands.* full\[0\]
v07-producer-keeps-its-parity: lands.* full\[0\], phase 0; expects.* full\[0\], phase 1
v07-every-thread-releases: waits.* wgmma.wait_group<0>; arrives.* empty\[0\], phase 1
v08-bytes-of-the-own-loads --policy lazy: \* arrives.* cluster barrier, phase 0; lands.* of CTA 1, phase 1
v08-released-to-the-own-cta-twice: lands.* full\[0\] of CTA 1, phase 0; waits.* empty\[0\] of CTA 0
v08-no-wait-on-full --policy lazy: issues TMA load; lands.* full\[0\] of CTA \d, phase 0; issues wgmma
v15-wgmma-wait-leaves-two: waits.* wgmma.wait_group<2>; waits.* empty\[0\], phase 0
v15-last-stage-released-too-early: arrives.* empty\[0\], phase 0; waits.* empty\[0\], phase 0
v15-every-thread-hands-the-turn-over: arrives.* turn\[1\], phase 0; arrives.* turn\[1\], phase 1
s05-sums-overwrite-the-ring-too-early: waits.* wgmma.wait_group<1>; writes
s05-relaxed-barrier-before-the-sums: arrives, relaxed.* cluster barrier, phase 0; waits.* cluster
s05-each-warp-elects-a-producer: expects.* full\[0\], phase 0; expects.* full\[0\], phase 1
"""
MORE = {"v08-no-wait-on-full", "s05-each-warp-elects-a-producer"}
PAIRS = [plant.Pair(rung, bug) for bug in plant.read_bugs() for rung in bug.changes]
COPIES = {pair.name: (pair.rung, pair.source) for pair in PAIRS if pair.name in MORE}
PROGRAMS = {**PROGRAMS, **plant.write_programs(COPIES, "story")}
CASES = [(PROGRAMS[re.split("[ :]", row)[0]], row) for row in TABLE.strip().splitlines()]


def said(command, **story):
    """The kind of the report, its lines, and what comes after it."""
    kept = {name: value for name, value in os.environ.items() if name != "EMULATOR_STORY"}
    how = {"cwd": ROOT, "env": {**kept, **story}, "capture_output": True, "text": True}
    report, _, after = subprocess.run(command, check=False, **how).stderr.partition("  story, ")
    return report.split(": ")[1], re.findall(r"^    (\S+):(\d+)  ", report, re.MULTILINE), after


@pytest.mark.parametrize(("program", "row"), CASES, ids=[row.split(":")[0] for _, row in CASES])
@pytest.mark.needs("emulated/planted/{program}")
def test_story(program, row):
    words, lines = row.split(": ")
    kind, places, story = said([f"build/emulated/planted/{program}", *words.split()])
    assert 4 < story.count("\n") <= 12, story
    accesses = places[: 1 if "phase 1" in lines and "of CTA" not in lines else 2]  # an arrival's
    expected = [rf":{line}\b" for _, line in accesses] + [
        f"^    .*{one}" for one in lines.split("; ")
    ]
    assert [one for one in expected if not re.search(one, story, re.MULTILINE)] == [], story
    again = re.search("^  again: (.*)", story, re.MULTILINE)[1]
    assert said(["sh", "-c", again], EMULATOR_STORY="0") == (kind, places, ""), again
