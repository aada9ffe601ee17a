"""What the project's own code says: the constants of a rung, and the answers of build/probes, which
`make probes` builds."""

from __future__ import annotations

import functools
import os
import re
import subprocess

from bench import results

PROBES = results.ROOT / os.environ.get("BUILD", "build") / "probes"


@functools.cache
def ask(probe, *arguments):
    """The lines of a probe's answer, words and numbers; ValueError if it isn't built or fails."""
    command = [str(PROBES / probe), *map(str, arguments)]
    if not (PROBES / probe).exists():
        raise ValueError(f"{command[0]} isn't built: make probes")
    result = subprocess.run(command, check=False, capture_output=True, text=True, cwd=results.ROOT)
    if result.returncode != 0:
        raise ValueError(f"{command[0]} failed ({result.returncode}): {result.stderr.strip()}")
    lines = map(str.split, result.stdout.splitlines())
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
