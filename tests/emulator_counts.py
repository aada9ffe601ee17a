#!/usr/bin/env python3
"""The emulator still counts what is recorded of it, which the notes show.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools import case, emulated, exit_status

from bench import record, results

RECORD = results.RESULTS / "emulator" / "counts.jsonl"


def counts_of(path):
    """{(rung, count): number in six digits}, with all that bank conflicts cost."""
    found = {}
    for run in results.load(path):
        for name in run.measured:
            told = run.first(name)["emulator"]
            extra = sum(site["extra_wavefronts"] for site in told["shared_memory_accesses"])
            counts = {**told["counts"], "extra_wavefronts": extra}
            found.update({(name, key): f"{value:.6g}" for key, value in counts.items()})
    return found


def main() -> int:
    recorded = counts_of(RECORD)
    missing = {*emulated.rungs()} - {name for name, _ in recorded}
    case("every rung is in the record", " ".join(sorted(missing)))
    (run,) = record.chosen("counts")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "counts.jsonl"
        command = [*run.command()[:-2], "--out", str(out)]
        said = subprocess.run(
            command, cwd=results.ROOT, capture_output=True, text=True, check=False
        )
        case("every rung is counted", said.stdout + said.stderr if said.returncode else "")
        counted = counts_of(out) if out.exists() else {}
    wrong = [
        f"{name}: {key} is {counted.get((name, key))}, recorded {recorded.get((name, key))}"
        for name, key in sorted({*recorded, *counted})
        if counted.get((name, key)) != recorded.get((name, key))
    ]
    case("the emulator counts what is recorded", "; ".join(wrong))
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
