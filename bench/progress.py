"""How far a plan has come: a bar on a terminal, lines in a log."""

from __future__ import annotations

import sys
from statistics import mean


def clock(seconds):
    """'1:05', or '2:01:05' from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    """What is done and what is left of a plan, which is a list of selection.Entry."""

    WIDTH = 30

    def __init__(self, jobs=1, stream=None):
        self.jobs = jobs  # that run at once
        self.done = 0
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.last = {}  # seconds that the latest run of a rung took: by its task and name

    def expected(self, entry):
        """What a run takes: what its rung took last in that task; or else what others in it did, or
        others by its protocol, or any. Something has to have run."""
        task, protocol = entry.task, entry.task.options.protocol
        for like in (
            lambda other, name: (other, name) == (task, entry.name),
            lambda other, _: other is task,
            lambda other, _: other.options.protocol == protocol,
        ):
            known = [seconds for key, seconds in self.last.items() if like(*key)]
            if known:
                return mean(known)
        return mean(self.last.values())

    def seconds_left(self, remaining):
        """What the runs to come take; None while nothing is known."""
        return sum(map(self.expected, remaining)) / self.jobs if self.last else None

    def time_left(self, remaining):
        """', 3:20 left', or nothing while nothing is known."""
        left = self.seconds_left(remaining)
        return "" if left is None else f", {clock(left)} left"

    def running(self, now, waiting):
        """Shows what runs now."""
        if not self.terminal:
            return
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
        self.write(f"{self.clearing()}{text}\n")

    def close(self):
        """Takes the bar away."""
        self.write(self.clearing())

    def clearing(self):
        return "\r\033[K" if self.terminal else ""

    def write(self, text):
        self.stream.write(text)
        self.stream.flush()
