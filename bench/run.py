"""Runs built programs by a plan, one after the other or several at a time, and keeps their rows.

A program writes one row of JSON when it has verified and timed all. The row goes to the file of the
run as soon as its process has finished (bench/results.py), so an interrupt or a crash loses nothing
that was finished. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import chain
from pathlib import Path

from bench import results, rungs
from bench.results import RESULTS, ROOT

BAD_USAGE, CANNOT_RUN_HERE, INTERRUPTED = 2, 77, 130  # exit statuses
STOP_SECONDS = 10  # how long an interrupted program may take to end by itself
POLL_SECONDS = 0.02
BAR, CLEAR = 30, "\r\033[K"  # letters of a bar; takes it away


class UsageError(Exception):
    """The command line asks for something that cannot be done."""

    status = BAD_USAGE


class Stopped(Exception):
    """Nothing more can be measured."""


class Failed(Exception):
    """One program failed, in these words; the others go on."""


class CannotRun(Failed):
    """A program says that this machine cannot run it."""

    status = CANNOT_RUN_HERE


class DoesNotTake(Failed):
    """A program says that it does not take this shape."""


# --- one process --------------------------------------------------------------------------------


# For what a program prints; odd bytes in it are no reason to fail.
temporary = partial(tempfile.TemporaryFile, "w+", errors="replace")


class Process:
    """A program, from its start to what it printed."""

    def __init__(self, command, timeout):
        self.began, self.timeout = time.monotonic(), timeout
        self.output, self.errors = temporary(), temporary()
        pipes = {"stdin": subprocess.DEVNULL, "stdout": self.output, "stderr": self.errors}
        self.process = subprocess.Popen(command, **pipes)

    def seconds(self):
        """How long it has run."""
        return time.monotonic() - self.began

    def has_ended(self):
        """Whether it has, or is to be ended since it takes too long."""
        return self.process.poll() is not None or self.seconds() > self.timeout

    def result(self):
        """(exit status, stdout, stderr), once it has ended. Failed if it takes too long."""
        try:
            self.process.wait(max(0, self.timeout - self.seconds()))
        except subprocess.TimeoutExpired:
            raise Failed(f"not finished after {self.timeout} s") from None
        finally:
            stop(self.process)
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
    return Process(command, timeout).result()


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

    def __init__(self, options):
        self.options, self.path = options, None
        self.rows, self.failures = [], []

    def add(self, row, entry):
        """Appends a row. Failed unless it is what was requested, on the GPU of the first one.
        Stopped if from the first row on another process uses the GPU, unless that is allowed."""
        context, options = row["context"], self.options
        asked = {"step": entry.name, "protocol": entry.task.protocol, **entry.task.shape}
        asked.update(inputs=options.inputs, seed=options.seed)
        found = {**context["problem"], "step": row["step"], "protocol": context["protocol"]}
        if not asked.items() <= found.items():
            raise Failed(f"it ran {found}, not {asked}")
        for key in ("gpu", "commit"):
            if self.rows and context[key] != self.rows[0][1]["context"][key]:
                raise Failed(f"its {key} is not that of the first program")
        others = ", ".join(row.get("other_processes", ()))
        if others and not self.rows and not options.share_gpu:
            raise Stopped(
                f"the GPU is in use by {others}: nothing is measured; --share-gpu measures anyway, "
                "and records that"
            )
        self.append(row, entry.task)

    def fail(self, entry, ends, why):
        """Notes that a program has no result: it "failed", or "refused" the shape."""
        apart = entry.task.protocol in results.PROTOCOLS and rungs.scales_blocks(entry.name)
        more = {"block_scales": True} if apart else {}  # of others that is seen by what was timed
        self.failures.append((entry.task, {"step": entry.name, ends: why, **more}))

    def close(self):
        """Appends the failures, with the context of their track's first row at their shape."""
        contexts = {task.track: row["context"] for task, row in reversed(self.rows)}
        for task, row in self.failures:
            if context := contexts.get(task.track):
                problem = {**context["problem"], **task.shape}
                context = {**context, "protocol": task.protocol, "problem": problem}
                self.append({**row, "context": context}, task)

    def append(self, row, task):
        """Writes it, and keeps it for what is printed."""
        self.path = self.path or self.place(row["context"]["gpu"])
        results.append(self.path, results.lean(row) if self.options.record else row)
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
        return options.build / "results" / results.slug(gpu) / f"{date}.jsonl"

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


class Runner:
    """Runs a plan. From now on a Ctrl-C or SIGTERM ends it between two rows, also where SIGINT was
    ignored at the start."""

    def __init__(self, jobs=1):
        self.jobs, self.progress, self.interrupted = jobs, Progress(), False
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
                    self.progress.running(running, len(waiting))
                for entry in [entry for entry, one in running.items() if one.has_ended()]:
                    one = running.pop(entry)
                    seconds = one.seconds()
                    outcome, useless = finish(entry, one)
                    same = (entry.task, entry.name) if useless else None
                    waiting = [other for other in waiting if (other.task, other.name) != same]
                    self.progress.finished(entry, seconds, outcome, len(running) + len(waiting))
                time.sleep(POLL_SECONDS)
        finally:
            for one in running.values():
                stop(one.process)
            self.progress.write("", end="")
            if self.interrupted:
                self.progress.write("interrupted: what is finished is kept")


def clock(seconds):
    """'0:01:05'"""
    return str(timedelta(seconds=int(seconds)))


class Progress:
    """How far a plan has come: a bar on a terminal, lines in a log."""

    def __init__(self, stream=None):
        self.began, self.done, self.stream = time.monotonic(), 0, stream or sys.stderr
        self.terminal = self.stream.isatty()

    def write(self, text, end="\n"):
        """In place of the bar, if there is one."""
        self.stream.write(f"{CLEAR * self.terminal}{text}{end}")
        self.stream.flush()

    def left(self, remaining):
        """', 0:03:20 left', if the others take as long as those before them."""
        each = (time.monotonic() - self.began) / max(1, self.done)
        return f", {clock(each * remaining)} left" if self.done else ""

    def running(self, now, waiting):
        """Shows what runs now."""
        total = self.done + len(now) + waiting
        bar = "#" * (BAR * self.done // total)
        names = "; ".join(entry.label for entry in now)
        text = f"[{bar:.<{BAR}}] {self.done}/{total} {names}{self.left(len(now) + waiting)}"
        self.write(text * self.terminal, end="")

    def finished(self, entry, seconds, outcome, remaining):
        """Counts a run; a line of it, on a terminal only if it failed."""
        self.done += 1
        if not self.terminal or outcome.startswith("FAILED"):
            self.write(f"{entry.label}: {outcome} ({seconds:.1f} s{self.left(remaining)})")


# --- the command line ---------------------------------------------------------------------------


def integer(least, most, *words):
    """An argparse type: an integer from `least` to `most`, or one of these words."""

    def read(text):
        if text in words:
            return text
        if not re.fullmatch(r"[0-9]{1,20}", text) or not least <= int(text) <= most:
            known = " or ".join([f"an integer from {least} to {most}", *words])
            raise argparse.ArgumentTypeError(f"'{text}' is not {known}")
        return int(text)

    return read


index, positive = integer(0, 2**31 - 1), integer(1, 2**31 - 1)


def parser(doc):
    """A parser whose --help begins with what the program's own text says."""
    layout = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=doc, formatter_class=layout, allow_abbrev=False)


def add_options(add, on_gpu=True):
    """The options that every program has whose rows are kept; names are those of a rung's program
    wherever both have them."""
    add("--steps", metavar="v01,v02-x,...", help="what to run (default: all rungs that are built)")
    add("--build", metavar="DIR", type=Path, default=ROOT / "build", help="default: build")
    what = (
        "shapes, with commas between: 8192, 4096x14336x4096 (t track: 4096x16384), squares, models"
    )
    add("--sizes", "--size", metavar="LIST", help=what)
    add("--inputs", choices=("normal", "integers", "bits"), default="normal")
    add("--seed", type=integer(0, 2**64 - 1), default=1)
    add("--timeout", type=positive, default=600, metavar="S", help="seconds per process")
    where = "default: a new one in build/results/<gpu>"
    add("--out", metavar="FILE", type=Path, help=f"append the rows to it ({where})")
    add("--record", metavar="RUN", help="write bench/results/<gpu>/RUN.jsonl anew (make record)")
    if on_gpu:
        add("--device", type=index, default=0, metavar="I")
        add("--share-gpu", action="store_true", help="measure even beside another process")


def command_of(entry, options, **more):
    """A process's command line: what to compute, and more options but for those that are None."""
    pairs = {**entry.task.shape, "inputs": options.inputs, "seed": options.seed, **more}
    given = ((f"--{name}", str(value)) for name, value in pairs.items() if value is not None)
    return [str(entry.path), *chain(*given)]


def run_as(name, main):
    """The whole of a program whose main() takes the words of the command line and returns its exit
    status: an error that is expected is one line and a status."""
    try:
        status = main(sys.argv[1:])
    except KeyboardInterrupt:
        status = INTERRUPTED
    except (UsageError, Stopped, Failed, OSError) as error:
        print(error if isinstance(error, CannotRun) else f"{name}: {error}", file=sys.stderr)
        status = getattr(error, "status", 1)
    sys.exit(status)
