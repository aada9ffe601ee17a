"""What the emulator said of planted bugs: written by planted.py --reports, compared by every run.

tests/planted/reports/<rung>.json holds, by the names of its bugs, what is `wrong`, the `change`, what
each fixed policy and the race detector `found` (null: was not asked), and one `report` with the
`policy` under which it came. Lines of source stand in a report without their numbers, which change,
and addresses of the host without their digits, which differ from run to run.
"""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from pathlib import Path

from tools.emulated import ROOT
from tools.planted_bugs import Hunk, Pair

REPORTS = ROOT / "tests" / "planted" / "reports"
LONGEST = 14  # lines of a report that are kept
PLACE = re.compile(r"^(\s*)(?:\S*/)?[\w.-]+\.cuh?:[0-9]+\s+", re.MULTILINE)
HOST_ADDRESS = re.compile(r"0x[0-9a-f]{9,}")  # one in shared memory has at most 8 digits
POLICY = "  under the policy"
SHORTENED = "  ..."
WRONG = "wrong"


def shown(text: str) -> list[str]:
    """The lines of a report without places, and without its end if it is long."""
    text = HOST_ADDRESS.sub("0x...", PLACE.sub(r"\1", text))
    first, *rest = [line.rstrip() for line in text.strip().splitlines()] or [""]
    behind = next((i for i, line in enumerate(rest) if line[:1] != " "), len(rest))
    lines = [first, *(line for line in rest[:behind] if not line.startswith(POLICY))]
    return lines if len(lines) <= LONGEST else [*lines[:LONGEST], SHORTENED]


def change(hunks: list[Hunk]) -> list[str]:
    """The change as a diff, with the lines that bugs.txt has around it."""
    lines = []
    for hunk in hunks:
        diff = difflib.unified_diff(hunk.before, hunk.after, n=len(hunk.before), lineterm="")
        lines += list(diff)[3:]  # without names and places
    return lines


@cache
def of_rung(rung: str) -> dict | None:
    """All that is recorded of a rung's bugs, or None."""
    path = REPORTS / f"{rung}.json"
    return json.loads(path.read_text(encoding="utf-8"))["bugs"] if path.exists() else None


def of_pair(pair: Pair) -> dict | None:
    """What is recorded of a bug in a rung: {} if the rung has reports, and none of this bug."""
    bugs = of_rung(pair.rung)
    return None if bugs is None else bugs.get(pair.bug.name, {})


def difference(recorded_bug: dict, pair: Pair, fixed: dict[str, str], texts: dict[str, str]) -> str:
    """How what was found now differs from what is recorded; empty if it does not."""
    again = f"run planted.py --reports {pair.name}"
    if not recorded_bug:
        return f"nothing is recorded: {again}"
    if recorded_bug["wrong"] != pair.bug.wrong:
        return f"bugs.txt says otherwise what is wrong: {again}"
    if recorded_bug["change"] != change(pair.bug.changes[pair.rung]):
        return f"bugs.txt changes other lines: {again}"
    for policy, kind in fixed.items():
        before = recorded_bug["found"].get(policy)
        if before != kind:
            return f"{policy} finds {kind or 'nothing'}, recorded {before or 'nothing'}: {again}"
        if policy == recorded_bug["policy"] and shown(texts[policy]) != recorded_bug["report"]:
            return f"{policy} says {shown(texts[policy])[:1]}: {again}"
    return ""


def best_policy(fixed: dict[str, str], order: tuple[str, ...]) -> str | None:
    """Whose report says most: the first that names a mistake, or else a wrong result."""
    for good in (lambda kind: kind not in ("", WRONG), bool):
        for policy in order:
            if good(fixed[policy]):
                return policy
    return None


def record_of(found, order: tuple[str, ...]) -> dict:
    """What is recorded of one pair's findings."""
    policy = best_policy(found.fixed, order)
    return {
        "wrong": found.pair.bug.wrong,
        "change": change(found.pair.bug.changes[found.pair.rung]),
        "found": {**found.fixed, "race detector": found.race},
        "policy": policy,
        "report": shown(found.texts[policy]) if policy else [],
    }


def outlived(pairs: list[Pair]) -> str:
    """The recorded bugs that bugs.txt no longer plants in their rung; empty if there are none."""
    planted = {(pair.rung, pair.bug.name) for pair in pairs}
    kept = {(path.stem, bug) for path in REPORTS.glob("*.json") for bug in of_rung(path.stem)}
    return ", ".join(" ".join(one) for one in sorted(kept - planted))


def write(findings: list, order: tuple[str, ...]) -> None:
    """Adds these findings to the files of their rungs."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    for rung in sorted({found.pair.rung for found in findings}):
        bugs = dict(of_rung(rung) or {})
        of_this = [found for found in findings if found.pair.rung == rung]
        bugs.update({found.pair.bug.name: record_of(found, order) for found in of_this})
        path = Path(REPORTS / f"{rung}.json")
        from bench.records import recorded

        recorded.write_json(path, {"kind": "planted", "rung": rung, "bugs": bugs})
    of_rung.cache_clear()
