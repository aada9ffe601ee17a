"""How far a ladder has come: a bar on a terminal, lines in a log."""

from __future__ import annotations

import sys


def clock(seconds):
    """'1:05', or '2:01:05' from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def average(values):
    """The mean, or None of nothing."""
    values = list(values)
    return sum(values) / len(values) if values else None


class Progress:
    """What is done and what is left of a plan, which is a list of tasks.Entry."""

    WIDTH = 30

    def __init__(self, total, titles=False, stream=None):
        self.total = total
        self.titles = titles  # there are several ladders: say which one it is
        self.done = 0
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.last = {}  # seconds that the latest run of a rung took: by its task and name

    def expected(self, task):
        """What a run takes whose rung hasn't run in that task: as others in it did, or in others of
        its protocol, or in any."""
        protocol = task.options.protocol
        for like in (
            lambda other: other is task,
            lambda other: other.options.protocol == protocol,
            lambda other: True,
        ):
            known = average(seconds for (other, _), seconds in self.last.items() if like(other))
            if known is not None:
                return known
        return None

    def seconds_left(self, remaining):
        """Each run to come takes what its rung took last, or what is expected."""
        if not self.last:
            return None
        tasks = {entry.task for entry in remaining}
        expected = {task: self.expected(task) for task in tasks}
        known = (
            self.last.get((entry.task, entry.name), expected[entry.task]) for entry in remaining
        )
        return sum(known)

    def time_left(self, remaining):
        """', 3:20 left', or nothing while nothing is known."""
        left = self.seconds_left(remaining)
        return "" if left is None else f", {clock(left)} left"

    def where(self, entry):
        """'pass 2, v07', after the ladder's title if there are several."""
        title = f"{entry.task.title}, " if self.titles else ""
        return f"{title}pass {entry.index + 1}, {entry.name}"

    def running(self, remaining):
        """Shows the run that starts now, the first of those that remain."""
        if not self.terminal:
            return
        bar = "#" * (self.WIDTH * self.done // self.total)
        count = f"{self.done}/{self.total}"
        where = self.where(remaining[0])
        self.write(f"\r\033[K[{bar:.<{self.WIDTH}}] {count} {where}{self.time_left(remaining)}")

    def finished(self, entry, seconds, outcome, remaining):
        """Counts a run, and logs it where there is no bar."""
        self.done += 1
        self.last[entry.task, entry.name] = seconds
        if not self.terminal:
            left = self.time_left(remaining)
            self.write(f"{self.where(entry)}: {outcome} ({seconds:.1f} s{left})\n")

    def dropped(self, count):
        """Runs that will not happen because their rung failed."""
        self.total -= count

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
