"""What was measured, on what, when: captions of recorded results."""

from __future__ import annotations

from bench.records import recorded
from notes.tools.shapes_table import dated, machine, made, origin, sizes_of, title


def of_counters(record):
    """Of counters."""
    gpu, ncu = machine(record["gpu"], "power"), record["ncu"] or "unknown"
    return f"Counts: {gpu}, ncu {ncu}; {sizes_of(record)}; {made(record)}."


def of_times(ladder):
    """Of times."""
    if recorded.measure_of(ladder) is recorded.MOVES:
        shape = title(recorded.shape_of(ladder))
        return f"Times: {shape}; {ladder['protocol']} protocol; {origin(ladder)}"
    return (
        f"Times: {machine(ladder['gpu'])}; {sizes_of(ladder)}; "
        f"{ladder['protocol']} protocol; {made(ladder)}. "
        f"Medians of {ladder['passes']} passes with {ladder['rounds']} rounds each, "
        "with the 10th and 90th percentile."
        + (" The run was interrupted: some have fewer." if ladder["interrupted"] else "")
    )


def of_the_emulator(record):
    """Of the emulator's counts."""
    places = [
        f"the {ladder['track']} track at {' x '.join(map(str, ladder['shape']))}"
        for ladder in record["ladders"]
    ]
    return (
        f"The emulator's counts, of one launch: {', '.join(places)}; policy {record['policy']}; "
        f"{record['inputs']} inputs."
    )


def of_trace(record):
    """Of a trace."""
    launch, gpu = record["launch"], machine(record["gpu"], "power", "cublas")
    return (
        f"Trace of {record['step']}: CTA {launch['cta']} of {launch['ctas']}; {gpu}; "
        f"{title(recorded.shape_of(record))}; {dated(record)}."
    )


def of_energy(record):
    """Of the parts of a rung."""
    gpu = machine(record["gpu"], "cublas")
    return f"Energy: the parts of {record['rung']}, {gpu}; {sizes_of(record)}; {made(record)}."


CAPTIONS = {
    "ladder": of_times,
    "counters": of_counters,
    "trace": of_trace,
    "energy": of_energy,
    "emulated": of_the_emulator,
}


def captions(library):
    """Of all records that a library answered from: times, counts, traces, the emulator."""
    order = list(CAPTIONS)
    used = sorted(library.used, key=lambda record: (order.index(record["kind"]), record["date"]))
    return list(dict.fromkeys(CAPTIONS[record["kind"]](record) for record in used))
