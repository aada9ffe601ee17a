"""What the records have to reach: rates and joules of the top rungs, as multiples of cuBLAS's.

    python3 -m notes.tools.bars

prints what is below its bar; `make record` calls it at its end. No test fails by that: only a
measurement on the GPU can mend it.
"""

from __future__ import annotations

from statistics import geometric_mean, median

from bench import results, shapes
from notes.tools.tables import Library

# A program, its launch over whom, protocol, GPU, sizes; the least geometric mean, the least of all.
# v24 is judged by shapes from a seed by which nothing was tuned.
TABLE = """
v16 step/cublaslt   burst     h200  8192 1.01 0
v16 step/cublaslt   burst     h100  8192 1.005 0
v16 step/cublaslt   sustained h200  8192 1.01 0
v16 step/cublaslt   sustained h100  8192 1.005 0
v16 joules/cublas   sustained h200  8192 1 0
v16 joules/cublaslt sustained h200  8192 1 0
v18 early/cublaslt  burst     h200  1024,2048,4096,8192,16384,models 1 0.95
v18 early/cublas    burst     h200  1024,2048,4096,8192,16384,models 1.05 0
v18 step/cublaslt   burst     h200  1024,2048,4096,8192,16384,models 0.99 0.93
v18 step/cublas     burst     h200  1024,2048,4096,8192,16384,models 1.01 0
v24 step/cublaslt   burst     h200  512 0.98 0
v24 step/cublaslt   burst     h200  1024 0.98 0
v24 step/cublaslt   burst     h200  2048 0.98 0
v24 step/cublaslt   burst     h200  aligned:24 0.99 0.87
v24 step/cublaslt   burst     h200  any:24 0.94 0.78
v24 step/cublaslt   burst     h200  rows:24 1 0
v24 step/cublaslt   burst     h200  odd:24 2 0
v24 bytes/copy      burst     h200  few 0 0.82
"""


def copy_rate(library):
    """GB/s of a plain copy on the home GPU, the best that is recorded; None if none is."""
    runs = (run for run in library.runs if run.gpu and results.slug(run.gpu) == results.HOME)
    return max(
        (run.rate("device_copy").mid for run in runs if "device_copy" in run.contenders),
        default=None,
    )


def figure(library, run, name, what):
    """How much better the program is than what it is compared with; None if that isn't known."""
    own, other = what.split("/")
    if run is None:
        return None
    if own == "bytes":  # those of A, B and D once, a second
        m, n, k = run.shape
        moved, copied = 2e-9 * (m * k + n * k + m * n), copy_rate(library)
        return copied and moved / median(run.seconds(name)) / copied
    if own == "joules":
        theirs, ours = run.reading(name, "joules", other), run.reading(name, "joules")
        return theirs and ours and theirs / ours
    ratio = run.ratio(name, other, own)
    return ratio and ratio.mid


def missed(library, table=TABLE):
    """A line for each bar that is not reached."""
    for line in table.strip().splitlines():
        name, what, protocol, gpu, sizes, *least = line.split()
        places = [shape for word in sizes.split(",") for shape in shapes.of_word(word, name[0])]
        runs = [library.choose([name], place, protocol, gpu=gpu) for place in places]
        found = [figure(library, run, name, what) for run in runs]
        title = f"{name} {what}, {protocol}, {gpu}, {sizes}"
        if None in found:
            yield f"{title}: not recorded at {found.count(None)} of {len(found)} shapes"
            continue
        figures = {"geometric mean": geometric_mean(found), "lowest": min(found)}
        for (words, value), bar in zip(figures.items(), map(float, least)):
            if value < bar:
                yield f"{title}: {words} {value:.4f}, at least {bar} is wanted"


if __name__ == "__main__":
    for words in missed(Library()):
        print(f"below its bar: {words}")
