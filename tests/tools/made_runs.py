"""Runs that were never measured, written and read as rows: their figures follow from a few numbers."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from bench import results

H200 = {"name": "NVIDIA H200", "card": "0a1b2c3d", "compute_capability": "9.0", "sms": 132}
H200 |= {"memory_bytes_per_second": 4.8e12, "power_limit_watts": 700, "l2_bytes": 60_000_000}
H200 |= {"driver": "580.1", "cuda": "13.0", "cublas": "13.1.0"}
H100 = {**H200, "name": "NVIDIA H100 80GB HBM3"}
V = tuple(f"v{number:02}" for number in range(1, 19))
COMPUTES = {"v": "gemm_bf16", "a": "gemm_fp16", "t": "transpose_fp32", "f": "gemm_fp8"}
OTHERS = {"v": ("cublas", "cublaslt"), "a": ("cublas", "cublas_fp16_sums")}
OTHERS |= {"t": ("device_copy",), "f": ("cublaslt_block_scales", "cublaslt")}
RATE = {"t": 2e12}  # a rung's, per share and GHz: its speed is their product


def row(name, timed=None, shape=(8192,) * 3, protocol="burst", rounds=None, **how):
    """A row. how: gpu, commit, date, and more fields."""
    context = {"gpu": how.pop("gpu", H200), "commit": how.pop("commit", "abc1234")}
    problem = {"computation": COMPUTES[name[0]], **dict(zip("mnk", shape))}
    context |= {"protocol": protocol, "problem": {**problem, "inputs": "normal", "seed": 1}}
    context |= {"rounds": rounds} if rounds else {}
    found = {"step": name, "date": how.pop("date", "2027-01-01T00:00:00Z"), "context": context}
    return {**found, **({"timed": timed} if timed else {}), **how}


def loaded(rows, name="made.jsonl"):
    """These rows as runs, through a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / results.HOME / name
        for one in rows:
            results.append(path, one)
        return results.load(path)


def rows(names=V, shape=(8192,) * 3, protocol="burst", **how):
    """The rows of one run. how: gpu, commit, date; `better` is how much faster the rungs are, `failed`
    has no result, `alone` has no cuBLASLt beside it; `read` are more readings of all, or None."""
    track, made = names[0][0], []
    launch = (8 if track == "t" else 2) * math.prod(shape) / RATE.get(track, 500e12)
    others = [who for who in OTHERS[track] if not (how.get("alone") and who == "cublaslt")]
    of_row = {key: how[key] for key in ("gpu", "commit", "date") if key in how}
    for number in (0, 1):
        for place, name in enumerate(names):
            more = {**of_row, "idea": f"idea of {name}"}
            more |= {"below": names[place - 1]} if place else {}
            if name == how.get("failed"):
                failed = row(name, None, shape, protocol, 2, failed="exit 1", **more)
                made += [failed] * (number == 0)
                continue
            ghz, share = 1.9 - 0.01 * place, 0.5 + 0.02 * place
            own = {"share": share, "ghz": ghz, **how.get("read", {})}
            all_of_it = {"step": (share * ghz * how.get("better", 1), own)}
            all_of_it |= {who: (1.4, {**own, "share": 0.8, "ghz": 1.75}) for who in others}
            timed = {}
            for who, (speed, read) in all_of_it.items():
                timed[who] = {"seconds": [launch * part / speed for part in (1, 1.01)]}
                known = {key: value for key, value in read.items() if value is not None}
                timed[who] |= {key: value * (1 + 0.001 * number) for key, value in known.items()}
            made.append(row(name, timed, shape, protocol, 2, **more))
    return made


def run(*arguments, file="made.jsonl", **how):
    """The same as a run, of that file."""
    return loaded(rows(*arguments, **how), file)[0]


def counted(counts, commit="abc1234"):
    """A run under ncu: {rung: {metric: count}}; cuBLAS counts what the last rung does."""
    made = []
    for name, counters in counts.items():
        own, other = ({"kernel": one, "counters": counters} for one in ("gemm", "nvjet"))
        one = row(name, protocol="counters", commit=commit, **own, cublas=other)
        one["context"]["ncu"] = "1.0"
        made.append(one)
    return loaded(made)[0]
