"""Running a built program, from its start to what it complained about; how ours start and end."""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time

BAD_USAGE = 2
CANNOT_RUN_HERE = 77
OUTPUT_LOST = 74  # EX_IOERR of sysexits.h: no program here means anything else by it
INTERRUPTED = 130
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
STOP_SECONDS = 10  # how long an interrupted rung may take to end by itself
POLL_SECONDS = 0.02


class UsageError(Exception):
    """The command line asks for something that cannot be done: exit status 2."""


class DoesNotTake(Exception):
    """A rung says that it does not take this shape: its one line."""


class RungFailed(Exception):
    """One rung failed; the ladder goes on without it."""

    def recorded(self):
        """What its record says."""
        return str(self)


class CannotRun(RungFailed):
    """A rung says that this machine cannot run it: its one line."""

    def recorded(self):
        return f"exit status {CANNOT_RUN_HERE}: {self}"


def stop(process, seconds=STOP_SECONDS):
    """Ends a program that still runs: asks first, as by Ctrl-C, since it may be inside a GPU launch or
    write what it has."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_line(text):
    """The last line that isn't blank, without what a terminal obeys, or an empty string."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in (lines or [""])[-1])


def complaint(output, errors, name=None):
    """Why a program failed, in its own words: its WRONG line, else the last line on stderr that begins
    with its name (a report of the emulator's goes on after it), else its last line."""
    said = [line for line in output.splitlines() if line.startswith("WRONG")][:1]
    said += [line for line in errors.splitlines() if name and line.startswith(f"{name}: ")][-1:]
    found = [*map(last_line, said), last_line(errors), last_line(output), "it printed nothing"]
    return next(line for line in found if line)


def die_with(parent):
    """Called in a child: Linux kills it when this program ends, however it ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)  # the parent ended before that


def scratch():
    """A temporary file for what a rung prints; odd bytes in it are no reason to fail."""
    return tempfile.TemporaryFile("w+", errors="replace")


class Running:
    """A program, from its start to what it printed: one that could not be started has ended. It has a
    session of its own: a Ctrl-C at the terminal is ours to pass on."""

    def __init__(self, command, timeout):
        parent = os.getpid()
        self.began, self.timeout = time.monotonic(), timeout
        self.output, self.errors = scratch(), scratch()
        self.process, self.failed = None, None
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self.output,
                stderr=self.errors,
                start_new_session=True,
                preexec_fn=lambda: die_with(parent),  # noqa: PLW1509 (no program here has threads)
            )
        except OSError as error:
            self.failed = f"cannot start {command[0]}: {error.strerror}"

    def seconds(self):
        """How long it has run."""
        return time.monotonic() - self.began

    def has_ended(self):
        """True once it has, or is to be ended since it takes too long."""
        ended = self.failed or self.process.poll() is not None
        if not ended and self.seconds() > self.timeout:
            self.failed = f"not finished after {self.timeout} s"
        return bool(ended or self.failed)

    def stop(self):
        """Ends it if it still runs."""
        if self.process:
            stop(self.process)

    def result(self):
        """(exit status, stdout, stderr) of a program that has ended. RungFailed if it did not by
        itself."""
        self.stop()
        with self.output, self.errors:
            if self.failed:
                raise RungFailed(self.failed)
            self.output.seek(0)
            self.errors.seek(0)
            return self.process.returncode, self.output.read(), self.errors.read()


def execute(command, timeout):
    """Runs one program to its end and returns (exit status, stdout, stderr)."""
    running = Running(command, timeout)
    try:
        while not running.has_ended():
            time.sleep(POLL_SECONDS)
        return running.result()
    finally:
        running.stop()


def explain(status, output, errors, name=None):
    """The reason to record for a rung that did not exit 0."""
    how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    return f"{how}: {complaint(output, errors, name)}"


def catch_signals():
    """SIGTERM ends the ladder as a Ctrl-C does, also where SIGINT was ignored at the start."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def ignore_signals():
    """Nothing interrupts the writing of the file."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def parser(doc):
    """A parser whose --help begins with what the program's own text says."""
    layout = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=doc, formatter_class=layout, allow_abbrev=False)


def status_of(name, main, statuses):
    """What main() returns. Errors that are expected become one line and an exit status: that of their
    kind in `statuses`, 77 where a program cannot run here, 130 of a Ctrl-C."""
    try:
        return main(sys.argv[1:])
    except CannotRun as error:
        print(error, file=sys.stderr)
        return CANNOT_RUN_HERE
    except tuple(statuses) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return next(status for kind, status in statuses.items() if isinstance(error, kind))
    except KeyboardInterrupt:
        return INTERRUPTED


def run_as(name, main, statuses):
    """The whole of a program whose main() takes the words of the command line: it exits, with
    OUTPUT_LOST after one line if all is well but that its output could not be written."""
    status = 0
    try:
        status = status_of(name, main, {UsageError: BAD_USAGE, **statuses})
        print(end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes out the rest at its end
        if status == 0:
            print(f"{name}: cannot write its output: {error.strerror}", file=sys.stderr)
            status = OUTPUT_LOST
    sys.exit(status)
