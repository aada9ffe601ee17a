"""Says why this machine's figures are not the recorded ones: runs v16 beside cuBLAS for some seconds and
compares it with the record of that kind of GPU. Without a GPU it says what is missing for what. Standard
library only."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench import results, run

RUNG = results.TOP
NOISE = 0.02  # by which two cards of one kind differ
SECONDS = 120  # a program that takes longer is ended
GPU = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0] or "0"  # that the rung runs on
# What nvidia-smi is asked for while the rung runs.
QUERY = "clocks.mem clocks.max.mem temperature.gpu power.draw clocks_throttle_reasons.active"
# Bits of nvmlDeviceGetCurrentClocksThrottleReasons (NVML API reference), the strongest first.
REASONS = {
    0x40: "hardware thermal slowdown",
    0x80: "the power supply's brake",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x2: "clocks set by nvidia-smi",
    0x10: "sync boost",
    0x4: "the power limit",
}
THERMAL, LOCKED, POWER = 0x40 | 0x20, 0x2, 0x4


class Seen(NamedTuple):
    """What the driver said while the rung ran; None and 0 where it says nothing."""

    memory_mhz: float | None = None
    memory_mhz_at_most: float | None = None
    celsius: float | None = None
    reasons: int = 0

    def names(self):
        """The reasons for a low clock, in words."""
        return ", ".join(text for bit, text in REASONS.items() if self.reasons & bit)


class Finding(NamedTuple):
    """A cause, and the part of the rate that it takes: -0.05 for 5 % slower."""

    part: float
    text: str

    def __str__(self):
        return f"{100 * self.part:+7.1f} % {self.text}"


def number(text):
    """A float, or None of '[N/A]'."""
    return float(text) if re.fullmatch(r"[\d.]+", text) else None


def look():
    """One reading of nvidia-smi: (watts, Seen), or None."""
    command = ["nvidia-smi", f"--query-gpu={QUERY.replace(' ', ',')}", f"--id={GPU}"]
    try:
        status, said, _ = run.execute([*command, "--format=csv,noheader,nounits"], 10)
    except (OSError, run.Failed):
        return None
    words = said.strip().split(", ")
    if status or len(words) != len(QUERY.split()):
        return None
    memory, most, celsius, watts = map(number, words[:4])
    bits = int(words[4], 16) if re.fullmatch("0x[0-9a-f]+", words[4], re.IGNORECASE) else 0
    return watts or 0, Seen(memory, most, celsius, bits)


def measure(program):
    """The run of one sustained launch series, and what the driver said at its highest power."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "row.json"
        command = [program, "--protocol", "sustained", "--rounds", "2", "--json", path]
        process, readings = run.Process(command, SECONDS), []
        while not process.has_ended():
            readings += filter(None, [look()])
            time.sleep(0.3)
        row = run.row_of(RUNG, process, path)
    measured = results.Run(row["context"])
    measured.add(row)
    return measured, max(readings, key=lambda one: one[0], default=(0, Seen()))[1]


def recorded(gpu, order=()):
    """The first sustained record of the rung at its headline shape on that kind of GPU, or None."""
    for one in results.load_all(order or ["sustained"]):
        at_home = one.gpu and one.gpu["name"] == gpu["name"] and one.protocol == "sustained"
        if at_home and RUNG in one.measured and set(one.shape) == {results.SIZE}:
            return one
    return None


def why_clock(now, then, seen):
    """Why the SM clock is lower than in the record, in words."""
    limits = [one.gpu.get("power_limit_watts") for one in (now, then)]
    watts = now.reading(RUNG, "watts")
    if None not in limits and limits[0] < 0.99 * limits[1]:
        return f"the power limit is {limits[0]:.0f} W, recorded {limits[1]:.0f} W"
    if seen.reasons & THERMAL:
        return f"the card is hot, {seen.celsius or 0:.0f} °C: {seen.names()}"
    if seen.reasons & LOCKED or (watts and limits[0] and watts < 0.9 * limits[0]):
        return f"the clock is set or capped, not by power ({watts:.0f} W): try nvidia-smi -rgc"
    if seen.reasons & POWER:
        return "the same power limit buys less clock on this card, or it is warmer"
    return seen.names() or "the driver gives no reason"


def why_cycles(now, seen):
    """Why a launch takes more cycles, in words."""
    others = now.first(RUNG).get("other_processes")
    if others:
        return f"other processes use the GPU: {', '.join(others)}"
    if seen.memory_mhz and seen.memory_mhz_at_most and seen.memory_mhz < seen.memory_mhz_at_most:
        return f"the memory clock is {seen.memory_mhz:.0f} of {seen.memory_mhz_at_most:.0f} MHz"
    return "unknown: is something else running on this GPU, or in another container?"


def diagnose(now, then, seen):
    """The causes of a difference, the rate of the rung split into its clock and its cycles."""
    rate = now.rate(RUNG).mid / then.rate(RUNG).mid
    clock = now.reading(RUNG, "ghz") / then.reading(RUNG, "ghz")
    found = []
    if clock < 1 - NOISE / 2:
        text = (
            f"SM clock {now.reading(RUNG, 'ghz'):.2f} GHz, recorded {then.reading(RUNG, 'ghz'):.2f}"
        )
        found.append(Finding(clock - 1, f"{text}: {why_clock(now, then, seen)}"))
    if rate / clock < 1 - NOISE / 2:
        found.append(Finding(rate / clock - 1, f"cycles a launch: {why_cycles(now, seen)}"))
    beside = now.ratio(RUNG).mid / then.ratio(RUNG).mid
    versions = [one.gpu.get("cublas", "?") for one in (now, then)]
    if abs(beside - 1) > NOISE and versions[0] != versions[1]:
        text = f"of cuBLAS: it is {versions[0]} here, {versions[1]} in the record"
        found.append(Finding(beside - 1, text))
    return rate - 1, sorted(found)


def report(now, then, seen):
    """The lines that `make doctor` prints of a GPU."""
    gpu = now.gpu
    yield (
        f"card      {gpu['name']}, {gpu.get('power_limit_watts') or 0:.0f} W, driver {gpu.get('driver', '?')}, "
        f"CUDA {gpu.get('cuda', '?')}, cuBLAS {gpu.get('cublas', '?')}"
    )
    yield (
        f"{RUNG}       {now.rate(RUNG).mid:.0f} TFLOPS sustained, {now.ratio(RUNG).mid:.3f} of cuBLAS, "
        f"{now.reading(RUNG, 'ghz'):.2f} GHz, {now.reading(RUNG, 'watts') or 0:.0f} W"
    )
    if then is None:
        yield f"record    none of an {gpu['name']}: `make record` would write one"
        return
    rate, found = diagnose(now, then, seen)
    place = then.path.relative_to(results.ROOT) if then.path else "given"
    yield f"record    {then.rate(RUNG).mid:.0f} TFLOPS, {then.ratio(RUNG).mid:.3f} of cuBLAS ({place})"
    within = f"in all: two cards of a kind differ by {100 * NOISE:.0f} %"
    yield str(Finding(rate, within if abs(rate) < NOISE else "in all"))
    yield from map(str, found)


# What a machine has to have, for what: a command, and how to ask for its version.
TOOLS = (
    ("g++", "-dumpfullversion", "the emulator (12 or later): every rung without a GPU"),
    ("nvcc", "--version", "building for a GPU (CUDA Toolkit 12.8 or later)"),
    ("nvidia-smi", "--version", "a GPU and its driver: timing anything"),
    ("ncu", "--version", "counting bytes and bank conflicts (make record's counters)"),
    ("compute-sanitizer", "--version", "make sanitize"),
)


def version_of(command, option):
    """'12.2.0', '' without a number, None without the command."""
    place = shutil.which(command)
    if not place:
        return None
    _, said, _ = run.execute([place, option], 30)
    return (re.findall(r"\d+\.\d+[\d.]*", said) or [""])[0]


def missing():
    """The lines that say what is there and what is missing for what."""
    for command, option, purpose in TOOLS:
        version = version_of(command, option)
        state = f"missing: {purpose}" if version is None else f"{version:<12} {purpose}"
        yield f"{command:<18}{state}"


def main():
    """Prints the report."""
    parser = argparse.ArgumentParser(prog="make doctor", description=__doc__)
    parser.add_argument("program", nargs="?", help=f"{RUNG}, built for a GPU")
    program = parser.parse_args().program
    if program is None:
        print(*missing(), sep="\n")
        print("Nothing can be timed here; `make step N=7` checks a rung on the emulator.")
        return 0
    try:
        now, seen = measure(program)
    except run.Failed as error:
        print(f"make doctor: {RUNG} failed: {error}", *missing(), sep="\n", file=sys.stderr)
        return getattr(error, "status", 1)
    print(*report(now, recorded(now.gpu), seen), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
