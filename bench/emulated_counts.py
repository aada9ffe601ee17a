#!/usr/bin/env python3
"""Records what the emulator counts of one launch of every rung, for the notes.

Every rung runs once, under the policy eager, on one small shape: several tiles for each of the
emulated multiprocessors, and more k-tiles than a ring has stages. The counts depend on nothing but
the rung and the emulator. They go to bench/results/emulator/counts.json, which is left alone if
nothing in it would change. --check writes nothing and says which counts differ.

Exit status: 0 done (or equal), 1 a rung failed or a count differs, 2 bad usage.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from pathlib import Path

from bench import emulated_ladder, process
from bench.records import recorded
from bench.records.vocabulary import EMULATOR_COUNTS, counts_of

RECORD = recorded.RESULTS / EMULATOR_COUNTS
SIZES = "256x1536x512,512x512"  # of products; of what moves words
ARGUMENTS = ("--policy", "eager", "--inputs", "integers", "--sizes", SIZES)
NOT_KEPT = ("file", "line")  # of an access: they change with every comment above it


def trimmed(rung):
    """What is kept of a rung that ran."""
    accesses = [
        {key: value for key, value in access.items() if key not in NOT_KEPT}
        for access in rung["emulator"]["shared_memory_accesses"]
    ]
    emulator = {"counts": rung["emulator"]["counts"], "shared_memory_accesses": accesses}
    kept = {key: rung[key] for key in ("step", "idea", "problem")}
    return {**kept, "verification": {"verified": True}, "emulator": emulator}


def counted(options):
    """A new record. ValueError, with what the ladder printed, if a rung failed."""
    build = ["--build", str(options.build)] if options.build else []
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counts.json"
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = emulated_ladder.emulated_main([*ARGUMENTS, *build, "--out", str(path)])
        if status != 0:
            raise ValueError(f"the emulated ladder ended with {status}: {said.getvalue()}")
        record = recorded.load_record(path)
    ladders = [
        {**ladder, "rungs": [trimmed(rung) for rung in ladder["rungs"]]}
        for ladder in record["ladders"]
    ]
    return {**record, "ladders": ladders}


def all_counts(record):
    """{(rung, count): number} of a record."""
    rungs = [rung for ladder in record["ladders"] for rung in ladder["rungs"]]
    return {(rung["step"], key): value for rung in rungs for key, value in counts_of(rung).items()}


def differences(old, new):
    """A line for each count in which they differ."""
    before, after = all_counts(old), all_counts(new)
    return [
        f"{name}: {count} is {after.get((name, count))}, recorded {before.get((name, count))}"
        for name, count in sorted({*before, *after})
        if before.get((name, count)) != after.get((name, count))
    ]


def update(options):
    """Writes or compares; returns the exit status."""
    new = counted(options)
    known = recorded.load_record(options.record) if options.record.exists() else {"ladders": []}
    lines = differences(known, new)
    if not lines:
        return 0
    if options.check:
        print("\n".join(lines), file=sys.stderr)
        print("run python3 -m bench.emulated_counts and make notes", file=sys.stderr)
        return 1
    options.record.parent.mkdir(parents=True, exist_ok=True)
    recorded.write_json(options.record, new)
    print(f"{options.record}: {len(lines)} counts updated")
    return 0


def main(arguments):
    """The whole program; returns its exit status."""
    parser = process.parser(__doc__)
    add = parser.add_argument
    add("--build", metavar="DIR", type=Path, help="default: build")
    add("--record", metavar="FILE", type=Path, default=RECORD)
    add("--check", action="store_true", help="write nothing; exit 1 on a difference")
    return update(parser.parse_args(arguments))


if __name__ == "__main__":
    process.run_as("emulated_counts", main, {OSError: 1, ValueError: 1})
