"""One run of one rung: its command line, and its JSON, checked."""

from __future__ import annotations

import process
import recorded
from process import CannotRun, DoesNotTake, RungFailed


def command_of(options, path, index, json_path):
    """The command line of one run of one rung."""
    moves = options.measure is recorded.MOVES
    check = options.check or ("full" if index == 0 or moves else "sample")
    pairs = {
        **{f"--{name}": value for name, value in options.shape.items()},
        "--inputs": options.inputs,
        "--seed": options.seed,
        "--protocol": options.protocol,
        "--rounds": options.rounds,
        "--check": check,
        "--device": options.device,
        "--json": json_path,
    }
    return [str(path)] + [str(word) for pair in pairs.items() for word in pair]


def run_rung(options, name, path, index, folder):
    """One run of one rung: its JSON, checked. Raises RungFailed,
    CannotRun or DoesNotTake."""
    json_path = folder / f"{name}-{index}.json"
    command = command_of(options, path, index, json_path)
    status, output, errors = process.execute(command, options.timeout)
    if status == process.CANNOT_RUN_HERE:
        raise CannotRun(process.complaint(output, errors))
    if status == process.BAD_USAGE and "--help says more" not in errors:
        raise DoesNotTake(process.complaint(output, errors).removeprefix(f"{name}: "))
    if status != 0:
        raise RungFailed(process.explain(status, output, errors))
    return read_run(options, name, json_path)


def read_run(options, name, json_path):
    """Reads what a rung recorded and refuses anything that isn't the run that was asked for."""
    try:
        run = recorded.parse(json_path.read_text(encoding="utf-8"))
        check_run(options, name, run)
        check_timing(options, run["timing"])
    except (OSError, ValueError) as error:
        raise RungFailed(f"its JSON: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise RungFailed(f"its JSON lacks or garbles a field: {error!r}") from error
    return run


def check_run(options, name, run):
    """ValueError, KeyError or TypeError unless `run` is whole, verified and what was asked."""
    if (run["schema"], run["kind"], run["step"]) != (recorded.SCHEMA, "step", name):
        raise ValueError(f"schema {run['schema']}, kind {run['kind']}, step {run['step']}")
    asked = dict(options.shape, inputs=options.inputs, seed=options.seed)
    problem = {key: run["problem"][key] for key in asked}
    if recorded.measure_of(run) is not options.measure:
        raise ValueError("it has a k, or lacks one")
    if problem != asked:
        raise ValueError(f"it ran {problem}, asked was {asked}")
    if run["verification"]["verified"] is not True:
        raise ValueError("exit status 0, but not verified")
    for text in (run["idea"], run["commit"], run["date"], run["gpu"]["name"]):
        if not isinstance(text, str):
            raise TypeError(f"{text!r} where a text should stand")


def check_timing(options, timing):
    """ValueError, KeyError or TypeError unless all contenders have all their times."""
    if timing["protocol"] != options.protocol or timing["interrupted"]:
        raise ValueError("interrupted, or timed by another protocol")
    measure = options.measure
    others = [timing[name] for name in measure.contenders(timing)]
    for contender in [timing["step"], timing[measure.other], *others]:
        seconds = contender["seconds"]
        if len(seconds) != options.rounds or not all(0 < value < 3600 for value in seconds):
            raise ValueError(f"{options.rounds} times expected, found {seconds}")
        for key in measure.readings:
            if not isinstance(contender.get(key), (int, float, type(None))):
                raise TypeError(f"{key} is {contender[key]!r}")
    if not timing[measure.work] > 0:
        raise ValueError(f"{measure.work} is {timing[measure.work]}")
