#!/usr/bin/env python3
"""Times one rung over many shapes beside cuBLAS and the best of cuBLASLt, and records a row for
each.

    python3 -m bench.sweep --sizes aligned:1,few
    python3 -m bench.sweep --sizes any:2:15 --steps v18

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


class Sweep(ladder.Ladders):
    """One rung at all shapes."""

    def measure(self, plan):
        """Takes all shapes; what is finished stays also after a Ctrl-C."""
        try:
            while plan and not self.runner.interrupted:
                plan = self.run_process(plan)
        finally:
            self.runner.progress.close(self.runner.interrupted)

    def run_process(self, plan):
        """One process over the shapes that are left, up to the first that fails: those after it."""
        runs = self.folder / "runs"
        lines = ["\t".join(self.command_of(entry)[1:]) + "\n" for entry in plan]
        runs.write_text("".join(lines), encoding="utf-8")
        process = run.Process([str(plan[0].path), "--runs", str(runs)], self.options.timeout)
        try:
            for done, entry in enumerate(plan, 1):
                self.runner.progress.running([entry], len(plan) - done)
                path = self.path_of(entry)
                while not (path.exists() or process.has_ended() or self.runner.interrupted):
                    time.sleep(run.POLL_SECONDS)
                if self.runner.interrupted:
                    break
                seconds, process.began, written = process.seconds(), time.monotonic(), path.exists()
                outcome, _ = self.finish(entry, process)
                self.runner.progress.finished(entry, seconds, outcome, len(plan) - done)
                if not written:
                    return plan[done:]
            return []
        finally:
            run.stop(process.process)

    def written(self, entry, process):
        """Its row: the process goes on with other shapes."""
        path = self.path_of(entry)
        return run.read(path) if path.exists() else super().written(entry, process)

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
    options.steps = options.steps or [name for name in rungs.today() if name[0] == "v"][-1]
    tasks = ladder.make_tasks(options, ("burst",))
    if any(len(task.programs) != 1 for task in tasks):
        raise UsageError("--steps: a sweep is of one rung")
    return ladder.measure(options, tasks, Sweep)


if __name__ == "__main__":
    run.run_as("sweep", sweep_main)
