"""What Nsight Compute (ncu) counts of some parts of an energy run: whether requests merge.

The source knows what TMA asks for. How much of it leaves the L2, and how much comes from DRAM, it does
not. Each part runs once more, a single launch under ncu, whose energy means nothing and is not looked
at. Where there is no ncu nothing is counted.
"""

from __future__ import annotations

import time

from bench import counters, process
from bench.energy import budget
from bench.process import CannotRun, RungFailed

PARTS = (budget.WHOLE, budget.MERGED, budget.APART)
METRICS = {  # figure -> (metric, bytes of one)
    "l2_bytes": ("lts__t_sectors_srcunit_tex.sum", 32),
    "sm_bytes": ("l1tex__m_xbar2l1tex_read_bytes.sum", 1),
    "dram_read_bytes": ("dram__bytes_read.sum", 1),
}
KERNEL = "part_kernel"
SECONDS = 25  # for all parts


def profiler(ncu):
    """The command line before that of a part."""
    names = ",".join(metric for metric, _ in METRICS.values())
    how = ["--clock-control", "none", "--print-units", "base", "--csv", "--page", "raw"]
    return [ncu, *how, "-k", f"regex:{KERNEL}", "-c", "1", "--metrics", names]


def count_part(name, command, ncu, seconds):
    """The entry of one part. RungFailed if ncu or the part failed."""
    status, output, errors = process.execute(profiler(ncu) + command, seconds)
    if status != 0:
        raise RungFailed(f"ncu: exit status {status}: {counters.complaint(output, errors)}")
    (_, columns) = counters.launches_of(output)[-1]
    found = {
        figure: counters.number(columns.get(metric, "")) for figure, (metric, _) in METRICS.items()
    }
    missing = [METRICS[figure][0] for figure, value in found.items() if value is None]
    if missing:
        raise RungFailed(f"ncu does not say {', '.join(missing)}")
    return {"part": name, **{figure: found[figure] * METRICS[figure][1] for figure in found}}


def count(named, commands):
    """{"ncu": version, "parts": entries}, or None without ncu. commands: part -> its command line."""
    try:
        ncu = counters.find_ncu(named)
    except CannotRun:
        return None
    end = time.monotonic() + SECONDS
    entries = []
    for name, command in commands.items():
        try:
            left = end - time.monotonic()
            if left <= 0:
                raise RungFailed(f"no time left of {SECONDS} s")
            entries.append(count_part(name, command, ncu, left))
        except RungFailed as error:
            entries.append({"part": name, "failed": str(error)})
    return {"ncu": counters.version_of(ncu), "parts": entries}
