#!/usr/bin/env python3
"""Draws what lies where, as the project's own code says: fragments, banks, orders of tiles.

Asks the programs of build/probes, which `make probes` builds, and writes each picture as PNG and
SVG, with what it shows as JSON beside it, into plots/ideas/, or under --out into DIR/ideas.

Exit status: 0 drawn, 2 bad usage or something missing, 77 matplotlib isn't installed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.records import recorded
from plots import plot
from plots.draw import records, style

PROBES = recorded.ROOT / os.environ.get("BUILD", "build") / "probes"
PICTURES = ("mma_fragments", "wgmma_fragment", "matrix_moves", "swizzles", "bank_conflicts")
PICTURES += ("tile_orders", "tile_orders_l2")


def pictures():
    """The modules that draw; they need matplotlib."""
    return [importlib.import_module(f"plots.draw.ideas.{name}") for name in PICTURES]


def arguments(probe, runs):
    """What a probe wants to know beside the file it is to write."""
    if probe == "tile_orders":
        gpu = runs.headline()["gpu"]
        return [recorded.HEADLINE_SIZE, gpu["sms"], gpu["l2_bytes"]]
    if probe.startswith("bank_conflicts"):
        return [256, 128, 64] if probe[-3] == "a" else [32, 32, 0]  # one tile
    return []


def ask(probe, runs):
    """A probe's answer; ValueError if it isn't built or fails."""
    if not (PROBES / probe).exists():
        raise ValueError(f"{PROBES / probe} isn't built: make probes")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.json"
        command = [PROBES / probe, path, *arguments(probe, runs)]
        result = subprocess.run(
            list(map(str, command)), check=False, capture_output=True, text=True, cwd=recorded.ROOT
        )
        if result.returncode != 0:
            raise ValueError(f"{command[0]} failed ({result.returncode}): {result.stderr.strip()}")
        return json.loads(path.read_text(encoding="utf-8"))


def draw(folder):
    """Draws all; returns the exit status."""
    pyplot = plot.import_pyplot()
    if pyplot is None:
        print("ideas: needs matplotlib; 'make plots' sets it up", file=sys.stderr)
        return 77
    runs = records.load()
    modules = pictures()
    probes = sorted({probe for module in modules for probe in module.PROBES})
    answers = {probe: ask(probe, runs) for probe in probes}
    folder.mkdir(parents=True, exist_ok=True)
    for module in modules:
        # What is drawn is what a reader of the JSON gets: no tuples, no numbers as keys.
        data = json.loads(json.dumps(module.data(answers, runs)))
        figure = module.draw(pyplot, data)
        print(style.save_both(figure, folder, module.NAME))
        pyplot.close(figure)
        recorded.write_json(folder / f"{module.NAME}.json", data)
    return 0


def main():
    """Parses the command line; expected errors become one line and exit status 2."""
    parser = argparse.ArgumentParser(description="Draw what lies where.", allow_abbrev=False)
    parser.add_argument("--out", metavar="DIR", type=Path, help="where to write (default: plots)")
    options = parser.parse_args()
    try:
        return draw((options.out or recorded.ROOT / "plots") / "ideas")
    except (OSError, ValueError, records.Missing) as error:
        print(f"ideas: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
