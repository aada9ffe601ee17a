"""Exercises in the rungs, and new rungs."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable


def run(main: Callable[[], int]) -> None:
    """Ends the program with main's status; quietly if `| head` has read enough, and with one line if
    a file cannot be written."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(main())
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(2)
