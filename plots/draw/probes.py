"""What the project's own code says: the constants of a rung, and the probes' answers, as committed.

A probe is a program for the emulator; `make probes` builds them, asks them and writes ANSWERS."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess

from bench import results

ANSWERS = results.ROOT / "plots" / "probes" / "answers.json"
BUILT = results.ROOT / os.environ.get("BUILD", "build") / "probes"


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
