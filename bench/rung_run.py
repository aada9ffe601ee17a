"""One run of one rung: its command line, and its JSON, checked."""

from __future__ import annotations

from bench import process
from bench.process import CannotRun, DoesNotTake, RungFailed
from bench.records import recorded, schema


def heuristic_options(options, heuristics):
    """The first program of a ladder looks for the best of cuBLASLt's algorithms; the others, which
    know what it found (None: nothing yet), time that one. Each is called by its configuration: its
    place among the heuristics would not name one that was enumerated."""
    if options.measure is recorded.MOVES or options.heuristics == 0:
        return {}
    if heuristics is None:
        return {"--heuristics": options.heuristics}
    return {"--algorithm": heuristics["winner"]["algorithm"]}


def turn_of(options, index):
    """In each pass another contender begins: what runs first finds the chip cooler than what runs
    last. A burst and a call have a pause before each."""
    return {"--turn": index} if options.protocol == "sustained" else {}


def command_of(options, path, index, json_path, heuristics=None):
    """The command line of one run of one rung."""
    moves = options.measure is recorded.MOVES
    check = options.check or ("full" if index == 0 or moves else "sample")
    pairs = {
        **{f"--{name}": value for name, value in options.shape.items()},
        "--inputs": options.inputs,
        "--seed": options.seed,
        "--protocol": options.protocol,
        "--rounds": options.rounds,
        **turn_of(options, index),
        "--check": check,
        "--device": options.device,
        **heuristic_options(options, heuristics),
        "--json": json_path,
    }
    return words_of(path, pairs)


def require_taken(name, status, output, errors):
    """DoesNotTake, in its own words, if a rung refused the shape; bad usage is something else."""
    if status == process.BAD_USAGE and "--help says more" not in errors:
        raise DoesNotTake(process.complaint(output, errors).removeprefix(f"{name}: "))


def run_rung(options, entry, folder, heuristics=None):
    """One run of one rung: its JSON, checked. `heuristics` is what an earlier program of the ladder
    found, or None. Raises RungFailed, CannotRun or DoesNotTake."""
    name = entry.name
    json_path = folder / f"{name}-{entry.index}.json"
    command = command_of(options, entry.path, entry.index, json_path, heuristics)
    status, output, errors = process.execute(command, options.timeout)
    if status == process.CANNOT_RUN_HERE:
        raise CannotRun(process.complaint(output, errors))
    require_taken(name, status, output, errors)
    if status != 0:
        raise RungFailed(process.explain(status, output, errors))

    def check(run):
        check_run(options, name, run)
        check_timing(options, run["timing"])
        check_heuristics(options, run["timing"], heuristics)

    return written(json_path, check)


def written(json_path, check):
    """What a program recorded. RungFailed if check() finds that it isn't what was asked for."""
    try:
        run = recorded.parse(json_path.read_text(encoding="utf-8"))
        check(run)
    except (OSError, ValueError) as error:
        raise RungFailed(f"its JSON: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise RungFailed(f"its JSON lacks or garbles a field: {error!r}") from error
    return run


def words_of(program, pairs):
    """A command line of options and their values; None is no value, and the option is left out."""
    given = [pair for pair in pairs.items() if pair[1] is not None]
    return [str(program)] + [str(word) for pair in given for word in pair]


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
    for form, key in (
        (schema.VERIFICATION, "verification"),
        (schema.text, "idea"),
        (schema.COMMIT, "commit"),
        (schema.date, "date"),
        (schema.GPU, "gpu"),
    ):
        form(run[key], key)


def check_timing(options, timing):
    """ValueError, KeyError or TypeError unless all contenders have all their times."""
    if timing["protocol"] != options.protocol or timing["interrupted"]:
        raise ValueError("interrupted, or timed by another protocol")
    measure = options.measure
    for name in dict.fromkeys(("step", measure.other, *measure.contenders(timing))):
        contender = timing[name]
        seconds = contender["seconds"]
        if len(seconds) != options.rounds or not all(0 < value < 3600 for value in seconds):
            raise ValueError(f"{options.rounds} times expected, found {seconds}")
        for key in measure.readings:
            if not isinstance(contender.get(key), (int, float, type(None))):
                raise TypeError(f"{key} is {contender[key]!r}")
    if not timing[measure.work] > 0:
        raise ValueError(f"{measure.work} is {timing[measure.work]}")


def check_heuristics(options, timing, heuristics):
    """ValueError, KeyError or TypeError unless the algorithm that was asked for is beside the rung."""
    if not heuristic_options(options, heuristics):
        return
    found = timing["heuristics"]
    winner = found["winner"]
    if "cublaslt" not in timing:
        raise ValueError("cuBLASLt was not timed")
    if heuristics is None:
        there = found["returned"] + found.get("enumerated", 0)
        if winner not in found["timed"] or len(found["timed"]) > there or not winner["algorithm"]:
            raise ValueError(f"cuBLASLt: {winner} of {there}, {len(found['timed'])} timed")
        return
    if winner["algorithm"] != heuristics["winner"]["algorithm"]:
        wanted = heuristics["winner"]
        raise ValueError(f"beside it ran {winner['name']}, asked was {wanted['name']}")
