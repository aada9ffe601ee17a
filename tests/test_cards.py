"""What a rung does on other cards, of whose capability the emulated device can be."""

import pytest

from tools import BUILD, call

# The card, the rung, the exit status, and what is said. a06 chooses four tiles of 256 x 256, or eight of
# 256 x 128, which copy more bytes. Where D is staged in a stage, the 256 threads meet at one barrier more
# in each of the eight.
CARDS = """
8.0  a06  0 compute capability 8.0, 4 SMs; 1.966 MB by cp.async; 11264 at other barriers
8.6  a06  0 compute capability 8.6, 4 SMs; 1.966 MB by cp.async; 13312 at other barriers
8.9  a06  0 compute capability 8.9, 4 SMs; 1.966 MB by cp.async; 13312 at other barriers
9.0  a06  0 compute capability 9.0, 4 SMs; 1.311 MB by cp.async; 6144 at other barriers
12.0 a06  0 compute capability 12.0, 4 SMs; 1.966 MB by cp.async; 13312 at other barriers
8.9  t01 77 needs an NVIDIA GPU of compute capability 9.0 or later; of compute capability 8.9;
12.0 v02 77 needs an NVIDIA GPU of compute capability 9.0 and; of compute capability 12.0;
7.5  a06  2 EMULATOR_CAPABILITY=7.5: the emulator has 8.0 8.6
"""
ROWS = [line.split(maxsplit=3) for line in CARDS.strip().splitlines()]


@pytest.mark.needs("emulated/{rung}")
@pytest.mark.cached
@pytest.mark.parametrize(("card", "rung", "status", "says"), ROWS)
def test_card(card, rung, status, says):
    """A rung runs with the card's shared memory, or says in one line what it needs."""
    on = {"EMULATOR_CAPABILITY": card}
    ended = call(BUILD / "emulated" / rung, "--policy", "eager", env=on)
    assert (str(ended.returncode), "verified " in ended.stdout) == (status, status == "0"), ended
    assert not [words for words in says.split("; ") if words not in ended.stdout], ended
