"""What was measured, on what, when: captions of recorded results."""

from __future__ import annotations

from bench.records import recorded
from notes.tools import readme_table, shapes_table


def counters_caption(record):
    """Of counters."""
    gpu, problem = record["gpu"], record["problem"]
    shape = ", ".join(f"{name} = {problem[name]}" for name in "mnk" if name in problem)
    return (
        f"Counts: {gpu['name']}, CUDA {gpu['cuda']}, cuBLAS {gpu['cublas']}, driver "
        f"{gpu['driver']}, ncu {record['ncu'] or 'unknown'}; {shape}; {problem['inputs']} inputs, "
        f"seed {problem['seed']}; {record['date'][:10]}, commit `{record['commit']}`."
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
    gpu, launch = record["gpu"], record["launch"]
    return (
        f"Trace of {record['step']}: CTA {launch['cta']} of {launch['ctas']}; {gpu['name']}, CUDA "
        f"{gpu['cuda']}, driver {gpu['driver']}; {shapes_table.title(recorded.shape_of(record))}; "
        f"{record['date'][:10]}, commit `{record['commit']}`."
    )


def energy_caption(record):
    """Of the parts of a rung."""
    gpu, problem = record["gpu"], record["problem"]
    limit = gpu["power_limit_watts"]
    power = "power limit unknown" if limit is None else f"power limit {limit:.0f} W"
    return (
        f"Energy: the parts of {record['rung']}, {gpu['name']}, {power}, CUDA {gpu['cuda']}, "
        f"driver {gpu['driver']}; "
        f"m = {problem['m']}, n = {problem['n']}, k = {problem['k']}; {problem['inputs']} inputs, "
        f"seed {problem['seed']}; {record['date'][:10]}, commit `{record['commit']}`."
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
