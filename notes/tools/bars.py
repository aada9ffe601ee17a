"""What the records have to reach: rates and joules of the top rungs, as multiples of cuBLAS's.

    python3 -m notes.tools.bars

prints what is below its bar; `make record` calls it at its end. No test fails by that: only a
measurement on the GPU can mend it.
"""

from __future__ import annotations

from statistics import geometric_mean

from bench import shapes
from bench.record import SEED
from notes.tools import tables

FAMILIES = tuple(f"{family}:{SEED}" for family in tables.FAMILIES)
ANY = (0,) * len(FAMILIES)


def of_families(what, gpu, means, least=ANY):
    """Bars of s09 over the families of shapes: of each a mean, and the least of all."""
    bars = zip(FAMILIES, means, least)
    return "\n".join(f"s09 {what} burst {gpu} {of} {mean} {low}" for of, mean, low in bars)


CANDIDATES = "candidates/kernels"  # the fastest of the quick tuner's candidates over that of all
# A program, its launch over whom, protocol, GPU, sizes; the least geometric mean, the least of all.
TABLE = f"""
v16 step/cublaslt burst h200 8192 1.01 0
v16 step/cublaslt burst h100 8192 1.005 0
v16 step/cublaslt sustained h200 8192 1.01 0
v16 step/cublaslt sustained h100 8192 1.005 0
v16 joules/cublas sustained h200 8192 1 0
v16 joules/cublaslt sustained h200 8192 1 0
{of_families("step/cublaslt_first", "h200", (1.035, 1.02, 1.035, 1.01, 1.8))}
{of_families("step/cublaslt_first", "h100", (1.02, 1.04, 1.02, 1.01, 1.7))}
{of_families("tuned/cublaslt", "h200", (1.02, 1.00, 1.03, 1.01, 1.9), (0.95, 0.88, 0.95, 0.88, 0.9))}
{of_families("tuned/cublaslt", "h100", (1.00, 0.98, 1.01, 1.00, 1.8))}
{of_families("step/best", "h200", (1 / 1.03,) * 5, (1 / 1.12,) * 5)}
{of_families("tuned/best", "h200", (1 / 1.005,) * 5)}
{of_families(CANDIDATES, "h200", (1 / 1.005,) * 5)}
{of_families("early/step", "h200", (1,) * 5)}
s09 step/cublaslt burst h200 512 1.01 0
s09 step/cublaslt burst h200 1024 1.015 0
s09 step/cublaslt burst h200 2048 0.99 0
s09 step/cublaslt burst h200 4096 1.02 0
"""


def figure(run, name, what):
    """How much better the program is than what it is compared with; None if that isn't known."""
    own, other = what.split("/")
    if run is None:
        return None
    if own == "joules":
        theirs, ours = run.reading(name, "joules", other), run.reading(name, "joules")
        return theirs and ours and theirs / ours
    if what == CANDIDATES:
        lost = run.lost(name)
        return lost and 1 / lost
    ratio = run.ratio(name, other, own)
    return ratio and ratio.mid


def missed(library, table=TABLE):
    """A line for each bar that is not reached."""
    for line in table.strip().splitlines():
        name, what, protocol, gpu, sizes, *least = line.split()
        places = [shape for word in sizes.split(",") for shape in shapes.of_word(word, name[0])]
        who = {name, *what.split("/")} - {"joules", *CANDIDATES.split("/")}
        how = {"protocol": protocol, "track": name[0], "gpu": gpu}
        runs = [library.choose(who, place, **how) for place in places]
        found = [figure(run, name, what) for run in runs]
        title = f"{name} {what}, {protocol}, {gpu}, {sizes}"
        if None in found:
            yield f"{title}: not recorded at {found.count(None)} of {len(found)} shapes"
            continue
        figures = {"geometric mean": geometric_mean(found), "lowest": min(found)}
        for (words, value), bar in zip(figures.items(), map(float, least)):
            if value < bar:
                yield f"{title}: {words} {value:.4f}, at least {bar} is wanted"


if __name__ == "__main__":
    for words in missed(tables.Library()):
        print(f"below its bar: {words}")
