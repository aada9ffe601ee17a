#!/usr/bin/env python3
"""The emulator still counts what is recorded of it, which the notes show.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import contextlib
import copy
import io
import sys

from tools import emulated
from tools.emulated import case, exit_status

from bench import emulated_counts
from bench.records import recorded


def check_differences():
    """A count that differs, and one that is missing, are found."""
    record = recorded.load_record(emulated_counts.RECORD)
    found = emulated_counts.differences(record, record)
    case("a record does not differ from itself", "; ".join(found))
    other = copy.deepcopy(record)
    other["ladders"][0]["rungs"][1]["emulator"]["counts"]["tma_loads"] += 1
    del other["ladders"][0]["rungs"][2]["emulator"]["counts"]["wgmmas"]
    found = emulated_counts.differences(record, other)
    case("a count that differs is found", "" if len(found) == 2 else f"found {found}")
    names = {rung["step"] for ladder in record["ladders"] for rung in ladder["rungs"]}
    missing = sorted(set(emulated.rungs()) - names)
    case("every rung is in the record", f"{missing} are not" if missing else "")


def check_recorded():
    """Every rung, run again, counts the same."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = emulated_counts.main(["--check"])
    lines = said.getvalue().strip().splitlines()
    why = "; ".join(lines[-5:]) or f"exit status {status}"
    case("the emulator counts what is recorded", why if status else "")


if __name__ == "__main__":
    check_differences()
    check_recorded()
    sys.exit(exit_status())
