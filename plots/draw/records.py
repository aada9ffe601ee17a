"""What the pictures are drawn from: runs, of which the first that fits is shown; traces; the constants
of rungs; and the committed answers of probes, programs for the emulator. `make probes` builds them, asks
them and writes ANSWERS."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from bench import results, trace
from notes.tools.tables import ORDER

USUAL = (results.SIZE,) * 3
ANSWERS = results.ROOT / "plots" / "probes" / "answers.json"
BUILT = results.ROOT / os.environ.get("BUILD", "build") / "probes"


class Missing(Exception):
    """What a picture needs was not recorded. The text says what, and how to record it."""


@dataclass(frozen=True)
class Records:
    """What to draw from. Unless the user chose it, it is of the home GPU."""

    runs: Sequence = ()  # in the order in which they answer
    chosen: bool = False  # named by the user, who may have measured less than all rungs at any size
    traces: Sequence = ()  # of a CTA each

    def ladders(self, track, protocol="burst", plain=True, old=False):
        """The runs of a track, or of some; of rungs alone, and none that only its commit names, unless asked."""
        return [
            run
            for run in self.runs
            if run.protocol == protocol
            and run.tracks <= {*track}
            and run.measured
            and (run.plain or not plain)
            and (self.chosen or (results.slug(run.gpu) == results.HOME and (old or not run.old)))
        ]

    def headline(self):
        """The run of all v rungs at 8192³, or the first of those that were chosen."""
        found = [run for run in self.ladders("v") if self.chosen or run.shape == USUAL]
        if not found:
            raise Missing("no burst run of the v rungs at 8192³ (make ladder)")
        return found[0]

    def counted(self, shape=USUAL):
        """{rung of the v track: (run, row)} of the first that counted it at that shape."""
        found = {}
        for run in self.ladders("v", "counters", plain=False):
            for name in run.measured if run.shape == shape else ():
                found.setdefault(name, (run, run.first(name)))
        return found


def load(path=None):
    """What is in this file, or all that is recorded. ValueError for a broken file."""
    if not path:
        found = sorted(trace.TRACES.glob("*.json"))
        return Records(results.load_all(ORDER), False, list(map(trace.load, found)))
    if path.suffix == ".jsonl":
        return Records(results.load(path), True)
    try:
        found = trace.load(path)
        trace.Trace(found)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path}: neither rows (.jsonl) nor a trace: {error!r}") from error
    return Records((), True, [found])


@functools.cache
def answers():
    """{question: what its probe printed}; a question is a probe's name and its arguments."""
    return json.loads(ANSWERS.read_text(encoding="utf-8"))["answers"]


def asked(question):
    """The answer of the probe itself. In place of a rung's line number is how the line begins, so that
    an edit elsewhere in the rung changes nothing."""
    name, *words = question.split()
    command = [str(BUILT / name), *words]
    result = subprocess.run(command, check=True, capture_output=True, text=True, cwd=results.ROOT)
    lines = [line.split() for line in result.stdout.splitlines()]
    if "-" in name:
        text = source(name.partition("-")[2]).splitlines()
        lines = sorted([text[int(number) - 1].split()[0], *rest] for number, *rest in lines)
    return " / ".join(map(" ".join, lines))


def ask(*words):
    """The lines of an answer, words and numbers; ValueError if it isn't committed."""
    question = " ".join(map(str, words))
    if question not in answers():
        raise ValueError(f"no answer to {question!r} in {ANSWERS.name}: add it there; make probes")
    lines = map(str.split, answers()[question].split(" / "))
    return [[int(word) if word.isdigit() else word for word in line] for line in lines]


@functools.cache
def source(rung):
    """A rung's text."""
    return next((results.ROOT / "steps").glob(f"{rung}_*.cu")).read_text(encoding="utf-8")


def constant(rung, name):
    """A number that the rung's text gives that name; ValueError without one."""
    found = re.search(rf"^constexpr int {name} = (\d+);", source(rung), re.MULTILINE)
    if not found:
        raise ValueError(f"{rung} has no number named {name}")
    return int(found[1])


def tile_of(rung):
    """(BM, BN, BK) of it."""
    return tuple(constant(rung, name) for name in ("BM", "BN", "BK"))


def order_of(rung, size, sms):
    """The order of its tiles of D of m = n = size, and the workers of a wave. v05 has no schedule: as
    many CTAs run as there are SMs, and take columns of tiles."""
    m, n, _ = tile_of(rung)
    rows, columns = -(-size // m), -(-size // n)
    group = {"v05": rows, "v11": 0}.get(rung)
    group = constant(rung, "GROUP") if group is None else group
    (workers,), *tiles = ask("tile_orders", rows, columns, group, sms)
    found = dict(zip("mn", zip(*tiles)))
    return {**found, "workers": sms if rung == "v05" else workers}


if __name__ == "__main__":
    git = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    record = {"written by": "make probes", "commit": commit}
    record["answers"] = {question: asked(question) for question in answers()}
    results.write_whole(ANSWERS, (json.dumps(record, indent=0) + "\n").encode())
