"""What the fields of a row may be. bench/results/README.md says what they mean. Standard library
only."""

from __future__ import annotations

import json
import re

NUMBER = r"\d[\d.]*(?:e[-+]\d+)?"
TEXT = r'"(?!\s*").+"'
KINDS = {  # what a value is as JSON
    "count": r"\d+",
    "amount": NUMBER,
    "number": f"-?{NUMBER}",
    "truth": "true|false",
    "text": TEXT,
    "number-or-name": rf"\d+|{TEXT}",
    "program": r'"[vsatf](?:\d\d(?:-[a-z0-9-]+)?|-[a-z0-9-]+)"',  # bench/results.py: NAME
    "date": r'"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\dZ)?"',
    "commit": r'"[\w.+-]+"',
    "version": r'"\d+[\d.]*"',
    "hexadecimal": r'"(?:0x)?[0-9a-f]{8,128}"',
    "inputs": '"(?:normal|uniform|integers|bits)"',
    "protocol": '"(?:burst|sustained|call|counters)"|null',
    "access": '"(?:read|write)"',
    "null": "null",
}
# A kind, and the fields that are of it. [] is each of a list, * a name that anything may have.
TABLE = """
program  step below
text     idea what part names.* failed refused ncu context.ncu other_processes[]
text     context.gpu.name context.problem.computation heuristics.winner.name cublas.kernel
text     emulator.policies emulator.counted_policy emulator.shared_memory_accesses[].file
date     date
commit   context.commit
null     context.gpu
version  context.gpu.compute_capability context.gpu.driver context.gpu.cuda context.gpu.cublas
hexadecimal  context.gpu.card digest heuristics.winner.algorithm
count    context.gpu.sms context.gpu.l2_bytes context.gpu.memory_bytes
amount   context.gpu.memory_bytes_per_second context.gpu.power_limit_watts
amount   context.gpu.default_power_watts
truth    context.gpu.draws context.gpu.under_windows
protocol context.protocol
count    context.rounds context.problem.m context.problem.n context.problem.k context.problem.seed
count    context.problem.copies copies launches idle_ms
inputs   context.problem.inputs
number   context.problem.alpha context.problem.beta
number-or-name kernel
truth    fp16_sums computes_nothing gated interrupted block_scales heuristics.cut
amount   errors.*.bound errors.*.relative heuristics.winner.seconds
amount   timed.*.seconds[] timed.*.share timed.*.ghz timed.*.watts timed.*.joules
amount   timed.*.joules_error timed.*.before_seconds
count    timed.*.kernel candidates tune.candidates
amount   tune.seconds tune.ready_seconds tune.first tune.fastest
count    heuristics.asked heuristics.returned heuristics.enumerated heuristics.launched
count    heuristics.checked heuristics.winner.number
amount   counters.* cublas.counters.* emulator.counts.*
access   emulator.shared_memory_accesses[].access
count    emulator.shared_memory_accesses[].line emulator.shared_memory_accesses[].bytes
count    emulator.shared_memory_accesses[].instructions
count    emulator.shared_memory_accesses[].wavefronts
count    emulator.shared_memory_accesses[].extra_wavefronts
count    emulator.shared_memory_accesses[].worst_ways
"""
KIND_OF = {
    field: kind for kind, *fields in map(str.split, TABLE.strip().splitlines()) for field in fields
}
NAMED = {field.removesuffix(".*") for field in KIND_OF if field.endswith(".*")}
NAMED |= {field.partition(".*.")[0] for field in KIND_OF if ".*." in field}
written = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps would make one each time


def leaves(holder, field=""):
    """(field, holder, key) of all that is neither a list nor has fields of its own."""
    in_list = isinstance(holder, list)
    for key, value in enumerate(holder) if in_list else holder.items():
        name = "[]" if in_list else ".*" if field in NAMED else f".{key}"
        whole = f"{field}{name}".lstrip(".")
        if isinstance(value, (dict, list)):
            yield from leaves(value, whole)
        else:
            yield whole, holder, key


def check(row):
    """ValueError that names a field which there is not, or which is something else."""
    for field, holder, key in leaves(row):
        value = holder[key]
        if field not in KIND_OF:
            raise ValueError(f"there is no field {field}")
        if not re.fullmatch(KINDS[KIND_OF[field]], written(value)):
            raise ValueError(f"{field} is {value!r}, not {KIND_OF[field]}")
    rounds = row["context"].get("rounds")
    for who, one in row.get("timed", {}).items():
        once = who.startswith("kernel-") and len(one["seconds"]) == 1  # what a search found
        if rounds and len(one["seconds"]) != rounds and not once and "interrupted" not in row:
            raise ValueError(f"{who} has {len(one['seconds'])} seconds of {rounds} rounds")
