#!/usr/bin/env python3
"""Runs the built rungs several times, interleaved, and records their rows.

For the t track, whose rungs move words, it shows GB/s and the ratio to a plain copy on the device;
for the others TFLOPS and the ratio to cuBLAS. With --emulate (make ladder EMULATE=1) the rungs run
on the emulator, side by side: they are checked, and what they do is counted; no time is measured.

With --build build --build build/variants the variants of the rungs (`make variants`) run between
them, each after its rung and compared with it. With --build build/rivals other people's kernels
(`make rivals`), such as v-cutlass-cooperative, run beside them.

A ladder is one track on one shape by one protocol; --track, --sizes and --protocol may request
several, which run one after the other. A rung's program measures cuBLAS beside itself, round by
round. This program interleaves the processes as well: each pass runs all rungs once, from another
start, and every other pass runs them backwards. So a slow drift of clock or temperature affects all
rungs alike, and no rung always follows the same one.

Exit status: 0 all rungs verified and timed (or do not take the shape), 1 a rung failed or another
process uses the GPU, 2 bad usage, 74 its output could not be written, 77 this machine cannot run
the first rung, 130 interrupted.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from functools import partial
from itertools import groupby, product
from pathlib import Path

from bench import results, run, rungs, shapes
from bench.results import APART, CONTENDERS, EARLY, MOVING
from bench.run import CannotRun, DoesNotTake, Entry, Failed, Task, UsageError

BOTH = results.PROTOCOLS[:2]  # what --protocol both asks for
WIDE = 1.01  # a ratio's 90th percentile over its 10th, above which its spread is called wide
# What a process takes, about, before any has run: a round by the sustained protocol is seconds
# long.
SECONDS = {"burst": 1.3, "call": 1.2, "sustained": 9, None: 10}
ALONE = "cuBLASLt does not take this shape: there is nothing to compare it with"


# --- what to run --------------------------------------------------------------------------------


def make_parser(doc, emulate=False):
    """The options; their names are those of a rung's program wherever both have them."""
    parser = run.parser(doc)
    add = parser.add_argument
    run.add_options(add, on_gpu=not emulate)
    usual = "all" if emulate else "v"
    add("--track", choices=(*results.TRACKS, "all"), default=usual, help=f"default: {usual}")
    lists = "" if emulate else ", squares, models, all"
    what = f"shapes, with commas between: 8192, 4096x14336x4096 (t track: 4096x16384){lists}"
    add("--sizes", metavar="LIST", help=what)
    add("--emulate", action="store_true", help="on the emulator, at small shapes of the rungs' own")
    add("--validate", action="store_true", help="check the options; nothing needs to be built")
    add("--dry-run", action="store_true", help="print the plan and run nothing")
    usual = None if emulate else "burst"
    add("--protocol", choices=(*results.PROTOCOLS, "both"), default=usual, help="default: burst")
    if emulate:
        parser.set_defaults(passes=1)
        add("--policy", metavar="NAME", help="the order of events (default: eager, lazy, random)")
        add("--jobs", type=run.positive, default=os.cpu_count() or 1, help="default: one per core")
        return parser
    parser.set_defaults(jobs=1)
    add("--passes", type=run.positive, default=5, help="times over the ladder (default 5)")
    add("--rounds", type=run.positive, default=4, help="rounds per process (default 4)")
    what = "neither an integer from 0 to 64 nor 'all'"
    add(
        "--heuristics",
        type=run.integer(0, 64, what, words=("all",)),
        default=64,
        metavar="N",
        help="time so many of cuBLASLt's heuristics (default 64; 0: none; all: every configuration "
        "that it can run) to find the best, which then runs beside every rung that multiplies",
    )
    return parser


def shapes_of(options, tracks):
    """{track: its shapes}"""
    alone = any((options.m, options.n, options.k))
    if options.size is not None and alone:
        raise UsageError("--size sets m, n and k: give either --size or --m --n --k")
    if options.sizes is None:
        return {track: [shapes.of_options(options, track)] for track in tracks}
    if options.size is not None or alone:
        raise UsageError("--sizes lists whole shapes: give no --size, --m, --n or --k")
    for word in options.sizes.lower().split(",") if options.emulate else ():
        if word.strip() in shapes.LISTS[3]:
            raise UsageError(
                f"--sizes: '{word.strip()}' are shapes for a GPU, on which the emulator would work "
                "for days; write small ones, such as 256,512x256x64"
            )
    return shapes.of_sizes(options.sizes, tracks)


def searched_with(program):
    """Programs with the same time what one search among cuBLASLt's algorithms found: all, but of
    FP8 those that add and scale alike."""
    name, _ = program
    rung = rungs.today().get(results.rung_of(name))
    return rungs.scales_blocks(name), rung is None or rung.promotes or name[0] != "f"


def make_tasks(options, protocols):
    """Every ladder of --steps, or of all that is built, track by track; a protocol is run to its
    end before the next one begins. a01 and t01 run by themselves."""
    tracks = run.tracks_of(options)
    programs = run.find_programs(options, tracks, "emulated" if options.emulate else "steps")
    if options.steps is None and not options.emulate:
        programs = [one for one in programs if results.rung_of(one[0]) not in APART]
    if not programs:
        raise UsageError(f"no built rung of the {' or '.join(tracks)} track's ladder")
    tasks = []
    of_tracks = {track: list(of) for track, of in groupby(programs, lambda one: one[0][0])}
    found = shapes_of(options, tuple(of_tracks))
    for track, of_track in of_tracks.items():
        alike = {}
        for program in of_track:
            key = None if options.emulate else searched_with(program)
            alike.setdefault(key, []).append(program)
        for protocol, shape, part in product(protocols, found[track], alike.values()):
            tasks.append(Task(track, protocol, shape, tuple(part)))
    return tasks


def make_plan(tasks, passes):
    """Every process in its order. Pass i begins at the program i/passes up the ladder and goes
    round, every other one downwards: so no program is always late, or always after the same one."""
    plan = []
    for task in tasks:
        many, title = len(task.programs), f"{task.title}, " if len(tasks) > 1 else ""
        for number in range(passes):
            first, way = number * many // passes, -1 if number % 2 else 1
            for place in range(many):
                name, path = task.programs[(first + way * place) % many]
                label = f"{title}pass {number + 1}, {name}" if task.protocol else f"{title}{name}"
                plan.append(Entry(task, name, path, label, number))
    return plan


def command_of(options, entry, path, algorithm=None):
    """The command line of one process. The first of a ladder looks for the best of cuBLASLt's
    algorithms, the others time that one, which they are told by its configuration: its place among
    the heuristics would not name one that was enumerated. In each pass of a sustained ladder
    another contender begins: what runs first finds the chip cooler than what runs last. A burst and
    a call have a pause before each."""
    task = entry.task
    pairs = run.problem_words(options, task.shape)
    if options.emulate:
        return run.words_of(entry.path, {**pairs, "--policy": options.policy, "--json": path})
    pairs.update({"--protocol": task.protocol, "--rounds": options.rounds})
    pairs["--turn"] = entry.index if task.protocol == "sustained" else None
    if task.track != MOVING and options.heuristics != 0:
        pairs["--algorithm"] = algorithm
        pairs["--heuristics"] = None if algorithm else options.heuristics
    return run.words_of(entry.path, {**pairs, "--device": options.device, "--json": path})


def in_short(options, tasks, plan):
    """What will run, and about how long that takes."""
    programs = {name for task in tasks for name, _ in task.programs}
    ladders = list(dict.fromkeys(task.title for task in tasks))
    ladders = ", ".join(ladders) if len(ladders) < 4 else f"{len(ladders)} ladders"
    how = f", {options.passes} passes" if options.passes > 1 else ""
    aside = f", {options.jobs} at a time" if options.jobs > 1 else ""
    on = "the emulator" if options.emulate else "the GPU"
    time = run.clock(sum(SECONDS[entry.task.protocol] for entry in plan) / options.jobs)
    what = f"{len(programs)} programs on {on} ({ladders}){how}"
    return f"ladder: {what}: {len(plan)} processes{aside}, about {time}"


# --- the runs -----------------------------------------------------------------------------------


class Ladders:
    """All ladders that the options name: their processes, and what came of them."""

    def __init__(self, options, tasks):
        self.options, self.tasks = options, tasks
        self.runner = run.Runner(options.jobs)
        self.file = run.File(options, self.runner.progress.note)
        self.algorithms = {}  # of cuBLASLt, the fastest of each task
        self.measured = set()  # (task, name)
        self.failed, self.cannot_run = False, None
        self.seconds = {}  # of the emulation, by the row's shape and name

    def measure(self, plan):
        """Runs all of them."""
        with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:

            def path_of(entry):
                return Path(folder) / f"{plan.index(entry)}.json"

            def start(entry):
                algorithm = self.algorithms.get(entry.task)
                command = command_of(self.options, entry, path_of(entry), algorithm)
                return run.Process(command, self.options.timeout)

            def finish(entry, process):
                row_of = partial(run.row_of, entry.name, process, path_of(entry))
                return self.finish(entry, row_of, process.seconds())

            try:
                self.runner.run(plan, start, finish)
            finally:
                self.file.close()

    def finish(self, entry, row_of, seconds):
        """Keeps what a process has written; how it ended in words, and whether its program is to
        run no more at this shape. 77 of the very first one of a single track ends it all."""
        task, name = entry.task, entry.name
        try:
            row = row_of()
            if list(row.get("timed", ())) == ["step"]:
                raise DoesNotTake(ALONE)
            self.file.add(row, entry)
        except Failed as error:
            if isinstance(error, CannotRun):
                self.cannot_run = self.cannot_run or error
                if self.runner.progress.done == 0 and len({one.track for one in self.tasks}) == 1:
                    raise
            return self.without(entry, error), True
        self.measured.add((task, name))
        self.seconds[results.Run(row["context"]).shape, name] = seconds
        if "heuristics" in row:
            self.algorithms.setdefault(task, row["heuristics"]["winner"]["algorithm"])
        return outcome_of(row), False

    def without(self, entry, error):
        """Notes that a program has no result, in words. A shape that it does not take is no
        failure."""
        why = str(error)
        if isinstance(error, CannotRun):
            why = f"exit status {run.CANNOT_RUN_HERE}: {error}"
        elif isinstance(error, DoesNotTake):
            why = f"does not take this shape: {error}"
            if (entry.task, entry.name) not in self.measured:
                self.file.fail(entry, "refused", str(error))
                return why
        self.failed = True
        self.file.fail(entry, "failed", why)
        if self.runner.progress.terminal:  # a log has a line of each run
            self.runner.progress.note(f"{entry.label} FAILED: {why}")
        return f"FAILED: {why}"

    def show(self, ladders):
        """Every ladder, and all of one kind at a glance; on the emulator the counts."""
        if self.options.emulate:
            print_counts(ladders, self.seconds)
            return
        for index, ladder in enumerate(ladders):
            print(end="\n" if index else "")
            print_ladder(ladder)
        print_at_a_glance(ladders)

    def report(self):
        """Prints what there is; returns the exit status."""
        if self.cannot_run and not self.file.rows and not self.runner.interrupted:
            raise self.cannot_run
        if self.file.rows:
            self.show(self.file.runs())
            ended = ", INTERRUPTED" if self.runner.interrupted else ""
            print(f"recorded in {self.file.path}{ended}")
        else:
            print("ladder: no rung has a result; nothing is written", file=sys.stderr)
        if self.runner.interrupted:
            return run.INTERRUPTED
        return 1 if self.failed or not self.file.rows else 0


def outcome_of(row):
    """A row in a few words, for the log."""
    if "timed" not in row:
        return "verified"
    ladder = results.Run(row["context"])
    ladder.add(row)
    rate, ratio, measure = ladder.rate(row["step"]), ladder.ratio(row["step"]), ladder.measure
    return f"{rate.mid:.1f} {measure.unit}, {ratio.mid:.3f} of {measure.other_name}"


# --- the tables ---------------------------------------------------------------------------------


def cell(value, form, unit="", scale=1):
    """A number in a column, or a dash where there is none."""
    return "-" if value is None else f"{value * scale:{form}}{unit}"


def columns_of(ladder):
    """What is in a row after its first two cells: (head, a function of a program's or a contender's
    name)."""
    measure, there = ladder.measure, ladder.contenders

    def ratio(to):
        def text(name):
            found = None if name in CONTENDERS else ladder.ratio(name, to)
            return "1" if name == to else found.to(3) if found else "-"

        return text

    def reading(key, form, unit, scale=1):
        return lambda name: cell(ladder.reading(name, key), form, unit, scale)

    columns = [
        (f"{measure.unit} (p10 to p90)", lambda name: ladder.rate(name).to(1)),
        (f"of {measure.other_name} (p10 to p90)", ratio(measure.other)),
    ]
    if "cublaslt" in there:
        columns.append(("of cuBLASLt (p10 to p90)", ratio("cublaslt")))
    if EARLY in there:
        columns.append(("early launch over usual, time", ratio(EARLY)))
    if ladder.protocol == "call":
        work = ladder.work / measure.units
        return [
            *columns,
            ("a call", lambda name: cell(work / ladder.rate(name).mid, ".2f", " µs", 1e6)),
            ("before", reading("before_seconds", ".4f", " s")),
        ]
    columns.append((measure.share.split()[0], reading("share", ".1f", " %", 100)))
    columns.append(("clock", reading("ghz", ".3f", " GHz")))
    if ladder.reading(measure.other, "watts") is not None:
        columns.append(("power", reading("watts", ".0f", " W")))
        columns.append(("energy", reading("joules", ".3g", " J")))
    return columns


def words_of(ladder, name):
    """What a contender is."""
    said = [row.get("names", {}).get(name) for one in ladder.measured for row in ladder.rows[one]]
    words = next(filter(None, said), CONTENDERS[name].idea)
    found = ladder.heuristics if name == "cublaslt" else None
    if not found:
        return words
    tried = found.get("launched") or found["returned"] + found.get("enumerated", 0)
    kind = "configurations" if "enumerated" in found else "heuristics"
    cut = " (a list that was cut)" if found.get("cut") else ""
    return f"the best of {tried:,} {kind}{cut}: {found['winner']['name']}"


def table(ladder):
    """The rows of a ladder's table, the head first: programs, and those that they are compared
    with."""
    columns = columns_of(ladder)
    rows = [["rung", "idea", *(head for head, _ in columns)]]
    for name in ladder.names:
        if name in ladder.failed:
            rows.append([name, f"FAILED: {ladder.failed[name]}"])
        else:
            idea = ladder.first(name).get("idea", "")
            rows.append([name, idea, *(column(name) for _, column in columns)])
    for name in (ladder.measure.other, *ladder.measure.besides):
        if name in ladder.contenders:
            words = [CONTENDERS[name].name, words_of(ladder, name)]
            rows.append([*words, *(column(name) for _, column in columns)])
    return rows


def neighbours(ladder):
    """(upper, lower) of every rung and the one that it grows from, or the last before it if that
    one has no result, and of every variant and its rung. Rivals have no neighbours."""
    pairs, last = [], None
    for name in ladder.measured:
        if results.is_rival(name):
            continue
        if results.is_variant(name):
            lower = results.rung_of(name)
        else:
            below = ladder.first(name).get("below")
            lower, last = below if below in ladder.measured else last, name
        if lower in ladder.measured:
            pairs.append((name, lower))
    return pairs


def print_aligned(rows):
    """Columns as wide as their widest cell; a short row (a failure) may run over."""
    full = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(len(row[i]) for row in full) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def print_ladder(ladder):
    """The ladder's table, the comparison of neighbours, and what is to be known of it."""
    shape = " ".join(f"{name}={ladder.problem[name]}" for name in ladder.measure.dimensions)
    inputs, gpu = ladder.problem["inputs"], ladder.gpu["name"]
    print(f"{gpu}, {shape}, inputs {inputs}, {ladder.protocol}, commit {ladder.commit}")
    print_aligned(table(ladder))
    for upper, lower in neighbours(ladder):
        pair = ladder.against(upper, lower)
        verdict = "yes" if pair.ratio > 1 else "NO"
        passes = f"in {pair.faster} of {pair.passes} passes"
        print(f"{upper} faster than {lower}: {verdict} (paired ratio {pair.ratio:.4f}, {passes})")
    for name, why in ladder.refused.items():
        print(f"{name} does not take this shape: {why}")
    spreads = {name: ladder.ratio(name) for name in ladder.measured}
    wide = {name: one.high / one.low - 1 for name, one in spreads.items() if one}
    wide = [f"{name} ({one:.1%})" for name, one in wide.items() if one > WIDE - 1]
    if wide:
        limit = f"{WIDE - 1:.0%} between p10 and p90 of the ratio to {ladder.measure.other_name}"
        print(f"WARNING: the spread is wide (over {limit}): {', '.join(wide)}")
    rows = [row for name in ladder.measured for row in ladder.rows[name]]
    others = dict.fromkeys(other for row in rows for other in row.get("other_processes", ()))
    if others:
        print(f"WARNING: other processes used the GPU: {', '.join(others)}")


def glance(ladder, name):
    """A rung's median ratio; of cuBLASLt how much faster its best is than cuBLAS's choice."""
    if name == "cuBLASLt" and "cublaslt" in ladder.contenders:
        return f"{ladder.rate('cublaslt').mid / ladder.rate(ladder.measure.other).mid:.3f}"
    if name in ladder.failed:
        return "FAILED"
    return f"{ladder.ratio(name).mid:.3f}" if name in ladder.measured else "-"


def print_at_a_glance(ladders):
    """Median ratios of all ladders of each track and protocol in one table, where there are several
    shapes: a row per rung, a column per shape."""
    groups = {}
    for ladder in ladders:
        what = ladder.problem["computation"], ladder.protocol, ladder.measure.other_name
        groups.setdefault(what, []).append(ladder)
    for (computation, protocol, other), group in groups.items():
        if len(group) == 1:
            continue
        print(f"\n{computation}, {protocol}: median ratio to {other}")
        rows = {name for ladder in group for name in (*ladder.names, *ladder.refused)}
        rows = sorted(rows, key=results.name_order)
        rows += ["cuBLASLt"] if any("cublaslt" in ladder.contenders for ladder in group) else []
        head = ["rung", *(shapes.shape_text(ladder.shape) for ladder in group)]
        print_aligned([head, *([name, *(glance(one, name) for one in group)] for name in rows)])


def print_counts(ladders, seconds):
    """What the emulator counted of each rung; with its shape where not all have the same."""
    several = len({ladder.shape for ladder in ladders}) > 1
    shape = ", " + " ".join(f"{d}={n}" for d, n in zip("mnk", ladders[0].shape))
    print(f"CPU emulator{'' if several else shape}; no speed is measured")
    head = ["verified", "tensor", "TMA read", "TMA written", "conflicts", "emulation"]
    rows = [["rung", *(["shape"] if several else []), *head]]
    everything = [(name, ladder) for ladder in ladders for name in (*ladder.names, *ladder.refused)]
    for name, ladder in sorted(everything, key=lambda one: results.name_order(one[0])):
        shape = [shapes.shape_text(ladder.shape)] if several else []
        rows.append([name, *shape, *counts(ladder, name, seconds)])
    print_aligned(rows)
    print(
        "tensor: wgmma and mma instructions; conflicts: extra passes over the banks of shared "
        "memory.\nCounts are of one launch; emulation is the time of all of a rung's checks."
    )


def counts(ladder, name, seconds):
    """The cells of one rung on the emulator."""
    if name in ladder.refused:
        return [f"does not take this shape: {ladder.refused[name]}"]
    if name in ladder.failed:
        return [f"FAILED: {ladder.failed[name]}"]
    emulator = ladder.first(name)["emulator"]
    counted, accesses = emulator["counts"], emulator["shared_memory_accesses"]
    return [
        "yes",
        str(counted["wgmmas"] + counted["mmas"]),
        *(f"{counted[key] / 1e6:.2f} MB" for key in ("tma_read_bytes", "tma_written_bytes")),
        str(sum(site["extra_wavefronts"] for site in accesses)),
        cell(seconds.get((ladder.shape, name)), ".1f", " s"),
    ]


def ladder_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser(__doc__, "--emulate" in arguments).parse_args(arguments)
    run.check_destination(options.out)
    if options.validate:
        shapes_of(options, run.tracks_of(options))
        return 0
    protocols = BOTH if options.protocol == "both" else (options.protocol,)
    if options.emulate and options.protocol:
        print("ladder: the emulator measures no time; --protocol is left out", file=sys.stderr)
    protocols = (None,) if options.emulate else protocols
    return measure(options, make_tasks(options, protocols), Ladders)


def measure(options, tasks, kind):
    """Runs the ladders, or says what --dry-run would run; returns the exit status."""
    plan = make_plan(tasks, options.passes)
    if options.dry_run:
        for entry in plan:
            first = entry is next(one for one in plan if one.task is entry.task)
            command = command_of(options, entry, "FILE", None if first else "<the fastest>")
            print(f"{entry.label}: {shlex.join(command)}")
        print(in_short(options, tasks, plan))
        return 0
    print(in_short(options, tasks, plan), file=sys.stderr)
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the order in which nvidia-smi counts
    ladders = kind(options, tasks)
    ladders.measure(plan)
    return ladders.report()


if __name__ == "__main__":
    run.run_as("ladder", ladder_main)
