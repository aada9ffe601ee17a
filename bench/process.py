"""Running a built program: its start, its end, what it complained about, and signals."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

BAD_USAGE = 2
CANNOT_RUN_HERE = 77
OUTPUT_LOST = 74  # EX_IOERR of sysexits.h: no program here means anything else by it
INTERRUPTED = 130
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
STOP_SECONDS = 10  # how long an interrupted rung may take to end by itself


class CannotRun(Exception):
    """A rung says that this machine cannot run it: its one line."""


class DoesNotTake(Exception):
    """A rung says that it does not take this shape: its one line."""


class RungFailed(Exception):
    """One rung failed; the ladder goes on without it."""


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
    """The last line that isn't blank, or an empty string."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return printable(lines[-1]) if lines else ""


def printable(line):
    """What a program said, without what a terminal obeys."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def complaint(output, errors):
    """Why a rung failed, in its own words: its WRONG line, else its last line on stderr."""
    wrong = [line.strip() for line in output.splitlines() if line.startswith("WRONG")]
    return (
        printable(wrong[0])
        if wrong
        else last_line(errors) or last_line(output) or "it printed nothing"
    )


def die_with(parent):
    """Called in a child: Linux kills it when this program ends, however it ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)  # the parent ended before that


def start(command, output, errors):
    """Starts a rung in a session of its own: a Ctrl-C at the terminal is ours to pass on."""
    parent = os.getpid()
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            preexec_fn=lambda: die_with(parent),  # noqa: PLW1509 (no program here has threads)
        )
    except OSError as error:
        raise RungFailed(f"cannot start {command[0]}: {error.strerror}") from error


def scratch():
    """A temporary file for what a rung prints; odd bytes in it are no reason to fail."""
    return tempfile.TemporaryFile("w+", errors="replace")


def execute(command, timeout):
    """Runs one rung to its end and returns (exit status, stdout, stderr)."""
    with scratch() as output, scratch() as errors:
        process = start(command, output, errors)
        try:
            status = process.wait(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise RungFailed(f"not finished after {timeout} s") from error
        finally:
            stop(process)
        output.seek(0)
        errors.seek(0)
        return status, output.read(), errors.read()


def explain(status, output, errors):
    """The reason to record for a rung that did not exit 0."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}: {complaint(output, errors)}"
    return f"exit status {status}: {complaint(output, errors)}"


def catch_signals():
    """SIGTERM ends the ladder as a Ctrl-C does, also where SIGINT was ignored at the start."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def ignore_signals():
    """Nothing interrupts the writing of the file."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def expected(name, main, statuses):
    """What main() returns. Errors that are expected become one line and an exit status: that of their
    kind in `statuses`, 77 where a program cannot run here, 130 of a Ctrl-C."""
    try:
        return main()
    except CannotRun as error:
        print(error, file=sys.stderr)
        return CANNOT_RUN_HERE
    except tuple(statuses) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return next(status for kind, status in statuses.items() if isinstance(error, kind))
    except KeyboardInterrupt:
        return INTERRUPTED


def ended(main):
    """What main() returns; OUTPUT_LOST, after one line, if that is 0 and its output could not be
    written."""
    status = 0
    try:
        status = main()
        print(end="", flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python writes out the rest at its end
        if status == 0:
            name = Path(sys.argv[0]).stem
            print(f"{name}: cannot write its output: {error.strerror}", file=sys.stderr)
        return status or OUTPUT_LOST
    return status
