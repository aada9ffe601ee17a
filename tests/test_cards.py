"""What programs do on other cards, of whose capability the emulated device can be."""

import pytest

from tools import BUILD, call

# The card, the program, the exit status, and what is said. a06 chooses four tiles of 256 x 256, or eight
# of 256 x 128, which copy more bytes. Where D is staged in a stage, the 256 threads meet at one barrier
# more in each of the eight. What skips all its cases must not pass for one that ran them.
CARDS = """
8.0  emulated/a06  0 verified ; capability 8.0, 4 SMs; 1.966 MB by cp.async; 11264 at other barriers
8.6  emulated/a06  0 verified ; capability 8.6, 4 SMs; 1.966 MB by cp.async; 13312 at other barriers
8.9  emulated/a06  0 verified ; capability 8.9, 4 SMs; 1.966 MB by cp.async; 13312 at other barriers
9.0  emulated/a06  0 verified ; capability 9.0, 4 SMs; 1.311 MB by cp.async; 6144 at other barriers
12.0 emulated/a06  0 verified ; capability 12.0, 4 SMs; 1.966 MB by cp.async; 13312 at other barriers
8.9  emulated/t01 77 needs an NVIDIA GPU of compute capability 9.0 or later; of compute capability 8.9;
12.0 emulated/v02 77 needs an NVIDIA GPU of compute capability 9.0 and; of compute capability 12.0;
7.5  emulated/a06  2 EMULATOR_CAPABILITY=7.5: the emulator has 8.0 8.6
8.6  tests/library/test_linear-emulated      0 ok - status: no GPU of compute capability 9.0
8.9  tests/device/test_e4m3-emulated         77 needs a GPU of compute capability 9.0
"""
ROWS = [line.split(maxsplit=3) for line in CARDS.strip().splitlines()]


@pytest.mark.needs("{program}")
@pytest.mark.parametrize(("card", "program", "status", "says"), ROWS)
def test_card(card, program, status, says):
    """A program runs with the card's shared memory, or says in one line what it needs."""
    words = ["--policy", "eager"] if program.startswith("emulated/") else []
    ended = call(BUILD / program, *words, env={"EMULATOR_CAPABILITY": card})
    assert str(ended.returncode) == status, ended
    assert "verified " in says or "verified " not in ended.stdout
    assert not [one for one in says.split("; ") if one not in ended.stdout], ended
