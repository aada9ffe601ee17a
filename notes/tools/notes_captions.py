"""What was measured, on what, when: captions of recorded results."""

from __future__ import annotations

from notes.tools import shapes_table


def captions(library):
    """Of all records that a library answered from: times, counts, traces, the emulator."""
    return shapes_table.sources(library.used)
