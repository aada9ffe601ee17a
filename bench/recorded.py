"""Recorded results: where they lie, how they are read, and how files are written whole.

Used by the ladder runner, the README table and the plots. Standard library only.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
SCHEMA = 1
HEADLINE_SIZE = 8192
HEADLINE_PROTOCOL = "burst"


def quantile(values, fraction):
    """The quantile of a non-empty list by linear interpolation (numpy's default rule)."""
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def median(values):
    """The median of a non-empty list."""
    return quantile(values, 0.5)


def summary(values):
    """Median, 10th and 90th percentile, under the names that every JSON here uses."""
    return {"median": median(values), "low": quantile(values, 0.1), "high": quantile(values, 0.9)}


def write_whole(path, data):
    """Writes bytes to `path` through a temporary file beside it: all of them or nothing."""
    path = Path(path)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes files that only their owner may read
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def load_ladder(path):
    """Reads one recorded ladder. Raises ValueError, naming the file, if it isn't one."""
    try:
        ladder = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(ladder, dict) or ladder.get("kind") != "ladder":
        raise ValueError(f"{path}: not a recorded ladder")
    if ladder.get("schema") != SCHEMA:
        raise ValueError(f"{path}: schema {ladder.get('schema')}, this program reads {SCHEMA}")
    return ladder


def is_headline(ladder):
    """True for a finished burst run at m = n = k = 8192: what the README shows."""
    problem = ladder["problem"]
    square = all(problem[name] == HEADLINE_SIZE for name in ("m", "n", "k"))
    return square and ladder["protocol"] == HEADLINE_PROTOCOL and not ladder["interrupted"]


def newest_headline(folder=RESULTS):
    """Path of the newest headline run in `folder`, or None. ValueError for a broken file."""
    found = []
    for path in sorted(Path(folder).glob("*.json")):
        ladder = load_ladder(path)
        if is_headline(ladder):
            found.append((ladder["date"], path))
    return max(found)[1] if found else None


def measured(ladder):
    """The rungs that have a result, in the ladder's order."""
    return [rung for rung in ladder["rungs"] if "failed" not in rung]
