"""What was measured, on what, when: captions of recorded results."""

from __future__ import annotations

from bench.records import recorded
from notes.tools import readme_table, shapes_table


def counters_caption(record):
    """Of counters."""
    machine = shapes_table.machine(record["gpu"], "power")
    return (
        f"Counts: {machine}, ncu {record['ncu'] or 'unknown'}; {shapes_table.sizes_of(record)}; "
        f"{shapes_table.made(record)}."
    )


def ladder_caption(ladder):
    """Of times."""
    if recorded.measure_of(ladder) is recorded.PRODUCTS:
        return f"Times: {readme_table.caption(ladder)}"
    shape = shapes_table.title(recorded.shape_of(ladder))
    return f"Times: {shape}; {ladder['protocol']} protocol; {shapes_table.origin(ladder)}"


def emulator_caption(record):
    """Of the emulator's counts."""
    places = [
        f"the {ladder['track']} track at {' x '.join(map(str, ladder['shape']))}"
        for ladder in record["ladders"]
    ]
    return (
        f"The emulator's counts, of one launch: {', '.join(places)}; policy {record['policy']}; "
        f"{record['inputs']} inputs."
    )


def trace_caption(record):
    """Of a trace."""
    launch, machine = record["launch"], shapes_table.machine(record["gpu"], "power", "cublas")
    return (
        f"Trace of {record['step']}: CTA {launch['cta']} of {launch['ctas']}; {machine}; "
        f"{shapes_table.title(recorded.shape_of(record))}; {shapes_table.dated(record)}."
    )


def energy_caption(record):
    """Of the parts of a rung."""
    return (
        f"Energy: the parts of {record['rung']}, {shapes_table.machine(record['gpu'], 'cublas')}; "
        f"{shapes_table.sizes_of(record)}; {shapes_table.made(record)}."
    )


CAPTIONS = {
    "ladder": ladder_caption,
    "counters": counters_caption,
    "trace": trace_caption,
    "energy": energy_caption,
    "emulated": emulator_caption,
}


def captions(library):
    """Of all records that a library answered from: times, counts, traces, the emulator."""
    order = list(CAPTIONS)
    used = sorted(library.used, key=lambda record: (order.index(record["kind"]), record["date"]))
    return list(dict.fromkeys(CAPTIONS[record["kind"]](record) for record in used))
