"""What no part of an energy run can be: faster than its counted work allows.

A part that seems to be has not done that work: the compiler left some of it out, or a launch failed.
"""

from __future__ import annotations

# An SM's shared memory has 32 banks of 4 bytes, each of which takes one word a cycle. (CUDA C++
# Programming Guide: Shared Memory.)
SHARED_BYTES_PER_CYCLE = 32 * 4
EARLY = 0.99  # of its pace: the last k-tile is handed over one k-tile before the end


def least_cycles(part, sms, peak_flop_per_cycle):
    """{words: SM cycles that this work takes at least}, of a part that counts its work."""
    counts, sm_share = part["counts"], part["sm_share"]
    least = {
        "to write to shared memory what it loads": counts["loaded_bytes"]
        / (SHARED_BYTES_PER_CYCLE * sms * sm_share)
    }
    if peak_flop_per_cycle:
        least["for its multiplications at the tensor cores' peak"] = counts["flop"] / (
            peak_flop_per_cycle * sm_share
        )
    return least


def broken(part, sms, peak_flop_per_cycle):
    """Which limit a part that was measured breaks, in words with the numbers; None if none.
    Without a clock nobody knows the cycles, and only the pace is looked at."""
    seconds, clock, pace = part["seconds"], part["sm_clock_ghz"], part["pace"]
    if seconds is None:
        return None
    if pace is not None and seconds < EARLY * pace:
        return f"a launch took {1e3 * seconds:.4f} ms, and its pace is {1e3 * pace:.4f} ms"
    if part["counts"] is None or clock is None:
        return None
    least = least_cycles(part, sms, peak_flop_per_cycle)
    words = max(least, key=least.get)
    milliseconds = least[words] / clock * 1e-6
    if 1e3 * seconds >= milliseconds:
        return None
    return (
        f"a launch took {1e3 * seconds:.4f} ms, and {words} it needs {milliseconds:.4f} ms at "
        f"{clock:.3f} GHz: it has not done all its work"
    )
