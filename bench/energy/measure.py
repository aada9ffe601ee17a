#!/usr/bin/env python3
"""Measures where the joules of a rung go: runs its parts one by one, and keeps their rows.

    make energy

A part is the rung's kernel with some of its work left out; `build/energy/parts --explain` lists
them. In a pass each runs once, for seconds in a process of its own, and the driver's energy counter
measures it; how far the passes differ is the error. Paced parts take as long as the whole did. A row
is what the program wrote, with the `part` and `what` it is.

Exit status: 0 all parts measured, 1 one failed, or another process uses the GPU, 2 bad usage, 77
this machine cannot run them, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from bench import results, run, shapes
from bench.energy import budget
from bench.ladder import print_aligned
from bench.run import CannotRun, Entry, Failed, Task, UsageError

NAME = "v16-parts"
PROCESS_SECONDS, ROUND_SECONDS = 5, 1.3  # about: its start and its first warm-up, and each round


def options_of(arguments):
    """The options; their names are those of a rung's program wherever both have them."""
    parser = run.parser(__doc__)
    add = parser.add_argument
    run.add_options(add)
    add("--passes", type=run.positive, default=2, help="times over the parts (default 2)")
    add("--rounds", type=run.positive, default=2, help="rounds per process (default 2)")
    return parser.parse_args(arguments)


def list_parts(program, options):
    """{part: (its number as a kernel, what it is)} of those that --steps names, or all."""
    if not os.access(program, os.X_OK):
        raise UsageError(f"{program} is not built: make build/energy/parts")
    command = [str(program), "--explain", "--device", str(options.device)]
    status, output, errors = run.execute(command, options.timeout)
    if status:
        failure = CannotRun if status == run.CANNOT_RUN_HERE else Failed
        raise failure(run.complaint(output, errors))
    lines = (line.split("\t") for line in output.splitlines())
    found = {name: (number, what) for number, name, what in lines}
    wanted = options.steps.split(",") if options.steps else found
    if unknown := sorted({*wanted} - {*found}):
        raise UsageError(f"--steps: there is no part {', '.join(unknown)}")
    return {name: found[name] for name in found if name in wanted}


class Parts:
    """The processes of the parts, and what came of them. An entry's label is its part."""

    def __init__(self, options, parts, folder):
        self.options, self.parts, self.json = options, parts, Path(folder) / "row.json"
        self.runner = run.Runner()
        self.file = run.File(options)
        self.pace, self.failed = None, False

    def start(self, entry):
        """Starts a part. Paced ones take as long as the whole, which comes first."""
        self.json.unlink(missing_ok=True)
        os.environ["ENERGY_PACE_SECONDS"] = str(self.pace or "")
        own = {"kernel": self.parts[entry.label][0], "protocol": entry.task.protocol}
        own.update(rounds=self.options.rounds, device=self.options.device, json=self.json)
        return run.Process(run.command_of(entry, self.options, **own), self.options.timeout)

    def finish(self, entry, process):
        """Keeps the row of a part, and says in words what it took. 77 of the first ends all."""
        name, what = entry.label, self.parts[entry.label][1]
        try:
            row = {**run.row_of(entry.name, process, self.json), "part": name, "what": what}
            if not {"joules", "ghz"} <= row["timed"]["step"].keys():
                raise Failed("this GPU's energy or clock cannot be read")
            one = results.Run(row["context"])
            one.add(row)
            part = budget.parts_of(one)[name]
            why = budget.impossible(part, one.gpu["sms"], name != budget.IDLE and self.pace)
            if why:
                raise Failed(why)
            self.file.add(row, entry)
        except Failed as error:
            if isinstance(error, CannotRun) and not self.file.rows:
                raise
            self.failed = True
            return f"FAILED: {error}", False
        if name == budget.WHOLE:
            self.pace = part.seconds
        took = f"{part.joules:.4f} J in {1e3 * part.seconds:.4f} ms"
        return f"{took}: {part.watts:.1f} W at {part.ghz:.3f} GHz", False

    def report(self):
        """Prints the budget, if the parts give one; returns the exit status."""
        for measured in self.file.runs():
            try:
                print_aligned(budget.rows(budget.make(measured)))
            except budget.Unsolvable as error:
                print(f"energy: {error}")
        if self.file.path:
            print(f"recorded in {self.file.path}")
        return run.INTERRUPTED if self.runner.interrupted else int(self.failed)


def energy_main(arguments):
    """The whole program; returns its exit status."""
    options = options_of(arguments)
    program = options.build / "energy" / "parts"
    shape = shapes.of_sizes(options.sizes, "v")["v"][0]
    task = Task("v", "sustained", shape, ((NAME, program),))
    parts = list_parts(program, options)
    plan = [Entry(task, NAME, program, one, i) for i in range(options.passes) for one in parts]
    seconds = len(plan) * (PROCESS_SECONDS + options.rounds * ROUND_SECONDS)
    print(f"energy: {len(plan)} processes, about {run.clock(seconds)}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="gemm-ladder-") as folder:
        found = Parts(options, parts, folder)
        found.runner.run(plan, found.start, found.finish)
    return found.report()


if __name__ == "__main__":
    run.run_as("energy", energy_main)
