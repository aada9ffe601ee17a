"""Which of the recorded runs a picture is drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bench.records import recorded


class Missing(Exception):
    """What a picture needs was not recorded. The text says what, and how to record it."""


@dataclass(frozen=True)
class Records:
    """The runs to draw from, in the order of recorded.precedence(). Unless the user chose them,
    they are of the home GPU."""

    runs: Sequence
    chosen: bool  # named by the user, who may have measured less than all rungs at any size
    files: Sequence = ()  # the same, file by file; what is in one file was measured in one go
    traces: Sequence = ()  # of a CTA each
    energy: Sequence = ()  # runs of a rung's parts
    sweeps: Sequence = ()  # of a rung over many shapes

    @cached_property
    def home(self):
        """The home GPU of these runs; any GPU if they were chosen."""
        found = recorded.home_of([run for run in self.runs if run["kind"] == "ladder"])
        return recorded.Home(None, found.cards) if self.chosen else found

    def ladders(self, track, protocol=recorded.HEADLINE_PROTOCOL):
        """The ladders of one track without variants on the home GPU, finished unless they were
        chosen."""
        return [
            run
            for run in self.runs
            if run["kind"] == "ladder"
            and run["protocol"] == protocol
            and recorded.tracks(run) == {track}
            and recorded.rungs_only(run)
            and (self.chosen or not run["interrupted"])
            and self.home.has(run)
        ]

    def headline(self):
        """The newest burst run of all v rungs at 8192 x 8192 x 8192, or the chosen one."""
        found = [run for run in self.ladders("v") if self.chosen or recorded.is_headline(run)]
        if not found:
            raise Missing("no finished burst run of all v rungs at 8192³ (make ladder)")
        return found[-1]

    def beside(self, ladder):
        """recorded.beside() of a ladder among these runs."""
        return recorded.beside_in(ladder, [run for run in self.runs if run["kind"] == "ladder"])

    def counters(self, shape):
        """The newest counters of v rungs at that shape; rungs that it lacks are taken from older
        records of the same kind of GPU. `sources` are the records that gave something."""
        found = [run for run in self.runs if run["kind"] == "counters" and self.home.has(run)]
        found = [run for run in found if recorded.tracks(run) == {"v"}]
        found = [run for run in found if recorded.shape_of(run) == tuple(shape)]
        if not found:
            raise Missing("no counters of v rungs at 8192³ (python3 -m bench.counters)")
        newest = found.pop()
        merged = {**newest, "steps": list(newest["steps"]), "sources": [newest]}
        for run in reversed(found):
            there = {step["step"] for step in merged["steps"]}
            more = [step for step in run["steps"] if "failed" not in step]
            more = [step for step in more if step["step"] not in there]
            more = [step for step in more if not recorded.is_variant(step["step"])]
            if more and run["gpu"]["name"] == newest["gpu"]["name"]:
                merged["steps"] += more
                merged["sources"].append(run)
        return merged

    def highest_clock(self, gpu):
        """The highest mean SM clock that anything had on that GPU, in GHz, or None."""
        clocks = [
            rung["timing"][contender].get("sm_clock_ghz")
            for run in self.runs
            if run["kind"] == "ladder" and run["gpu"]["name"] == gpu["name"]
            for rung in recorded.measured(run)
            for contender in ("step", recorded.measure_of(run).other)
        ]
        return max((clock for clock in clocks if clock is not None), default=None)

    def memory_peak(self, gpu):
        """Bytes per second by the memory's clock and bus width, from any run on that GPU."""
        for run in reversed(self.runs):
            if run["gpu"]["name"] == gpu["name"] and run["gpu"].get("memory_bytes_per_second"):
                return run["gpu"]["memory_bytes_per_second"]
        return None


def load(paths=()):
    """The records in these files, or all in bench/results. ValueError for one that is broken."""
    places = paths or sorted(recorded.RESULTS.glob("*.json"))
    files = [[record for _, record in recorded.places_in(path)] for path in places]
    traces, energy, sweeps = (
        [run for runs in files for run in runs if run["kind"] == kind]
        for kind in ("trace", "energy", "sweep")
    )
    files = [[run for run in runs if run["kind"] in ("ladder", "counters")] for runs in files]
    runs = [run for of_file in files for run in of_file]
    if not paths:
        runs.sort(key=recorded.precedence(runs, recorded.home()))
        return Records(runs, False, files, recorded.all_traces(), energy, sweeps)
    for path, of_file in zip(paths, files):
        if of_file and not any(
            one["kind"] != "ladder" or recorded.rungs_only(one) for one in of_file
        ):
            raise ValueError(f"{path}: it has variants of rungs; they belong in the notes alone")
    return Records(runs, True, files, traces, energy, sweeps)


def alike(runs):
    """Of these runs, oldest first, those on the newest's kind of GPU and with its inputs."""
    what = [(run["gpu"]["name"], run["problem"]["inputs"]) for run in runs]
    return [run for run, known in zip(runs, what) if known == what[-1]]


def value(rung, reading):
    """A reading of a rung's own timing, or None if it failed or could not be read."""
    return None if "failed" in rung else rung["timing"]["step"][reading]
