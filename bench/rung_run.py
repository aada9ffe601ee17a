"""Runs of rungs: their command lines, their JSON, checked, and many of them in a plan's order."""

from __future__ import annotations

import time

from bench import process, rungs
from bench.process import CannotRun, DoesNotTake, RungFailed
from bench.records import figures, recorded, schema
from bench.records.vocabulary import MEASURES

OTHERS = {measure.other for measure in MEASURES}


def words_of(program, pairs):
    """A command line of options and their values; None is no value, and the option is left out."""
    given = [pair for pair in pairs.items() if pair[1] is not None]
    return [str(program)] + [str(word) for pair in given for word in pair]


def problem_words(options):
    """The options that say what to compute, and on what."""
    shape = {f"--{name}": value for name, value in options.shape.items()}
    return {**shape, "--inputs": options.inputs, "--seed": options.seed}


def heuristic_options(options, heuristics):
    """The first program of a ladder looks for the best of cuBLASLt's algorithms; the others, which
    know what it found (None: nothing yet), time that one. Each is called by its configuration: its
    place among the heuristics would not name one that was enumerated."""
    if options.measure is recorded.MOVES or options.heuristics == 0:
        return {}
    if heuristics is None:
        return {"--heuristics": options.heuristics}
    return {"--algorithm": heuristics["winner"]["algorithm"]}


def search_of(name):
    """Which programs time what one search among cuBLASLt's algorithms found: all, but of FP8 those
    that add and scale alike."""
    rung = rungs.today().get(recorded.rung_of(name))
    return rungs.scales_blocks(name), rung is None or rung.promotes or name[0] != "f"


def command_of(options, entry, json_path, heuristics=None):
    """The command line of one timed run of one rung. In each pass of a sustained ladder another
    contender begins: what runs first finds the chip cooler than what runs last. A burst and a call
    have a pause before each."""
    full = entry.index == 0 or options.measure is recorded.MOVES
    pairs = {
        **problem_words(options),
        "--protocol": options.protocol,
        "--rounds": options.rounds,
        "--turn": entry.index if options.protocol == "sustained" else None,
        "--check": options.check or ("full" if full else "sample"),
        "--device": options.device,
        **heuristic_options(options, heuristics),
        "--json": json_path,
    }
    return words_of(entry.path, pairs)


def result_of(name, running, json_path, check):
    """What a rung that has ended wrote, checked. Raises RungFailed, CannotRun or DoesNotTake, in its
    own words: it refused the shape if it doesn't point to --help."""
    status, output, errors = running.result()
    words = process.complaint(output, errors, name)
    if status == process.CANNOT_RUN_HERE:
        raise CannotRun(words)
    if status == process.BAD_USAGE and "--help says more" not in errors:
        raise DoesNotTake(words.removeprefix(f"{name}: "))
    if status != 0:
        raise RungFailed(process.explain(status, output, errors, name))
    return written(json_path, check)


def written(json_path, check):
    """What a program recorded. RungFailed if check() finds that it isn't what was requested."""
    try:
        run = recorded.parse(json_path.read_text(encoding="utf-8"))
        check(run)
    except (OSError, ValueError) as error:
        raise RungFailed(f"its JSON: {error}") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise RungFailed(f"its JSON lacks or garbles a field: {error!r}") from error
    return run


def check_run(options, name, run, form=schema.PROGRAM):
    """ValueError unless `run` is whole, verified and what was asked."""
    form(run, "")
    asked = {**options.shape, "inputs": options.inputs, "seed": options.seed, "step": name}
    problem = {**run["problem"], "step": run["step"]}
    found = {key: problem.get(key) for key in asked}
    if found != asked:
        raise ValueError(f"it ran {found}, not {asked}")


def check_timed(options, name, run, heuristics):
    """The same of a timed run, of whose ladder an earlier one has found these heuristics, or None.
    DoesNotTake if there was nothing that it could be timed beside."""
    timing = run.get("timing") if isinstance(run, dict) else None
    if isinstance(timing, dict) and "step" in timing and OTHERS.isdisjoint(timing):
        raise DoesNotTake("cuBLASLt does not take this shape: there is nothing to compare it with")
    check_run(options, name, run, schema.TIMED)
    timing, measure = run["timing"], recorded.measure_of(run)
    if timing["protocol"] != options.protocol:
        raise ValueError("timed by another protocol")
    for contender in ("step", *measure.contenders(timing)):
        seconds = timing[contender]["seconds"]
        if len(seconds) != options.rounds or max(seconds) >= 3600:
            raise ValueError(f"{options.rounds} times expected, found {seconds}")
    if not heuristic_options(options, heuristics):
        return
    if "cublaslt" not in timing:
        raise ValueError("cuBLASLt was not timed")
    found = timing["heuristics"]
    if heuristics is None:
        schema.fits(found, schema.HEURISTICS, "timing.heuristics")
        figures.check_heuristics(found, "timing.heuristics")
    elif found["winner"]["algorithm"] != heuristics["winner"]["algorithm"]:
        wanted = heuristics["winner"]["name"]
        raise ValueError(f"it timed {found['winner']['name']} beside the rung, not {wanted}")


def run_all(plan, start, finish, progress, timeout, jobs=1):
    """Runs a plan's entries in their order, so many at a time: start(entry) is a command line, and
    finish(entry, what ran) says in words how it ended, and whether no more runs of its rung are of use
    in its task."""
    waiting, running = list(plan), {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                entry = waiting.pop(0)
                running[entry] = process.Running(start(entry), timeout)
                progress.running(list(running), waiting)
            for entry in [entry for entry, one in running.items() if one.has_ended()]:
                one = running.pop(entry)
                seconds = one.seconds()
                outcome, useless = finish(entry, one)
                if useless:
                    same = (entry.task, entry.name)
                    waiting = [other for other in waiting if (other.task, other.name) != same]
                progress.finished(entry, seconds, outcome, [*running, *waiting])
            time.sleep(process.POLL_SECONDS)
    finally:
        for one in running.values():
            one.stop()
