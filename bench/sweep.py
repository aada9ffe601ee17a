#!/usr/bin/env python3
"""Times one rung over many shapes beside cuBLAS and the best of cuBLASLt, and records a row for
each.

    python3 -m bench.sweep --sizes aligned:1,few
    python3 -m bench.sweep --sizes any:2:15 --steps s08

A family of shapes (aligned, any, rows, odd) is drawn from the seed after it: 60 of them, unless a
number follows (bench/shapes.py). One process of the rung's program measures all shapes in bursts,
so CUDA and cuBLAS start once; after a failure another one goes on with the next shape. At each
shape the rung is checked, every heuristic that cuBLASLt returns is timed, and the fastest runs
beside the rung, its early launch and cuBLAS, round by round. With four rounds each of them begins
once.

Exit status: 0 all shapes verified and timed (or not taken), 1 one failed or another process uses
the GPU, 2 bad usage, 74 its output could not be written, 77 this machine cannot run the rung, 130
interrupted.
"""

from __future__ import annotations

import time
from statistics import geometric_mean

from bench import ladder, run, rungs, shapes
from bench.run import UsageError

WORST = 10  # shapes that are printed


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

    def show(self, points):
        """What the families come to, and the worst shapes."""
        name = self.tasks[0].programs[0][0]
        found = {one.shape: one for one in points if name in one.measured}
        ratios = {shape: one.ratio(name, "cublaslt").mid for shape, one in found.items()}
        for word in self.options.sizes.split(","):
            family = [ratios[one] for one in shapes.of_word(word, name[0]) if one in ratios]
            if family:
                print(
                    f"{word:12} {len(family)} shapes, of cuBLASLt's best: geometric mean "
                    f"{geometric_mean(family):.3f}, lowest {min(family):.3f}, "
                    f"{sum(ratio >= 1 for ratio in family)} at 1 or above"
                )
        for shape in sorted(ratios, key=ratios.get)[:WORST]:
            rate, winner = found[shape].rate(name).mid, found[shape].heuristics["winner"]["name"]
            words = f"{rate:.1f} TFLOPS, {ratios[shape]:.3f} of cuBLASLt's best, {winner}"
            print(f"{shapes.shape_text(shape):20} {words}")


def sweep_main(arguments):
    """The whole program; returns its exit status."""
    parser = ladder.make_parser(__doc__)
    parser.set_defaults(passes=1)
    options = parser.parse_args(arguments)
    if options.sizes is None or options.track != "v":
        raise UsageError("name the shapes of the v track: --sizes aligned:1,any:1")
    options.sizes = options.sizes.lower().replace(" ", "")
    options.steps = options.steps or [name for name in rungs.today() if name[0] == "s"][-1]
    tasks = ladder.make_tasks(options, ("burst",))
    if any(len(task.programs) != 1 for task in tasks):
        raise UsageError("--steps: a sweep is of one rung")
    return ladder.measure(options, tasks, Sweep)


if __name__ == "__main__":
    run.run_as("sweep", sweep_main)
