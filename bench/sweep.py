#!/usr/bin/env python3
"""Times one rung over many shapes beside cuBLAS and the first and the best of cuBLASLt's
heuristics, and records a row for each.

    python3 -m bench.sweep --sizes aligned:1,rows:1
    python3 -m bench.sweep --sizes any:2:15,4096 --steps s09 --kernel all --tune

A family of shapes (aligned, any, rows, odd, small) is drawn from the seed after it: 60 of them,
unless a number follows (bench/shapes.py). One process of the rung's program measures all shapes in
bursts, so CUDA and cuBLAS start once; after a failure another one goes on with the next shape. At
each shape the rung is checked and every heuristic that cuBLASLt returns is timed, with --kernel also
the rung's own kernels, and with --tune the quick tuner picks one of the first eight: the fastest of
each and the pick run beside the rung, its early launch and the others, round by round.

At the end each family has these figures, geometric means: the rung's untimed choice against
cuBLASLt's first heuristic; the quick tuner's pick against cuBLASLt's best, since both were found by
timing; how much longer the choice and the pick take than the fastest of the rung's kernels (regret).

Exit status: 0 all shapes verified and timed (or not taken), 1 one failed or another process uses
the GPU, 2 bad usage, 77 this machine cannot run the rung, 130 interrupted.
"""

from __future__ import annotations

import time
from statistics import geometric_mean

from bench import ladder, results, run, shapes
from bench.run import UsageError

# Of a rung at a shape: whose time over whose. Above 1 the second is faster.
FIRST = results.FIRST, "step"  # neither was timed before
TIMED = "cublaslt", results.TUNED  # both were
REGRET = "step", results.BEST
TUNED_REGRET = results.TUNED, results.BEST
SHOWN = {
    "untimed, of cuBLASLt's first": FIRST,
    "timed, of its best": TIMED,
    "untimed regret": REGRET,
    "timed regret": TUNED_REGRET,
}


def ratio_of(run, name, pair):
    """The pair's ratio in a run; None without both."""
    both = [run.best(name) if who == results.BEST else who for who in pair]
    return run.ratio(name, *both) if len({*both}) == 2 else None


def compared(runs, name, pair):
    """{shape: ratio} of such runs that have both of the pair."""
    ratios = {run.shape: ratio_of(run, name, pair) for run in runs if name in run.measured}
    return {shape: ratio.mid for shape, ratio in ratios.items() if ratio}


class Shapes(run.Process):
    """A process over many shapes: what `path` names is the row of the one that it is at."""

    def has_ended(self):
        """Whether it has, or is done with that shape."""
        return self.path.exists() or super().has_ended()


class Sweep(ladder.Ladders):
    """One rung at all shapes."""

    plan = process = None

    def measure(self, plan):
        """Runs all of them."""
        self.plan = plan
        try:
            super().measure(plan)
        finally:
            if self.process:
                run.stop(self.process.process)

    def start(self, entry):
        """The process that takes this shape: the one of the shape before, unless that failed."""
        if self.process is None:
            runs, left = self.folder / "runs", self.plan[self.plan.index(entry) :]
            lines = ["\t".join(self.command_of(one)[1:]) + "\n" for one in left]
            runs.write_text("".join(lines), encoding="utf-8")
            self.process = Shapes([str(entry.path), "--runs", str(runs)], self.options.timeout)
        self.process.path, self.process.began = self.path_of(entry), time.monotonic()
        return self.process

    def written(self, entry, process):
        """Its row: the process goes on with other shapes."""
        if process.path.exists():
            return run.read(process.path)
        self.process = None  # it has ended
        return super().written(entry, process)

    def command_of(self, entry):
        """With the rung's own kernels to be timed, if they are."""
        kernel, tune = self.options.kernel, self.options.tune
        more = [*(["--kernel", kernel] if kernel else ()), *["--tune"] * tune]
        return super().command_of(entry) + more

    def show(self, points):
        """What each family comes to."""
        name = self.tasks[0].programs[0][0]
        for word in self.options.sizes.split(","):
            places = {*shapes.of_word(word, name[0])}
            family = [run for run in points if run.shape in places and run.measured]
            found = {of: compared(family, name, pair).values() for of, pair in SHOWN.items()}
            texts = [f"{words} {summary(of)}" for words, of in found.items() if of]
            if family:
                print("; ".join([f"{word:12} {len(family)} shapes", *texts]))


def summary(ratios):
    """The geometric mean of some ratios, the least and the greatest."""
    return f"{geometric_mean(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"


def sweep_main(arguments):
    """The whole program; returns its exit status."""
    parser = ladder.make_parser(__doc__)
    parser.set_defaults(passes=1, track="s")
    what = "the rung's kernel, or all: time them too"
    parser.add_argument("--kernel", metavar="N|all", help=what)
    what = "time the quick tuner's pick too"
    parser.add_argument("--tune", action="store_true", help=what)
    options = parser.parse_args(arguments)
    if options.sizes is None:
        raise UsageError("name the shapes: --sizes aligned:1,any:1")
    options.sizes = options.sizes.lower().replace(" ", "")
    options.steps = options.steps or max(ladder.names_of(options), default=None)
    tasks = ladder.make_tasks(options, ("burst",))
    if any(len(task.programs) != 1 for task in tasks):
        raise UsageError("--steps: a sweep is of one rung")
    return ladder.measure(options, tasks, Sweep)


if __name__ == "__main__":
    run.run_as("sweep", sweep_main)
