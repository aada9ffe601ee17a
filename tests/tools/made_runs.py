"""Runs that were never measured, written and read as rows: their figures follow from a few numbers."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from bench import results

H200 = {"name": "NVIDIA H200", "card": "0a1b2c3d", "compute_capability": "9.0", "sms": 132}
H200 |= {"memory_bytes_per_second": 4.8e12, "power_limit_watts": 700}
H200 |= {"driver": "580.1", "cuda": "13.0", "cublas": "13.1.0"}
H100 = {**H200, "name": "NVIDIA H100 80GB HBM3"}
V = tuple(f"v{number:02}" for number in range(1, 19))
OTHERS = {"v": ("cublas", "cublaslt"), "a": ("cublas", "cublas_fp16_sums")}
OTHERS |= {"t": ("device_copy",), "f": ("cublaslt_block_scales", "cublaslt")}
RATE = {"t": 2e12}  # a rung's, per share and GHz: its speed is their product


def loaded(rows, name="made.jsonl"):
    """These rows as runs, through a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / results.HOME / name
        for row in rows:
            results.append(path, row)
        return results.load(path)


def rows(names=V, shape=(8192,) * 3, protocol="burst", **how):
    """The rows of one run. how: gpu, commit, date; `better` is how much faster the rungs are, `failed`
    has no result, `alone` has no cuBLASLt beside it; `read` are more readings of all, or None."""
    gpu, track = how.get("gpu", H200), names[0][0]
    kind = {"a": "gemm_fp16", "t": "transpose_fp32", "f": "gemm_fp8"}.get(track, "gemm_bf16")
    problem = {"computation": kind, **dict(zip("mnk", shape)), "inputs": "normal", "seed": 1}
    context = {"gpu": gpu, "commit": how.get("commit", "abc1234"), "protocol": protocol}
    context |= {"problem": problem, "rounds": 2}
    launch = (8 if track == "t" else 2) * math.prod(shape) / RATE.get(track, 500e12)
    others = [who for who in OTHERS[track] if not (how.get("alone") and who == "cublaslt")]
    made = []
    for number in (0, 1):
        for place, name in enumerate(names):
            row = {"step": name, "idea": f"idea of {name}", "context": context}
            row["date"] = how.get("date", "2027-01-01T00:00:00Z")
            if place:
                row["below"] = names[place - 1]
            if name == how.get("failed"):
                made += [{**row, "failed": "exit 1"}] * (number == 0)
                continue
            ghz, share = 1.9 - 0.01 * place, 0.5 + 0.02 * place
            own = {"share": share, "ghz": ghz, **how.get("read", {})}
            all_of_it = {"step": (share * ghz * how.get("better", 1), own)}
            all_of_it |= {who: (1.4, {**own, "share": 0.8, "ghz": 1.75}) for who in others}
            row["timed"] = {
                who: {"seconds": [launch * part / speed for part in (1, 1.01)]}
                | {
                    key: value * (1 + 0.001 * number)
                    for key, value in read.items()
                    if value is not None
                }
                for who, (speed, read) in all_of_it.items()
            }
            made.append(row)
    return made


def run(*arguments, file="made.jsonl", **how):
    """The same as a run, of that file."""
    return loaded(rows(*arguments, **how), file)[0]


def counted(counts, commit="abc1234"):
    """A run under ncu: {rung: {metric: count}}; cuBLAS counts what the last rung does."""
    problem = {"computation": "gemm_bf16", "m": 8192, "n": 8192, "k": 8192, "inputs": "normal"}
    context = {"gpu": H200, "commit": commit, "protocol": "counters", "problem": problem}
    return loaded(
        {
            "step": name,
            "date": "2027-01-01T00:00:00Z",
            "context": {**context, "ncu": "1.0"},
            "kernel": "gemm",
            "counters": counters,
            "cublas": {"kernel": "nvjet", "counters": counters},
        }
        for name, counters in counts.items()
    )[0]
