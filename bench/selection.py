"""What to run: the options that the programs in bench/ share, the built programs that they choose, and
the ladders and the runs that these make."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from bench import shapes
from bench.process import UsageError
from bench.records import recorded
from bench.shapes import DEFAULT_MOVED_SIZE, DEFAULT_SIZE

# Where a track's ladder starts: a01 and t01 compute something else than the rungs above them, and
# cuBLAS's time for the one says nothing of the other. --steps a01 runs it.
FIRST_RUNGS = {"v": "v00", "a": "a02", "t": "t02", "f": "f01"}


# --- the options ------------------------------------------------------------------------------


def integer(least, most, what, *, words=()):
    """An argparse type: an integer from `least` to `most`, or one of these words."""

    def read(text):
        if text in words:
            return text
        if not re.fullmatch(r"[0-9]{1,20}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"'{text}' is {what}")
        return int(text)

    return read


positive = integer(1, 2**31 - 1, "not an integer from 1 to 2147483647")
unsigned64 = integer(0, 2**64 - 1, "not an integer from 0 to 2^64 - 1")
index = integer(0, 2**31 - 1, "not an index from 0 upwards")
up_to_64_or_all = integer(0, 64, "neither an integer from 0 to 64 nor 'all'", words=("all",))


def add_selection(
    add, subfolder="steps", shape=f"{DEFAULT_SIZE}; {DEFAULT_MOVED_SIZE} for track t"
):
    """The options that say which programs run on which problem."""
    add("--steps", metavar="v01,v02-x,...", help="what to run (default: all that is built)")
    add(
        "--build",
        metavar="DIR",
        type=Path,
        action="append",
        help=f"where the programs are, in DIR/{subfolder}; may be repeated (default: build)",
    )
    add("--size", type=positive, metavar="N", help=f"m = n = k = N (default: {shape})")
    for name in ("--m", "--n", "--k"):
        add(name, type=positive, metavar="N")
    add("--inputs", choices=("normal", "uniform", "integers", "bits"), default="normal")
    add("--seed", type=unsigned64, default=1)
    add("--timeout", type=positive, default=600, metavar="S", help="seconds per process")


def add_ladders(add, track, lists=""):
    """The options of which several ladders are made; `lists` are the shapes that have a name."""
    add("--track", choices=(*recorded.TRACKS, "all"), default=track, help=f"default: {track}")
    add(
        "--sizes",
        metavar="LIST",
        help=f"shapes, with commas between: 8192, 4096x14336x4096 (t track: 4096x16384){lists}",
    )
    add("--validate", action="store_true", help="check the options; nothing needs to be built")
    add("--dry-run", action="store_true", help="print the plan and run nothing")


def add_results(add):
    """The options of what measures on a GPU."""
    add("--device", type=index, default=0, metavar="I")
    add("--out", metavar="FILE", type=Path, help="default: a new file in bench/results")


def check_destination(out):
    """Refuses a file that could not be written, before anything is run."""
    folder = out.parent if out else recorded.RESULTS
    if out and recorded.is_written_to(out):
        if not os.access(out, os.W_OK):
            raise UsageError(f"--out: {out} is not writable")
        return
    if not folder.is_dir():
        raise UsageError(f"--out: the directory {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"--out: the directory {folder} is not writable")
    if out and out.exists() and not out.is_file():
        kind = "a directory" if out.is_dir() else "neither a file nor a device or pipe to write to"
        raise UsageError(f"--out: {out} is {kind}; name a file")


# --- the programs -----------------------------------------------------------------------------


def step_name(text):
    """'v07' for v07, v7 or 7; 'v06-each-sm' for the variant, with the same freedom; a rival's name
    as it is."""
    text = text.strip()
    if recorded.NAME.fullmatch(text) and recorded.is_rival(text):
        return text
    match = re.fullmatch(r"([vatf]?)([0-9]{1,2})(-[a-z0-9-]+)?", text)
    if not match:
        raise UsageError(f"--steps: '{text}' is not a rung; write for instance v01,v02,v07")
    return f"{match[1] or 'v'}{int(match[2]):02}{match[3] or ''}"


def is_program(path):
    """True for a file that can be executed."""
    return path.is_file() and os.access(path, os.X_OK)


def built_programs(builds, subfolder):
    """Every rung and variant in the build directories: a map from its name to its path."""
    found = {}
    for folder in (build / subfolder for build in builds):
        if not folder.is_dir():
            raise UsageError(f"no built rung in {folder}: run 'make ladder', or name --build DIR")
        for path in folder.glob("[vatf]*"):
            if not recorded.NAME.fullmatch(path.name) or not is_program(path):
                continue
            if found.setdefault(path.name, path.resolve()) != path.resolve():
                raise UsageError(f"--build: {path.name} is built in more than one of them")
    return found


def find_programs(builds, steps, subfolder="steps", tracks="v"):
    """What to run, lowest first and a variant after its rung: a list of (name, path). Without
    `steps` that is everything of the tracks."""
    builds = builds or [recorded.ROOT / "build"]
    places = ", ".join(str(build / subfolder) for build in builds)
    built = built_programs(builds, subfolder)
    if steps is None:
        names = [name for name in built if name[0] in tracks]
        if not names:
            raise UsageError(f"no built rung in {places}: run 'make ladder', or name --build DIR")
    else:
        names = {step_name(text) for text in steps.split(",")}
    missing = sorted(name for name in names if name not in built)
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: not built in {places} ('make step N=...' builds a rung, "
            "'make variants' all variants)"
        )
    return [(name, built[name]) for name in sorted(names, key=recorded.name_order)]


# --- the ladders ------------------------------------------------------------------------------


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
    name: str
    path: Path
    label: str  # in the log
    index: int = 0  # of the pass


def tracks_of(options):
    """The tracks to run: those of --steps, or of --track."""
    if options.steps is not None:
        steps = options.steps.split(",")
        return tuple(dict.fromkeys(step_name(step)[0] for step in steps))
    return tuple(recorded.TRACKS) if options.track == "all" else (options.track,)


def check_size(options):
    """UsageError if --size and another dimension are given."""
    if options.size is not None and any((options.m, options.n, options.k)):
        raise UsageError("--size sets m, n and k: give either --size or --m --n --k")


def shapes_of(options, tracks, of_options):
    """{track: its shapes}; of_options says the one shape where no list is given."""
    check_size(options)
    if options.sizes is None:
        return {track: [of_options(options, track)] for track in tracks}
    if any((options.size, options.m, options.n, options.k)):
        raise UsageError("--sizes lists whole shapes: give no --size, --m, --n or --k")
    return shapes.of_sizes(options.sizes, tracks)


def make_tasks(options, protocols, subfolder="steps", of_options=shapes.of_options, first=None):
    """Every ladder of --steps, or of all that is built and belongs to one computation, track by
    track, from its `first` rung on; a protocol is run to its end before the next one begins."""
    tracks = tracks_of(options)
    programs = {}
    for name, path in find_programs(options.build, options.steps, subfolder, tracks):
        chosen = options.steps is not None or recorded.is_rival(name) or first is None
        if chosen or name >= first[name[0]]:
            programs.setdefault(name[0], []).append((name, path))
    if not programs:
        raise UsageError(f"no built rung of the {' or '.join(tracks)} track's ladder")
    found = shapes_of(options, tuple(programs), of_options)
    tasks = []
    for track, of_track in programs.items():
        measure = shapes.measure_of_track(track)
        for protocol, shape in product(protocols, found[track]):
            own = {"protocol": protocol, "shape": shape, "measure": measure}
            of_task = argparse.Namespace(**{**vars(options), **own})
            tasks.append(Task(of_task, track, of_track))
    return tasks


def make_plan(tasks, passes):
    """Every run in its order. Pass i begins at the program i/passes up the ladder and goes round,
    every other one downwards: so no program is always late, or always after the same one."""
    plan = []
    for task in tasks:
        many, title = len(task.programs), f"{task.title}, " if len(tasks) > 1 else ""
        for number in range(passes):
            first, way = number * many // passes, -1 if number % 2 else 1
            for place in range(many):
                name, path = task.programs[(first + way * place) % many]
                label = f"{title}pass {number + 1}, {name}"
                plan.append(Entry(task, name, path, label, number))
    return plan
