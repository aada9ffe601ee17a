"""What no part of an energy run can be: faster than its counted work allows.

A part that seems to be has not done that work: the compiler left some of it out, or a launch failed.
"""

from __future__ import annotations

# An SM's shared memory has 32 banks of 4 bytes, each of which takes one word a cycle. (CUDA C++
# Programming Guide: Shared Memory.)
SHARED_BYTES_PER_CYCLE = 32 * 4
EARLY = 0.99  # of its pace: the last k-tile is handed over one k-tile before the end


def broken(part, sms, peak_flop_per_cycle):
    """Which limit a part that was measured breaks, in words with the numbers; None if none.
    Without a clock nobody knows the cycles, and only the pace is looked at."""
    seconds, clock, pace, counts = (part[k] for k in ("seconds", "sm_clock_ghz", "pace", "counts"))
    if seconds is None:
        return None
    took = f"a launch took {1e3 * seconds:.4f} ms"
    if pace is not None and seconds < EARLY * pace:
        return f"{took}, and its pace is {1e3 * pace:.4f} ms"
    if counts is None or clock is None:
        return None
    least = {  # cycles of the SMs that run it
        "to write to shared memory what it loads": counts["loaded_bytes"]
        / (SHARED_BYTES_PER_CYCLE * sms)
    }
    if peak_flop_per_cycle:
        least["for its multiplications at the tensor cores' peak"] = (
            counts["flop"] / peak_flop_per_cycle
        )
    words = max(least, key=least.get)
    needed = least[words] / part["sm_share"] / clock * 1e-9
    if seconds >= needed:
        return None
    return (
        f"{took}, and {words} it needs {1e3 * needed:.4f} ms at {clock:.3f} GHz: it has not done all "
        "its work"
    )
