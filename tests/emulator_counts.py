#!/usr/bin/env python3
"""The emulator still counts what is recorded of it, which the notes show.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import copy
import sys

from tools import case, emulated, exit_status

from bench import emulated_counts
from bench.records import recorded


def main() -> int:
    record = recorded.load_record(emulated_counts.RECORD)
    names = {rung["step"] for ladder in record["ladders"] for rung in ladder["rungs"]}
    case("every rung is in the record", " ".join(set(emulated.rungs()) - names))
    other = copy.deepcopy(record)
    other["ladders"][0]["rungs"][1]["emulator"]["counts"]["tma_loads"] += 1
    del other["ladders"][0]["rungs"][2]["emulator"]["counts"]["wgmmas"]
    found = len(emulated_counts.differences(record, other))
    case(
        "a count that differs and one that is missing are found",
        f"{found} were" if found != 2 else "",
    )
    status = emulated_counts.main(["--check"])
    case("the emulator counts what is recorded", f"exit status {status}" if status else "")
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
