#!/usr/bin/env python3
"""A recorded file that is cut short, foreign or edited by hand is refused, with its name and field.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"

from tools import made_sweeps
from tools.fake_rungs import House, refused, require, run_cases, same

from bench.records import recorded

# What is edited -> the field that the error names, if that is another one. A path of keys and
# indices, and the new value; GONE takes the field away.
GONE = object()
LADDER_EDITS = (
    ("schema", 7, None),
    ("kind", "leader", "kind is 'leader'"),
    ("gpu", GONE, None),
    ("gpu.name", "", None),
    ("gpu.name", "NVIDIA\x1b[31m", None),
    ("gpu.name", "a" * 101, None),
    ("gpu.sms", 131, "rungs[0].passes[0].gpu"),
    ("commit", "fffffff", "rungs[0].passes[0].commit"),
    ("commit", "fffffg1", None),
    ("commit", "ffffff", None),
    ("commit", "f" * 41, None),
    ("commit", "abc1234+", None),
    ("date", "yesterday", None),
    ("date", "2026-02-30T12:00:00Z", None),
    ("date", "2026-01-31T24:00:00Z", None),
    ("protocol", "quick", None),
    ("protocol", "sustained", "rungs[0].passes[0].timing.protocol"),
    ("problem.m", 4096, "rungs[0].passes[0].problem.m"),
    ("problem.k", GONE, "device_copy: is missing"),
    ("problem.seed", True, None),
    ("passes", 9, "rungs[0].passes"),
    ("rounds", 0, None),
    ("interrupted", 0, None),
    ("re\nmark", 1, "re\\nmark: is no field"),
    ("rungs", [], None),
    ("rungs.1.step", "v1", "rungs[1].step"),
    ("rungs.1.step", "v01", "rungs: not in order"),
    ("rungs.0.timing.flop", 1, "rungs[0].timing.flop"),
    ("rungs.3.timing.step.seconds.2", 0.001, "rungs[3].timing.step.seconds"),
    ("rungs.3.timing.step.seconds.2", "fast", "rungs[3].timing.step.seconds[2]"),
    ("rungs.3.timing.step.seconds.2", 10**400, "too large"),
    ("rungs.3.timing.step.watts", 650.0, "rungs[3].timing.step.watts"),
    ("rungs.3.passes.0.verification.verified", False, "passes[0].verification.verified"),
    ("rungs.3.passes.0.timing.step.seconds.0", 1e-4, "rungs[3].timing.step.seconds"),
    ("cublas", GONE, None),
    ("cublas.seconds", [0.001], None),
    ("neighbours.0.upper", "v99", "neighbours[0]"),
)
COUNTERS_EDITS = (
    ("metrics", [], None),
    ("ncu", 3, None),
    ("steps.0.kernel", "nvjet", "steps[0].kernel"),
    ("steps.0.cublas", GONE, "steps[0].cublas"),
    ("steps.0.counters.remark", 1, "steps[0].counters"),
    ("steps.0.counters", {"a": -1}, "steps[0].counters"),
)
SWEEP_EDITS = (
    ("schema", 2, None),
    ("sizes", GONE, None),
    ("points", [], None),
    ("points.0.m", 0, "points[0].m"),
    ("points.0.seconds.step", [1.0], "points[0].seconds.step"),
    ("points.0.seconds.cublas", GONE, "points[0].seconds.cublas"),
    ("points.1.winner.name", "", "points[1].winner.name"),
    ("points.1.digest", "12", "points[1].digest"),
    ("points.2", {"m": 9997, "n": 3864, "k": 24, "failed": "why"}, "points: a shape stands there"),
    ("points.3", {"m": 1, "n": 1, "k": 1}, "points[3].copies"),
)
RUNG = "ladders.0.rungs.1."
RUN_EDITS = (
    ("schema", 1, None),
    ("gpu", GONE, None),
    ("gpu.card", 7, None),
    ("gpu_processes.looked", "yes", None),
    ("gpu_processes.found", [{"pid": 1}], "gpu_processes.found[0]"),
    ("remark", "mine", None),
    ("without_result", [{"track": "v"}], "without_result[0].protocol"),
    ("ladders", [], None),
    ("ladders.0.protocol", "both", "ladders[0].protocol"),
    ("ladders.0.gpu", {}, "ladders[0].gpu"),
    ("ladders.0.gated", 1, "ladders[0].gated"),
    ("ladders.0.early", {}, "ladders[0].early"),  # it is the rung's own
    ("ladders.0.problem.m", 512, "ladders[0].rungs[0].timing.flop"),
    ("ladders.0.problem.k", GONE, "ladders[0].device_copy"),
    ("ladders.0.passes", 4, "ladders[0].rungs[0].passes: holds 3, not 4"),
    ("ladders.0.rounds", 3, "ladders[0].rungs[0].timing.step.seconds: holds 6, not 9"),
    ("ladders.0.cublas.tflops.low", 9.0, "ladders[0].cublas.tflops.low"),
    ("ladders.0.cublas.watts", 9.0, "ladders[0].cublas.watts"),
    ("ladders.0.cublaslt", GONE, "ladders[0].cublaslt: is missing"),
    ("ladders.0.heuristics.winner.seconds", 9.5, "ladders[0].heuristics.winner"),
    ("ladders.0.heuristics.winner.algorithm", "12", "ladders[0].heuristics.winner.algorithm"),
    ("ladders.0.heuristics.returned", 63, "ladders[0].heuristics.timed: holds 64 of 63"),
    ("ladders.0.heuristics.timed.1.number", 0, "ladders[0].heuristics.timed: one stands there"),
    ("ladders.0.heuristics.asked", GONE, "ladders[0].heuristics.asked: is missing"),
    (RUNG + "passes.0.step.sm_clock_ghz", 9, "rungs[1].timing.step.sm_clock_ghz"),
    (RUNG + "passes.0.cublas", GONE, "ladders[0].rungs[1].passes[0].cublas"),
    (RUNG + "passes.0.early", GONE, "early: is missing in a pass"),
    (RUNG + "timing.step.seconds.0", 9, "rungs[1].timing.step.tflops.median"),
    (RUNG + "timing.early.seconds.0", 9, "rungs[1].timing.early.tflops"),
    (RUNG + "timing.step.remark", 9, "rungs[1].timing.step.remark"),
    (RUNG + "timing.ratio_to_cublaslt", GONE, "timing.ratio_to_cublaslt: is missing"),
    (RUNG + "timing.ratio_to_cublas.high", 1.5, "timing.ratio_to_cublas.high"),
    (RUNG + "timing.ratio_to_cublas.samples", 1.5, "ratio_to_cublas.samples: holds no list"),
    (RUNG + "timing.ratio_to_cublas.samples.0", 1.5, "timing.ratio_to_cublas.samples[0]"),
    (RUNG + "timing.ratio_to_cublas.pass_medians.1", 1.2, "ratio_to_cublas.pass_medians[1]"),
    (RUNG + "timing.ratio_to_early", 1, "timing.ratio_to_early: not as"),
    (RUNG + "verification.digest", "0x12", "rungs[1].verification.digest"),
    ("ladders.0.does_not_take.0.why", "", "ladders[0].does_not_take[0].why"),
    ("ladders.0.wide_spread.steps.v01", GONE, "ladders[0].wide_spread.steps.v01"),
    ("ladders.0.wide_spread.steps.v02", 1.2, "ladders[0].wide_spread.steps.v02"),
    ("ladders.0.wide_spread.limit", 2.0, "ladders[0].wide_spread.limit"),
    ("ladders.1.neighbours.0.paired_ratio", 2.0, "ladders[1].neighbours[0].paired_ratio"),
    ("ladders.1.neighbours.0.faster", False, "ladders[1].neighbours[0].faster"),
    ("ladders.1.rungs.2", {"step": "t02", "failed": "so", "passes": []}, "t02 has no k"),
)
PROTOCOL_EDITS = (  # of a run by all three
    ("ladders.1.cublas.clock_limits.power", 0.9, "cublas.clock_limits.power"),
    ("ladders.1.cublas.clock_limits", GONE, "cublas.clock_limits: is missing"),
    ("ladders.1.rungs.0.passes.0.step.clock_limits", {"heat": 1}, "passes[0].step.clock_limits"),
    ("ladders.2.rungs.0.timing.step.before_seconds", 2, "timing.step.before_seconds"),
    ("ladders.2.rungs.0.passes.0.cublas.before_seconds", "1 s", "cublas.before_seconds"),
)
VERIFICATION_EDITS = (  # of a run by real programs
    ("exact.wrong", 5),
    ("exact.wrong", None),
    ("exact.checked", 0),
    ("bounded.max_error_over_bound", 1.5),
    ("bounded.relative_error", -0.1),
    ("cublas.relative_error", "0"),
    ("after_timing.right", 1),
    ("cublas.exact_wrong", 1),
    ("cublas.bounded_wrong", True),
    ("guards_intact", False),
    ("check", "none"),
    ("wrong_policy", "lazy"),
    ("remark", "mine"),
)


def edited(record, path, value):
    """A copy of the record with another value there."""
    record = copy.deepcopy(record)
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    inner = record
    for key in way:
        inner = inner[key]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return record


def refused_text(path, text, words=""):
    """A file with that text is refused, in one line that names it and has these words."""
    path.write_text(text)
    message = refused(words, recorded.load_record, path)
    require(message.startswith(f"{path}: "), message)


def check_edits(record, edits, folder):
    """Each edit alone is refused, and the field is named."""
    for index, (field, value, named) in enumerate(edits):
        path = Path(folder) / f"{index}.json"
        refused_text(path, json.dumps(edited(record, field, value)), named or field)


def newest_of(words, kind):
    """The last recorded file of that kind with these words in its name."""
    paths = RESULTS.rglob(f"*{words}*.json")
    return max(path for path in paths if recorded.load_record(path)["kind"] == kind)


def edits_of_old_records(folder):
    """A ladder of schema 1, or counters, edited by hand is refused, and the field named."""
    for words, kind, edits in (
        ("8192x8192x8192-burst-2026", "ladder", LADDER_EDITS),
        ("x8192-counters", "counters", COUNTERS_EDITS),
    ):
        check_edits(recorded.load_record(newest_of(words, kind)), edits, folder)


def edits_of_run(folder):
    """A run of several ladders that was edited by hand is refused, and the field named."""
    house = House(
        folder,
        v01={"noise": 0.02},
        v02={"cublaslt": 1.2, "speed": 1.1, "early": 1.2},
        v03={"multiple": 512},
    )
    house.ladder("--sizes", "256,512")
    recorded.load_record(house.out)
    check_edits(house.record(), RUN_EDITS, folder)
    path = Path(folder) / "with.json"  # a digest may be there, and there was none at first
    digest = "ladders.0.rungs.0.verification.digest"
    path.write_text(json.dumps(edited(house.record(), digest, "0x0123456789abcdef")))
    recorded.load_record(path)
    ladders = []
    for protocol in recorded.PROTOCOLS:
        house.ladder("--steps", "v02", "--protocol", protocol)
        ladders += house.record()["ladders"]
    check_edits(dict(house.record(), ladders=ladders), PROTOCOL_EDITS, folder)


def edits_of_verification(folder):
    """What a record says of its check has to agree with `verified`; a commit has to be one."""
    record = recorded.load_record(newest_of("8192x8192x8192-burst-2026", "run"))
    of_rung = "ladders.0.rungs.0.verification."
    rows = [(of_rung + field, value, f"n.{field}") for field, value in VERIFICATION_EDITS]
    check_edits(record, rows, folder)
    path = Path(folder) / "good.json"
    for commit in ("unknown", "a" * 40, "abc1234+dirty"):
        path.write_text(json.dumps(edited(record, "commit", commit)))
        same(recorded.load_record(path)["commit"], commit)


def cut_short(folder):
    """A file that is cut short anywhere is refused, and the line named."""
    text = newest_of("8192x8192x8192-burst-2026", "ladder").read_text()
    for index, length in enumerate((0, 1, 100, len(text) // 2, len(text) - 3)):
        path = Path(folder) / f"{index}.json"
        refused_text(path, text[:length], "cut short or damaged at line")


def foreign(folder):
    """JSON of another kind, and what is no JSON, is refused."""
    texts = ("null", "[]", "3", '"ladder"', '{"kind": "step", "schema": 1}', '{"name": "x"}')
    for index, text in enumerate(texts):
        refused_text(Path(folder) / f"{index}.json", text, "not a recorded ladder")
    deep = ("[" * 100_000, '{"a": ' * 100_000, "[" * 900 + "]" * 900)
    twice = ('{"kind": "run", "kind": "run"}', '{"kind": "run", "gpu": {"a": 1, "a": 1}}')
    bad = ('{"kind": NaN}', "# notes", "\x00\x01", *deep, *twice)
    for index, text in enumerate(bad):
        refused_text(Path(folder) / f"not-{index}.json", text)
    refused("missing.json: No such file", recorded.load_record, Path(folder) / "missing.json")


def unchanged(folder):
    """What is recorded comes through writing and reading as it was."""
    path = Path(folder) / "same.json"
    for original in RESULTS.glob("*.json"):
        record = json.loads(original.read_text())
        recorded.write_json(path, record)
        same(json.loads(path.read_text()), record)


def edits_of_sweep(folder):
    """A sweep has times of all rounds of each shape, once."""
    check_edits(made_sweeps.sweep("any:1:3,8192"), SWEEP_EDITS, folder)


TESTS = (edits_of_old_records, edits_of_run, edits_of_verification, edits_of_sweep)
TESTS += (cut_short, foreign, unchanged)

if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("schema", TESTS))
