"""Runs built programs by a plan, one after the other or several at a time, and keeps their rows.

A program writes one row of JSON when it has verified and timed all. The row goes to the file of the
run as soon as its process has finished (bench/results.py), so an interrupt or a crash loses nothing
that was finished. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from bench import results, rungs
from bench.results import RESULTS, ROOT

BAD_USAGE, CANNOT_RUN_HERE, OUTPUT_LOST, INTERRUPTED = 2, 77, 74, 130  # exit statuses
STOP_SECONDS = 10  # how long an interrupted program may take to end by itself
POLL_SECONDS = 0.02


class UsageError(Exception):
    """The command line asks for something that cannot be done."""

    status = BAD_USAGE


class Stopped(Exception):
    """Nothing more can be measured."""

    status = 1


class Failed(Exception):
    """One program failed, in these words; the others go on."""

    status = 1


class CannotRun(Failed):
    """A program says that this machine cannot run it."""

    status = CANNOT_RUN_HERE


class DoesNotTake(Failed):
    """A program says that it does not take this shape."""


# --- one process --------------------------------------------------------------------------------


def scratch():
    """A temporary file for what a program prints; odd bytes in it are no reason to fail."""
    return tempfile.TemporaryFile("w+", errors="replace")


class Process:
    """A program, from its start to what it printed."""

    def __init__(self, command, timeout):
        self.began, self.timeout, self.late = time.monotonic(), timeout, False
        self.output, self.errors = scratch(), scratch()
        pipes = {"stdin": subprocess.DEVNULL, "stdout": self.output, "stderr": self.errors}
        self.process = subprocess.Popen(command, **pipes)

    def seconds(self):
        """How long it has run."""
        return time.monotonic() - self.began

    def has_ended(self):
        """True once it has, or is to be ended since it takes too long."""
        ended = self.process.poll() is not None
        self.late = not ended and self.seconds() > self.timeout
        return ended or self.late

    def result(self):
        """(exit status, stdout, stderr) of a program that has ended. Failed if it did not by
        itself."""
        stop(self.process)
        with self.output, self.errors:
            if self.late:
                raise Failed(f"not finished after {self.timeout} s")
            self.output.seek(0)
            self.errors.seek(0)
            return self.process.returncode, self.output.read(), self.errors.read()


def stop(process, seconds=STOP_SECONDS):
    """Ends a process that still runs: asks first, as by Ctrl-C, since it may be inside a launch."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def execute(command, timeout):
    """Runs one program to its end: (exit status, stdout, stderr)."""
    process = Process(command, timeout)
    try:
        while not process.has_ended():
            time.sleep(POLL_SECONDS)
        return process.result()
    finally:
        stop(process.process)


def last_line(text):
    """The last line that isn't blank, without what a terminal obeys, or an empty string."""
    line = text.rstrip().rpartition("\n")[2].strip()
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def complaint(output, errors, name=None):
    """Why a program failed, in its own words: its WRONG line, else the last line on stderr that
    begins with its name (a report of the emulator's goes on after it), else its last line."""
    said = [line for line in output.splitlines() if line.startswith("WRONG")][:1]
    said += [line for line in errors.splitlines() if name and line.startswith(f"{name}: ")][-1:]
    found = [*map(last_line, said), last_line(errors), last_line(output), "it printed nothing"]
    return next(line for line in found if line)


def row_of(name, process, path):
    """The row that a program which has ended wrote. It refused the shape if it ends with 2 and
    doesn't point to --help."""
    status, output, errors = process.result()
    words = complaint(output, errors, name)
    if status == CANNOT_RUN_HERE:
        raise CannotRun(words)
    if status == BAD_USAGE and "--help says more" not in errors:
        raise DoesNotTake(words.removeprefix(f"{name}: "))
    if status:
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        raise Failed(f"{how}: {words}")
    return read(path)


def read(path):
    """The row in a file."""
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
        if not {"gpu", "commit", "protocol", "problem"} <= row["context"].keys():
            raise ValueError("it lacks a context")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise Failed(f"its JSON: {error!r}") from error
    return row


# --- the file -----------------------------------------------------------------------------------


class File:
    """The rows of one run. They go to `out`, to bench/results/<gpu>/<record>.jsonl in place of what
    is there, or to a new file in build/results/<gpu>: what the first row says of the GPU
    decides."""

    def __init__(self, options, note):
        self.options, self.note = options, note
        self.path = self.first = None
        self.rows, self.failures, self.seen = [], [], set()

    def add(self, row, entry):
        """Appends a row. Failed unless it is what was asked, on the GPU of the first one."""
        context, options = row["context"], self.options
        asked = {"step": entry.name, "protocol": entry.task.protocol, **entry.task.shape}
        asked.update(inputs=options.inputs, seed=options.seed)
        found = {**context["problem"], "step": row["step"], "protocol": context["protocol"]}
        found = {key: found.get(key) for key in asked}
        if found != asked:
            raise Failed(f"it ran {found}, not {asked}")
        for key in ("gpu", "commit"):
            if self.first and context[key] != self.first["context"][key]:
                raise Failed(f"its {key} is not that of the first program")
        self.warn(row.get("other_processes", ()))
        self.first = self.first or row
        self.append(row, entry.task)

    def warn(self, others):
        """Says who else uses the GPU. Stopped if somebody did from the first row on, unasked."""
        new = [one for one in others if one not in self.seen]
        self.seen.update(new)
        if new and self.first is None and not self.options.share_gpu:
            raise Stopped(
                f"the GPU is in use by {', '.join(new)}: nothing is measured; --share-gpu measures "
                "anyway, and records that"
            )
        for one in new:
            self.note(f"WARNING: {one} uses the GPU too")

    def fail(self, entry, ends, why):
        """Notes that a program has no result: it "failed", or "refused" the shape."""
        apart = entry.task.protocol in results.PROTOCOLS and rungs.scales_blocks(entry.name)
        more = {"block_scales": True} if apart else {}  # of others that is seen by what was timed
        self.failures.append((entry, {"step": entry.name, ends: why, **more}))

    def close(self):
        """Appends the failures, with the context of a row at the same shape, or of one of their
        track."""
        for entry, row in self.failures:
            of_track = [one["context"] for task, one in self.rows if task.track == entry.task.track]
            for context in sorted(of_track, key=entry.fits)[-1:]:
                problem = {**context["problem"], **entry.task.shape}
                own = {"protocol": entry.task.protocol, "problem": problem}
                self.append({**row, "context": {**context, **own}}, entry.task)

    def append(self, row, task):
        """Writes it, without the algorithms of cuBLASLt that lost."""
        found = row.get("heuristics")
        if found:
            row = {**row, "heuristics": {key: found[key] for key in found if key != "timed"}}
        if self.path is None:
            self.path = self.place(row["context"]["gpu"])
        results.append(self.path, row)
        self.rows.append((task, row))

    def place(self, gpu):
        """Where the rows go."""
        options = self.options
        if options.out:
            return options.out
        if options.record:
            name = options.record.format(card=(gpu or {}).get("card", "unknown"))
            path = RESULTS / results.slug(gpu) / f"{name}.jsonl"
            path.unlink(missing_ok=True)
            return path
        date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        build = (options.build or [ROOT / "build"])[0]
        return build / "results" / results.slug(gpu) / f"{date}.jsonl"

    def runs(self):
        """What was measured: of each task a run, of each context if it has several."""
        runs = {}
        for task, row in self.rows:
            key = task, json.dumps(row["context"], sort_keys=True)
            runs.setdefault(key, results.Run(row["context"], self.path)).add(row)
        return list(runs.values())


# --- a plan -------------------------------------------------------------------------------------


@dataclass(eq=False, frozen=True)
class Task:
    """Programs at one shape by one protocol (None: not timed): what is comparable."""

    track: str
    protocol: str | None
    shape: dict  # of its dimensions; on the emulator those that are left out are the rung's own
    programs: tuple  # (name, path), lowest first

    @property
    def title(self):
        """'v 8192x8192x8192 burst'"""
        shape = "x".join(map(str, self.shape.values()))
        return " ".join(filter(None, (self.track, shape, self.protocol)))


@dataclass(frozen=True)
class Entry:
    """One process of a plan."""

    task: Task
    name: str
    path: Path
    label: str  # in the log
    index: int = 0  # of the pass

    def fits(self, context):
        """Whether a row of this context is at the shape and by the protocol of the entry."""
        shape = self.task.shape.items() <= context["problem"].items()
        return shape and context["protocol"] == self.task.protocol


class Runner:
    """Runs a plan. From now on a Ctrl-C or SIGTERM ends it between two rows, also where SIGINT was
    ignored at the start."""

    def __init__(self, jobs=1):
        self.jobs, self.progress, self.interrupted = jobs, Progress(jobs), False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.interrupt)

    def interrupt(self, *_):
        """A signal came."""
        self.interrupted = True

    def run(self, plan, start, finish):
        """Runs the entries in their order: start(entry) is a process, and finish(entry, process)
        says in words how it ended, and whether no more runs of its program are of use in its
        task."""
        waiting, running = list(plan), {}
        try:
            while (waiting or running) and not self.interrupted:
                while waiting and len(running) < self.jobs:
                    entry = waiting.pop(0)
                    running[entry] = start(entry)
                    self.progress.running(list(running), waiting)
                for entry in [entry for entry, one in running.items() if one.has_ended()]:
                    one = running.pop(entry)
                    seconds = one.seconds()
                    outcome, useless = finish(entry, one)
                    same = (entry.task, entry.name) if useless else None
                    waiting = [other for other in waiting if (other.task, other.name) != same]
                    self.progress.finished(entry, seconds, outcome, [*running, *waiting])
                time.sleep(POLL_SECONDS)
        finally:
            for one in running.values():
                stop(one.process)
            if self.interrupted:
                self.progress.note("interrupted: what is finished is kept")
            self.progress.close()


def clock(seconds):
    """'1:05', or '2:01:05' from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    """How far a plan has come: a bar on a terminal, lines in a log."""

    WIDTH = 30

    def __init__(self, jobs=1, stream=None):
        self.jobs, self.done = jobs, 0
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.last = {}  # seconds that the latest run of a program took: by its task and name

    def expected(self, entry):
        """What a run takes: what its program took last in that task; or else what others in it did,
        or any."""
        of_task = [seconds for (task, _), seconds in self.last.items() if task is entry.task]
        known = self.last.get((entry.task, entry.name))
        return known or mean(of_task or self.last.values() or [0])

    def time_left(self, remaining):
        """', 3:20 left', or nothing while nothing is known."""
        left = sum(map(self.expected, remaining)) / self.jobs
        return f", {clock(left)} left" if self.last else ""

    def running(self, now, waiting):
        """Shows what runs now."""
        if self.terminal:
            total = self.done + len(now) + len(waiting)
            bar = "#" * (self.WIDTH * self.done // total)
            names = "; ".join(entry.label for entry in now)
            left = self.time_left([*now, *waiting])
            self.write(f"\r\033[K[{bar:.<{self.WIDTH}}] {self.done}/{total} {names}{left}")

    def finished(self, entry, seconds, outcome, remaining):
        """Counts a run, and logs it where there is no bar."""
        self.done += 1
        self.last[entry.task, entry.name] = seconds
        if not self.terminal:
            left = self.time_left(remaining)
            self.write(f"{entry.label}: {outcome} ({seconds:.1f} s{left})\n")

    def note(self, text):
        """A whole line, above the bar if there is one."""
        self.close()
        self.write(f"{text}\n")

    def close(self):
        """Takes the bar away."""
        self.write("\r\033[K" if self.terminal else "")

    def write(self, text):
        self.stream.write(text)
        self.stream.flush()


# --- the command line ---------------------------------------------------------------------------


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


def step_name(text):
    """'v07' for v07, v7 or 7; 'v06-each-sm' for the variant, with the same freedom; a rival's name
    as it is."""
    text = text.strip()
    if results.NAME.fullmatch(text) and results.is_rival(text):
        return text
    match = re.fullmatch(rf"([{results.TRACKS}]?)([0-9]{{1,2}})(-[a-z0-9-]+)?", text)
    if not match:
        raise UsageError(f"--steps: '{text}' is not a rung; write for instance v01,v02,v07")
    return f"{match[1] or 'v'}{int(match[2]):02}{match[3] or ''}"


def tracks_of(options):
    """The tracks to run: those of --steps, or of --track."""
    if options.steps is not None:
        return tuple(dict.fromkeys(step_name(step)[0] for step in options.steps.split(",")))
    return tuple(results.TRACKS) if options.track == "all" else (options.track,)


def sources():
    """The names of all programs that can be built: what was built of a file that is gone does not
    run."""
    bench = ROOT / "bench"
    others = [*(bench / "variants").glob("*.patch"), *(bench / "rivals").glob("[vatf]-*.cu")]
    return {*rungs.today(), *(path.stem for path in others)}


def find_programs(options, tracks, folder="steps"):
    """What to run, lowest first and a variant after its rung: a list of (name, path), of several
    build directories from the first that has it. Without --steps that is all of the tracks that is
    built."""
    known, built = sources(), {}
    folders = [build / folder for build in options.build or [ROOT / "build"]]
    for one in folders:
        if not one.is_dir():
            raise UsageError(f"no built rung in {one}: run 'make ladder', or name --build DIR")
        for path in one.glob("[vatf]*"):
            if path.name in known and path.is_file() and os.access(path, os.X_OK):
                built.setdefault(path.name, path.resolve())
    names = {name for name in built if name[0] in tracks}
    if options.steps is not None:
        names = {step_name(text) for text in options.steps.split(",")}
    places, missing = ", ".join(map(str, folders)), sorted(names - built.keys())
    if not names:
        raise UsageError(f"no built rung in {places}: run 'make ladder', or name --build DIR")
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: not built in {places} ('make step N=...' builds a rung, "
            "'make variants' all variants)"
        )
    return [(name, built[name]) for name in sorted(names, key=results.name_order)]


def parser(doc):
    """A parser whose --help begins with what the program's own text says."""
    layout = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=doc, formatter_class=layout, allow_abbrev=False)


def add_options(add, on_gpu=True):
    """The options that every program has whose rows are kept; names are those of a rung's program
    wherever both have them."""
    add("--steps", metavar="v01,v02-x,...", help="what to run (default: all that is built)")
    add(
        "--build",
        metavar="DIR",
        type=Path,
        action="append",
        help="where the programs are; may be repeated (default: build)",
    )
    for name in ("--size", "--m", "--n", "--k"):
        add(name, type=positive, metavar="N", help="m = n = k = N" if name == "--size" else None)
    add("--inputs", choices=("normal", "uniform", "integers", "bits"), default="normal")
    add("--seed", type=unsigned64, default=1)
    add("--timeout", type=positive, default=600, metavar="S", help="seconds per process")
    where = "default: a new one in build/results/<gpu>"
    add("--out", metavar="FILE", type=Path, help=f"append the rows to it ({where})")
    add("--record", metavar="RUN", help="write bench/results/<gpu>/RUN.jsonl anew (make record)")
    if on_gpu:
        add("--device", type=index, default=0, metavar="I")
        add("--share-gpu", action="store_true", help="measure even beside another process")


def check_destination(out):
    """Refuses a file that could not be written, before anything is run."""
    if out and (out.is_dir() or not out.parent.is_dir()):
        raise UsageError(f"--out: {out} names no file in a directory that exists")
    if out and not os.access(out if out.exists() else out.parent, os.W_OK):
        raise UsageError(f"--out: {out} is not writable")


def words_of(program, pairs):
    """A command line of options and their values; None is no value, and the option is left out."""
    given = [pair for pair in pairs.items() if pair[1] is not None]
    return [str(program)] + [str(word) for pair in given for word in pair]


def problem_words(options, shape):
    """The options that say what to compute, and on what."""
    shape = {f"--{name}": value for name, value in shape.items()}
    return {**shape, "--inputs": options.inputs, "--seed": options.seed}


def run_as(name, main):
    """The whole of a program whose main() takes the words of the command line and returns its exit
    status: an error that is expected is one line and a status. OUTPUT_LOST if all is well but that
    its output could not be written."""
    status = 0
    try:
        try:
            status = main(sys.argv[1:])
        except KeyboardInterrupt:
            status = INTERRUPTED
        except (UsageError, Stopped, Failed, OSError) as error:
            print(error if isinstance(error, CannotRun) else f"{name}: {error}", file=sys.stderr)
            status = getattr(error, "status", 1)
        print(end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes out the rest at its end
        if status == 0:
            print(f"{name}: cannot write its output: {error.strerror}", file=sys.stderr)
            status = OUTPUT_LOST
    sys.exit(status)
