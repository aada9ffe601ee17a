"""How far a ladder has come: a bar on a terminal, lines in a log."""

from __future__ import annotations

import sys


class Progress:
    """A bar with the time left on a terminal, one line per run in a log."""

    WIDTH = 30

    def __init__(self, total, stream=sys.stderr):
        self.total = total
        self.done = 0
        self.stream = stream
        self.terminal = stream.isatty()
        self.last = {}  # seconds that each rung's latest run took

    def seconds_left(self, remaining):
        """Each run to come takes what its rung took last, or the average of the others."""
        if not self.last:
            return None
        average = sum(self.last.values()) / len(self.last)
        return sum(self.last.get(name, average) for name in remaining)

    def running(self, index, name, remaining):
        """Shows the run that starts now; `remaining` names it and all that follow."""
        if not self.terminal:
            return
        left = self.seconds_left(remaining)
        time_left = "" if left is None else f", {int(left // 60)}:{int(left % 60):02} left"
        bar = "#" * (self.WIDTH * self.done // self.total)
        count = f"{self.done}/{self.total}"
        self.write(f"\r\033[K[{bar:.<{self.WIDTH}}] {count} pass {index + 1} {name}{time_left}")

    def finished(self, index, name, seconds, outcome):
        """Counts a run, and logs it where there is no bar."""
        self.done += 1
        self.last[name] = seconds
        if not self.terminal:
            self.write(f"pass {index + 1}, {name}: {outcome} ({seconds:.1f} s)\n")

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
