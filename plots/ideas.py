"""The pictures of what lies where, as the project's own code says: fragments, banks, orders of tiles.

Asks the programs of build/probes, which `make probes` builds. Beside each picture goes what it shows,
as JSON.
"""

from __future__ import annotations

import json
import os
import re
import subprocess

from bench import results
from plots.draw import style

PROBES = results.ROOT / os.environ.get("BUILD", "build") / "probes"
# A list, and an object, of numbers and nulls alone.
FIGURES = re.compile(r"\[\n([-+.,eE0-9nul\s]+)\n\s*\]")
NAMED_FIGURES = re.compile(r'\{\n((?:\s*"\w+": (?:[-+.eE0-9]+|null),?\n)+)\s*\}')
ONE_TILE = {"a03": (256, 128, 64), "a04": (256, 128, 64), "t02": (32, 32, 0), "t03": (32, 32, 0)}


def pictures():
    """All of them, which need matplotlib, each as (name, data, draw): data(answers, records) picks what
    it shows out of the probes' answers, plain numbers and texts; draw(pyplot, data) draws that."""
    from plots.draw.ideas import banks, fragments, order, rungs, sums, tiles, waves

    modules = (fragments, banks, tiles, waves, rungs, sums, order)
    return tuple(picture for module in modules for picture in module.PICTURES)


def ask(probe, *arguments):
    """A probe's answer; ValueError if it isn't built or fails."""
    if not (PROBES / probe).exists():
        raise ValueError(f"{PROBES / probe} isn't built: make probes")
    command = [str(PROBES / probe), *map(str, arguments)]
    result = subprocess.run(command, check=False, capture_output=True, text=True, cwd=results.ROOT)
    if result.returncode != 0:
        raise ValueError(f"{command[0]} failed ({result.returncode}): {result.stderr.strip()}")
    return json.loads(result.stdout)


def as_json(data):
    """What holds figures alone stands on one line."""
    text = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False)
    text = FIGURES.sub(lambda match: "[" + " ".join(match[1].split()) + "]", text)
    return NAMED_FIGURES.sub(lambda match: "{" + " ".join(match[1].split()) + "}", text) + "\n"


def draw(pyplot, runs, folder):
    """Draws all into that folder."""
    answers = {f"bank_conflicts-{rung}": shape for rung, shape in ONE_TILE.items()}
    answers.update(layouts=(), happens_before=())
    of_gpu = (results.SIZE, runs.headline().gpu["sms"])
    answers.update(tile_orders=of_gpu, rungs=of_gpu)
    answers = {probe: ask(probe, *arguments) for probe, arguments in answers.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, data_of, draw_picture in pictures():
        # What is drawn is what a reader of the JSON gets: no tuples, no numbers as keys.
        data = json.loads(json.dumps(data_of(answers, runs)))
        figure = draw_picture(pyplot, data)
        print(style.save_both(figure, folder, name))
        pyplot.close(figure)
        results.write_whole(folder / f"{name}.json", as_json(data).encode("utf-8"))
