"""What one invocation measures: a list of ladders, each a track on a shape by a protocol."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from bench import selection, shapes
from bench.records.vocabulary import BOTH, TRACKS, is_rival

# Where a track's ladder starts: a01 and t01 compute something else than the rungs above them, and
# cuBLAS's time for the one says nothing of the other. --steps a01 runs it.
FIRST_RUNGS = {"v": "v00", "a": "a02", "t": "t02"}


@dataclass(eq=False)
class Task:
    """One ladder to be measured."""

    options: argparse.Namespace  # the command line's, with this ladder's protocol, shape, measure
    track: str
    programs: list  # (name, path), lowest first

    @property
    def title(self):
        """'v 8192x8192x8192 burst'"""
        return f"{self.track} {shapes.shape_text(self.options.shape)} {self.options.protocol}"


@dataclass(frozen=True)
class Entry:
    """One run of one rung."""

    task: Task
    index: int  # of the pass
    name: str
    path: Path


def tracks_of(options):
    """The tracks that are asked for: those of --steps, or of --track."""
    if options.steps is not None:
        steps = options.steps.split(",")
        return tuple(dict.fromkeys(selection.step_name(step)[0] for step in steps))
    return tuple(TRACKS) if options.track == "all" else (options.track,)


def programs_of(options):
    """{track: its programs}, of --steps or of all that is built and belongs to one computation."""
    tracks = tracks_of(options)
    programs = selection.find_programs(options.build, options.steps, tracks=tracks)
    if options.steps is None:
        first = FIRST_RUNGS
        programs = [one for one in programs if is_rival(one[0]) or one[0] >= first[one[0][0]]]
    found = {}
    for name, path in programs:
        found.setdefault(name[0], []).append((name, path))
    if not found:
        raise selection.UsageError(f"no built rung of the {' or '.join(tracks)} track's ladder")
    return found


def shapes_of(options, tracks, of_options=shapes.of_options):
    """{track: its shapes}; of_options says the one shape where no list is given."""
    selection.check_size(options)
    if options.sizes is None:
        return {track: [of_options(options, track)] for track in tracks}
    if any((options.size, options.m, options.n, options.k)):
        raise selection.UsageError("--sizes lists whole shapes: give no --size, --m, --n or --k")
    return shapes.of_sizes(options.sizes, tracks)


def make_tasks(options):
    """Every ladder, track by track; a protocol is run to its end before the next one begins."""
    programs = programs_of(options)
    found = shapes_of(options, tuple(programs))
    protocols = BOTH if options.protocol == "both" else (options.protocol,)
    return [
        Task(one_ladder(options, track, protocol, shape), track, programs[track])
        for track in programs
        for protocol in protocols
        for shape in found[track]
    ]


def one_ladder(options, track, protocol, shape):
    """The command line's options for one ladder."""
    own = {"protocol": protocol, "shape": shape, "measure": shapes.measure_of_track(track)}
    return argparse.Namespace(**{**vars(options), **own})


def make_plan(tasks, passes):
    """Every run in its order. Pass i begins at the program i/passes up the ladder and goes round,
    every other one downwards: so no program is always late, or always after the same one."""
    plan = []
    for task in tasks:
        many = len(task.programs)
        for index in range(passes):
            first, way = index * many // passes, -1 if index % 2 else 1
            order = [task.programs[(first + way * place) % many] for place in range(many)]
            plan += [Entry(task, index, *one) for one in order]
    return plan
