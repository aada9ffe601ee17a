"""What a rung does on other cards, of whose capability the emulated device can be."""

from __future__ import annotations

import subprocess

import pytest

from tools import BUILD

# What a06 chooses: four tiles of 256 x 256, or eight of 256 x 128, which copy more bytes. Where D is
# staged in a stage, the 256 threads meet at one barrier more in each of the eight.
WIDE = ["read       1.311 MB by cp.async\n", " 6144 at other barriers"]
NARROW = ["read       1.966 MB by cp.async\n", " 11264 at other barriers"]
SMALL = ["read       1.966 MB by cp.async\n", " 13312 at other barriers"]
RIGHT, USAGE, CANNOT = 0, 2, 77
CARDS = [
    ("8.0", "a06", RIGHT, NARROW),
    *((card, "a06", RIGHT, SMALL) for card in ("8.6", "8.9", "12.0")),
    ("9.0", "a06", RIGHT, WIDE),
    ("8.9", "a05", RIGHT, []),
    ("12.0", "t08", RIGHT, []),
    ("8.9", "t01", CANNOT, ["needs an NVIDIA GPU of compute capability 9.0 or later"]),
    ("12.0", "v02", CANNOT, ["needs an NVIDIA GPU of compute capability 9.0 and"]),
    ("7.5", "a06", USAGE, ["EMULATOR_CAPABILITY=7.5: the emulator has 8.0 8.6"]),
]


@pytest.mark.needs("emulated/{rung}")
@pytest.mark.cached
@pytest.mark.parametrize(("card", "rung", "status", "says"), CARDS)
def test_card(monkeypatch, card, rung, status, says):
    """A rung runs with the card's shared memory, or says in one line what it needs."""
    monkeypatch.setenv("EMULATOR_CAPABILITY", card)
    command = [BUILD / "emulated" / rung, "--policy", "eager"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    said = ended.stdout + ended.stderr
    assert ended.returncode == status, said
    about = [f"of compute capability {card};"] if status == CANNOT else []
    about = [f"compute capability {card}, 4 SMs", "verified "] if status == RIGHT else about
    for words in [*says, *about]:
        assert words in said
