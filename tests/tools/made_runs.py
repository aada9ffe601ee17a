"""Runs that were never measured, written and read as rows: their figures follow from a few numbers."""

import tempfile
from pathlib import Path

from bench import record, results, shapes
from bench.energy import budget

H200 = {"name": "NVIDIA H200", "card": "0a1b2c3d", "compute_capability": "9.0", "sms": 132}
H200 |= {"memory_bytes_per_second": 4.8e12, "power_limit_watts": 700, "l2_bytes": 60_000_000}
H200 |= {"driver": "580.1", "cuda": "13.0", "cublas": "13.1.0"}
H100 = {**H200, "name": "NVIDIA H100 80GB HBM3"}
V = tuple(f"v{number:02}" for number in range(1, 18))
COMPUTES = {"v": "gemm_bf16", "a": "gemm_fp16", "t": "transpose_fp32", "f": "gemm_fp8"}
OTHERS = {"v": ("cublas", "cublaslt"), "a": ("cublas", "cublas_fp16_sums")}
COMPUTES["s"], OTHERS["s"] = COMPUTES["v"], OTHERS["v"]
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


def rows(names=V, shape=(8192,) * 3, protocol="burst", better=1, failed="", read=(), **how):
    """The rows of one run, of two passes. how: gpu, commit, date; `better` is how much faster the rungs
    are, `failed` has no result, `alone` has no cuBLASLt beside it; `read` are more readings, or None."""
    track, made, alone = names[0][0], [], how.pop("alone", False)
    launch = results.Run(row(names[0], shape=shape)["context"]).work / RATE.get(track, 500e12)
    others = [who for who in OTHERS[track] if not (alone and who == "cublaslt")]
    for number in (0, 1):
        for place, name in enumerate(names):
            ghz, share, timed = 1.9 - 0.01 * place, 0.5 + 0.02 * place, {}
            speeds = {"step": (share * ghz * better, share, ghz)}
            for who, (speed, *one) in {**speeds, **dict.fromkeys(others, (1.4, 0.8, 1.75))}.items():
                known = {**dict(zip(("share", "ghz"), one)), **dict(read)}
                known = {key: value for key, value in known.items() if value is not None}
                timed[who] = {key: value * (1 + 0.001 * number) for key, value in known.items()}
                timed[who]["seconds"] = [launch * part / speed for part in (1, 1.01)]
            more = {"idea": f"idea of {name}", **({"below": names[place - 1]} if place else {})}
            more |= {"failed": "exit 1"} if name == failed else {"timed": timed}
            if name != failed or number == 0:
                made.append(row(name, shape=shape, protocol=protocol, rounds=2, **more, **how))
    return made


def run(*arguments, file="made.jsonl", **how):
    """The same as a run, of that file."""
    return loaded(rows(*arguments, **how), file)[0]


def swept(family, gpu=H200, tuned=False):
    """Rows of s09 over three shapes of a family: its choice is the fastest kernel at all but the first.
    With `tuned` by the quick tuner, whose pick is the fastest at all but the second."""
    speeds = {"early": 1.1, "cublaslt_first": 1.0, "cublaslt": 1.25, "tuned": 1.331}
    tune = {"candidates": 8, "seconds": 0.01, "first": 1.02e-3, "fastest": 1e-3}
    found = {"returned": 8, "winner": {"name": "nvjet"}}
    for place, shape in enumerate(shapes.drawn(family, record.SEED, 3)):
        all_speeds = {"step": 1.331 if place else 1.0, **speeds}
        if tuned:
            all_speeds |= {"tuned": 1.331 if place != 1 else 1.21, "best": 1.331}
        timed = {who: {"seconds": [1e-3 / speed] * 2} for who, speed in all_speeds.items()}
        timed["tuned"]["kernel"], timed.get("best", {})["kernel"] = 1, 3
        more = {"tune": tune, "candidates": 206} if tuned else {"candidates": 16}
        yield row("s09", timed, shape, gpu=gpu, kernel=1, heuristics=found, **more)


# --- the parts of a rung, whose joules follow from these numbers ----------------------------------

SLOPE = 0.55
IDLE, AWAKE = 90.0, 120.0  # watts
RESTING = {budget.IDLE: IDLE, budget.AWAKE: AWAKE}
SECONDS, GHZ = 1.6e-3, 1.34  # of the whole
PACED = ("loads", "loads-l2", "waiting", budget.AWAKE)  # take as long as the whole
# Joules of each term in the whole.
WHOLE = dict(zip(budget.TERMS, (0.55, 0.08, 0.11, 0.05, 0.01, 0.02, 0.10)))


def parts(rung="v16"):
    """The parts, in the order in which they run."""
    return [*budget.fitted_of(rung), *budget.OTHERS, budget.AWAKE, budget.IDLE]


def part(name, rung="v16", factor=1.0):
    """What the program writes of a part, and the runner adds: each has a clock of its own, on fewer SMs it
    takes longer. Its joules are those of the model with the numbers above, times the factor."""
    problem, sms = dict.fromkeys("mnk", results.SIZE), H200["sms"]
    does, whole = (budget.amounts(rung, one, problem, sms) for one in (name, budget.WHOLE))
    seconds, faster = SECONDS / does["ctas"], 0.04 * parts(rung).index(name)
    does["waiting"], whole["waiting"] = seconds * (GHZ + faster) * does["ctas"], SECONDS * GHZ
    terms = {term: joules * does[term] / whole[term] for term, joules in WHOLE.items()}
    joules = AWAKE * seconds + terms.pop("dram") + (1 + SLOPE * faster) ** 2 * sum(terms.values())
    joules = factor * seconds * RESTING[name] if name in RESTING else factor * joules
    timed = {"seconds": [seconds] * 2, "ghz": GHZ + faster, "joules": joules}
    timed["watts"] = joules / seconds
    more = {"part": name, "what": f"{name}, made up", "protocol": "sustained", "rounds": 2}
    return row(f"{rung}-parts", {"step": timed}, **more)


def run_of_parts(*without, rung="v16", factors=None):
    """Two passes over the parts but for some; factors: of the joules of some."""
    found = results.Run(part(budget.WHOLE, rung)["context"])
    for scatter in (0.999, 1.001):
        for name in (name for name in parts(rung) if name not in without):
            found.add(part(name, rung, scatter * (factors or {}).get(name, 1)))
    return found
