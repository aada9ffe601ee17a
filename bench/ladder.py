#!/usr/bin/env python3
"""Runs the built rungs several times, interleaved, and records their rows.

For the t track, whose rungs move words, it shows GB/s and the ratio to a plain copy on the device;
for the others TFLOPS and the ratio to cuBLAS. With --emulate (make ladder EMULATE=1) the rungs run
on the emulator, side by side: they are checked, and what they do is counted; no time is measured.

--steps may name variants of the rungs, such as v06-each-sm (`make variants` builds them): each runs
after its rung and is compared with it. It may name other people's kernels, such as
v-cutlass-cooperative (`make rivals`), which run beside them.

A ladder is one track on one shape by one protocol; --track, --sizes and --protocol may request
several, which run one after the other. A rung's program measures cuBLAS beside itself, round by
round. This program interleaves the processes as well: each pass runs all rungs once, from another
start, and every other pass runs them backwards. So a slow drift of clock or temperature affects all
rungs alike, and no rung always follows the same one.

Exit status: 0 all rungs verified and timed (or do not take the shape), 1 a rung failed or another
process uses the GPU, 2 bad usage, 77 this machine cannot run the first rung, 130 interrupted; another
one if its output could not be written.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
import textwrap
from itertools import product
from pathlib import Path
from statistics import median

from bench import results, run, rungs, shapes
from bench.results import APART, CONTENDERS, EARLY, MOVING
from bench.run import CannotRun, DoesNotTake, Entry, Failed, Task, UsageError

BOTH = results.PROTOCOLS[:2]  # what --protocol both requests
WIDE = 1.01  # a ratio's 90th percentile over its 10th, above which its spread is called wide
# What a process takes, about: a round by the sustained protocol is seconds long.
SECONDS = {"burst": 1.3, "call": 1.2, "sustained": 9}
ALONE = "cuBLASLt does not take this shape: there is nothing to compare it with"


# --- what to run --------------------------------------------------------------------------------


def make_parser(doc, emulate=False):
    """The options; their names are those of a rung's program wherever both have them."""
    parser = run.parser(doc)
    add = parser.add_argument
    run.add_options(add, on_gpu=not emulate)
    usual = "all" if emulate else "v"
    add("--track", choices=(*results.TRACKS, "all"), default=usual, help=f"default: {usual}")
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
    what = "how many of cuBLASLt's heuristics to time (default 64; all: whatever it can run); the "
    what += "best runs beside every rung that multiplies"
    add("--heuristics", type=run.integer(0, 64, "all"), default=64, metavar="N", help=what)
    return parser


def step_name(text):
    """'v07' for v07, v7 or 7; 'v06-each-sm' for the variant, with the same freedom; a rival's name
    as it is."""
    match = re.fullmatch(rf"([{results.TRACKS}]?)([0-9]{{1,2}})(-[a-z0-9-]+)?", text)
    if match:
        return f"{match[1] or 'v'}{int(match[2]):02}{match[3] or ''}"
    if not results.NAME.fullmatch(text):
        raise UsageError(f"--steps: '{text}' is not a rung; write for instance v01,v02,v07")
    return text


def names_of(options):
    """What is to run: what --steps names, or all rungs of --track; on a GPU but for a01 and t01."""
    if options.steps is not None:
        return {step_name(text.strip()) for text in options.steps.split(",")}
    tracks = results.TRACKS if options.track == "all" else options.track
    apart = () if options.emulate else APART
    return {name for name in rungs.today() if name[0] in tracks and name not in apart}


def find_programs(options):
    """What to run, lowest first and a variant after its rung: a list of (name, path). Of rungs that
    nothing names those that are built."""
    kind, names, built = "emulated" if options.emulate else "steps", names_of(options), {}
    for folder in (options.build / part / kind for part in ("rivals", "variants", "")):
        found = (path for path in folder.glob("*") if path.is_file() and os.access(path, os.X_OK))
        built.update({path.name: path.resolve() for path in found})
    missing = names - built.keys()
    if options.steps is None and missing != names:
        names, missing = names - missing, ()
    if missing:
        raise UsageError(
            f"{', '.join(sorted(missing))}: not built in {options.build}/{kind}; 'make ladder' and "
            "'make step N=...' build rungs, 'make variants' all variants"
        )
    return [(name, built[name]) for name in sorted(names, key=results.name_order)]


def shapes_of(options, tracks):
    """{track: its shapes}; on the emulator each rung has a small one of its own."""
    if options.emulate and options.sizes is None:
        return {track: [{}] for track in tracks}
    for word in options.sizes.lower().split(",") if options.emulate else ():
        if word.strip() in shapes.LISTS[3]:
            raise UsageError(
                f"--sizes: '{word.strip()}' are shapes for a GPU, on which the emulator would work "
                "for days; write small ones, such as 256,512x256x64"
            )
    return shapes.of_sizes(options.sizes, tracks)


def searched_with(name):
    """Programs with the same key run in turn and share what one search among cuBLASLt's algorithms
    found: those of a track, and v and s, which compute the same; of FP8 those that add and scale
    alike."""
    rung = rungs.today().get(results.rung_of(name))
    return (
        name[0].replace("s", "v"),
        rungs.scales_blocks(name),
        rung is None or rung.promotes or name[0] != "f",
    )


def make_tasks(options, protocols):
    """Every ladder of --steps, or of all that is built, track by track; a protocol is run to its
    end before the next one begins."""
    alike = {}
    for name, path in find_programs(options):
        alike.setdefault(searched_with(name), []).append((name, path))
    ladders = [(programs[0][0][0], tuple(programs)) for programs in alike.values()]
    found = shapes_of(options, tuple(dict.fromkeys(track for track, _ in ladders)))
    return [
        Task(track, protocol, shape, programs)
        for track, programs in ladders
        for protocol, shape in product(protocols, found[track])
    ]


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


def in_short(options, tasks, plan):
    """What will run, and about how long that takes, if it is timed: how long the emulator takes
    depends on the shape, and is known once the first program has ended."""
    programs = len({name for task in tasks for name, _ in task.programs})
    titles = ", ".join(dict.fromkeys(task.title for task in tasks))
    ladders = textwrap.shorten(titles, 80, placeholder=" ...")
    on = "the emulator" if options.emulate else "the GPU"
    seconds = sum(SECONDS.get(entry.task.protocol, 0) for entry in plan)
    time = f", about {run.clock(seconds / options.jobs)}" if seconds else ""
    return f"{programs} programs on {on} ({ladders}): {len(plan)} processes{time}"


# --- the runs -----------------------------------------------------------------------------------


class Ladders:
    """All ladders that the options name: their processes, and what came of them."""

    def __init__(self, options, tasks, folder):
        self.options, self.tasks, self.folder = options, tasks, Path(folder)
        self.runner = run.Runner(options.jobs)
        self.file = run.File(options)
        self.algorithms = {}  # of cuBLASLt, the fastest of each task

    def measure(self, plan):
        """Runs all of them."""
        self.runner.run(plan, self.start, self.finish)

    def path_of(self, entry):
        """Where a process writes its row."""
        return self.folder / f"{entry.label.replace(' ', '')}.json"

    def command_of(self, entry):
        """The command line of one process. The first of a ladder looks for the best of cuBLASLt's
        algorithms, the others time that one, which they are told by its configuration: its place
        among the heuristics would not name one that was enumerated. In each pass of a sustained
        ladder another contender begins: what runs first finds the chip cooler than what runs last.
        A burst and a call have a pause before each."""
        options, task, more = self.options, entry.task, {"json": self.path_of(entry)}
        if options.emulate:
            return run.command_of(entry, options, policy=options.policy, **more)
        more.update(protocol=task.protocol, rounds=options.rounds, device=options.device)
        if task.protocol == "sustained":
            more["turn"] = entry.index
        if task.track != MOVING and options.heuristics != 0:
            more["algorithm"] = self.algorithms.get(task)
            more["heuristics"] = None if more["algorithm"] else options.heuristics
        return run.command_of(entry, options, **more)

    def start(self, entry):
        """Starts a process."""
        return run.Process(self.command_of(entry), self.options.timeout)

    def written(self, entry, process):
        """The row of a process that has ended."""
        return run.row_of(entry.name, process, self.path_of(entry))

    def finish(self, entry, process):
        """Keeps what a process has written; how it ended in words, and whether its program is to
        run no more at this shape. 77 before anything was measured ends a single track."""
        try:
            row = self.written(entry, process)
            if list(row.get("timed", ())) == ["step"]:
                raise DoesNotTake(ALONE)
            self.file.add(row, entry)
        except DoesNotTake as error:  # no failure
            self.file.fail(entry, "refused", str(error))
            return f"does not take this shape: {error}", True
        except Failed as error:
            alone = len({task.track for task in self.tasks}) == 1
            if isinstance(error, CannotRun) and alone and not self.file.rows:
                raise
            self.file.fail(entry, "failed", str(error))
            return f"FAILED: {error}", True
        if "heuristics" in row:
            self.algorithms.setdefault(entry.task, row["heuristics"]["winner"]["algorithm"])
        return outcome_of(row), False

    def show(self, ladders):
        """Every ladder."""
        for ladder in ladders:
            print_ladder(ladder)
            print()

    def report(self):
        """Prints what there is; returns the exit status."""
        if self.file.rows:
            self.show(self.file.runs())
            ended = ", INTERRUPTED" if self.runner.interrupted else ""
            print(f"recorded in {self.file.path}{ended}")
        else:
            print("no rung has a result; nothing is written", file=sys.stderr)
        if self.runner.interrupted:
            return run.INTERRUPTED
        failed = any("failed" in row for _, row in self.file.failures)
        return 1 if failed or not self.file.rows else 0


def outcome_of(row):
    """A row in a few words, for the log."""
    if "timed" not in row:
        return "verified"
    ladder = results.Run(row["context"])
    ladder.add(row)
    rate, ratio, measure = ladder.rate(row["step"]), ladder.ratio(row["step"]), ladder.measure
    return f"{rate.mid:.1f} {measure.unit}, {ratio.mid:.3f} of {measure.other_name}"


# --- the tables ---------------------------------------------------------------------------------


def cells_of(ladder, name):
    """{head: the text of a program or a contender in that column, or nothing}"""
    measure, rate = ladder.measure, ladder.rate(name)

    def ratio(to):
        found = name not in CONTENDERS and ladder.ratio(name, to)
        return "1" if name == to else found and found.to(3)

    def reading(key, form, scale=1):
        value = ladder.reading(name, key)
        return value is not None and form.format(value * scale)

    microseconds = 1e6 * median(ladder.seconds(name) or [0])
    cells = {
        f"{measure.unit} (p10 to p90)": rate and rate.to(1),
        f"of {measure.other_name} (p10 to p90)": ratio(measure.other),
        "of cuBLASLt (p10 to p90)": ratio("cublaslt"),
        "early launch over usual, time": ratio(EARLY),
        "a call": ladder.protocol == "call" and f"{microseconds:.2f} µs",
        "before": reading("before_seconds", "{:.4f} s"),
        measure.share.split()[0]: reading("share", "{:.1f} %", 100),
        "clock": reading("ghz", "{:.3f} GHz"),
        "power": reading("watts", "{:.0f} W"),
        "energy": reading("joules", "{:.3g} J"),
    }
    if ladder.gpu is None:
        emulator = ladder.first(name)["emulator"]
        counts, accesses = emulator["counts"], emulator["shared_memory_accesses"]
        cells["wgmma and mma"] = str(counts["wgmmas"] + counts["mmas"])
        cells["TMA read"] = f"{counts['tma_read_bytes'] / 1e6:.2f} MB"
        cells["TMA written"] = f"{counts['tma_written_bytes'] / 1e6:.2f} MB"
        cells["bank conflicts"] = str(sum(site["extra_wavefronts"] for site in accesses))
    return cells


def words_of(ladder, name):
    """What a program or a contender is; of cuBLASLt's best also which one it is."""
    words, found = ladder.words_of(name), ladder.heuristics if name == "cublaslt" else None
    cut = " (a list that was cut)" if found and found.get("cut") else ""
    return f"{words}{cut}: {found['winner']['name']}" if found else words


def table(ladder):
    """The rows of a ladder's table, the head first: programs, and those that they are compared
    with. A column with nothing in it is left out."""
    compared = (ladder.measure.other, *ladder.measure.besides)
    names = [*ladder.names, *(name for name in compared if name in ladder.contenders)]
    cells = {name: cells_of(ladder, name) for name in names if name not in ladder.failed}
    filled = dict.fromkeys(head for one in cells.values() for head in one if one[head])
    heads = [head for head in next(iter(cells.values()), ()) if head in filled]
    rows = [["rung", "idea", *heads]]
    for name in names:
        if name in ladder.failed:
            rows.append([name, f"FAILED: {ladder.failed[name]}"])
            continue
        title = CONTENDERS[name].name if name in CONTENDERS else name
        texts = (cells[name][head] or "-" for head in heads)
        rows.append([title, words_of(ladder, name), *texts])
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
    widths = [max(map(len, column)) for column in zip(*full)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def print_ladder(ladder):
    """The ladder's table, the comparison of neighbours, and what is to be known of it."""
    shape = " ".join(f"{name}={ladder.problem[name]}" for name in ladder.measure.dimensions)
    gpu = ladder.gpu["name"] if ladder.gpu else "CPU emulator"
    how = ladder.protocol or "no speed is measured"
    print(f"{gpu}, {shape}, inputs {ladder.problem['inputs']}, {how}, commit {ladder.commit}")
    print_aligned(table(ladder))
    for upper, lower in neighbours(ladder):
        if pair := ladder.against(upper, lower):
            verdict = "yes" if pair.ratio > 1 else "NO"
            words = f"paired ratio {pair.ratio:.4f}, in {pair.faster} of {pair.passes} passes"
            print(f"{upper} faster than {lower}: {verdict} ({words})")
    for name, why in ladder.refused.items():
        print(f"{name} does not take this shape: {why}")
    ratios = ((name, ladder.ratio(name)) for name in ladder.measured)
    spreads = {name: ratio.high / ratio.low for name, ratio in ratios if ratio}
    wide = [f"{name} ({one - 1:.1%})" for name, one in spreads.items() if one > WIDE]
    if wide:
        limit = f"{WIDE - 1:.0%} between p10 and p90 of the ratio to {ladder.measure.other_name}"
        print(f"WARNING: the spread is wide (over {limit}): {', '.join(wide)}")
    rows = [row for name in ladder.measured for row in ladder.rows[name]]
    others = dict.fromkeys(other for row in rows for other in row.get("other_processes", ()))
    if others:
        print(f"WARNING: other processes used the GPU: {', '.join(others)}")


def ladder_main(arguments):
    """The whole program; returns its exit status."""
    options = make_parser(__doc__, "--emulate" in arguments).parse_args(arguments)
    if options.validate:
        shapes_of(options, sorted({name[0] for name in names_of(options)}))
        return 0
    protocols = BOTH if options.protocol == "both" else (options.protocol,)
    if options.emulate and options.protocol:
        print("ladder: the emulator measures no time; --protocol is left out", file=sys.stderr)
    protocols = (None,) if options.emulate else protocols
    return measure(options, make_tasks(options, protocols), Ladders)


def measure(options, tasks, kind):
    """Runs the ladders, or says what --dry-run would run; returns the exit status."""
    plan, said = make_plan(tasks, options.passes), sys.stdout if options.dry_run else sys.stderr
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # the order in which nvidia-smi counts
    with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
        ladders = kind(options, tasks, folder)
        for entry in plan if options.dry_run else ():
            print(f"{entry.label}: {shlex.join(ladders.command_of(entry))}")
            ladders.algorithms[entry.task] = "<the fastest>"
        print(in_short(options, tasks, plan), file=said)
        if options.dry_run:
            return 0
        try:
            ladders.measure(plan)
        finally:
            ladders.file.close()
        return ladders.report()


if __name__ == "__main__":
    run.run_as("ladder", ladder_main)
