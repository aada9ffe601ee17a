#!/usr/bin/env python3
"""What a rung does on other cards: the emulated device stands in for them.

`make step` runs it on a card of a given compute capability, with that card's shared memory; or says
in one line what the rung needs. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import subprocess
import sys

from tools import ROOT, case, exit_status

# What a06 chooses here: four tiles of 256 x 256, or eight of 256 x 128, which copy more bytes. Where
# D is staged in a stage, the 256 threads meet at one barrier more in each of the eight.
WIDE = ["read       1.311 MB by cp.async\n", " 6144 at other barriers"]
NARROW = ["read       1.966 MB by cp.async\n", " 11264 at other barriers"]
SMALL = ["read       1.966 MB by cp.async\n", " 13312 at other barriers"]
RIGHT, USAGE, CANNOT = 0, 2, 77
# (card, rung, exit status, what is said)
CARDS = [
    ("8.0", "a06", RIGHT, ["compute capability 8.0, 4 SMs", "verified ", *NARROW]),
    *(
        (card, "a06", RIGHT, [f"compute capability {card}, 4 SMs", "verified ", *SMALL])
        for card in ("8.6", "8.9", "12.0")
    ),
    ("9.0", "a06", RIGHT, ["compute capability 9.0, 4 SMs", "verified ", *WIDE]),
    ("8.9", "a05", RIGHT, ["compute capability 8.9", "verified "]),
    ("12.0", "t08", RIGHT, ["compute capability 12.0", "verified "]),
    (
        "8.9",
        "t01",
        CANNOT,
        ["needs an NVIDIA GPU of compute capability 9.0 or later", "of compute capability 8.9;"],
    ),
    (
        "12.0",
        "v02",
        CANNOT,
        ["needs an NVIDIA GPU of compute capability 9.0 and", "of compute capability 12.0;"],
    ),
    ("7.5", "a06", USAGE, ["EMULATOR_CAPABILITY=7.5: the emulator has 8.0 8.6"]),
]


def complaint(card: str, rung: str, status: int, says: list[str]) -> str:
    """Why the run is not as it should be; '' if it is."""
    command = ["make", "-s", "step", f"N={rung}", "EMULATE=1", "ARGS=--policy eager"]
    environment = {**os.environ, "EMULATOR_CAPABILITY": card}
    how = {"cwd": ROOT, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run(command, check=False, **how)
    said = done.stdout + done.stderr
    missing = [words for words in says if words not in said]
    ended = done.returncode == 0 if status == RIGHT else f"Error {status}" in said
    return "" if ended and not missing else f"no {missing} in: {said.strip()[-300:]}"


def main() -> int:
    for card, rung, status, says in CARDS:
        case(f"{rung} on a card of {card}", complaint(card, rung, status, says))
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
