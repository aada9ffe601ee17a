"""What the emulator said of planted bugs: written by planted.py --reports, compared by every run.

planted/reports/<rung>.json holds, by the names of its bugs, what is `wrong`, the `change`, what
each fixed policy `found`, and one `report` with the
`policy` under which it came. A report has the lines of source without their numbers, which change,
and addresses of the host without their digits, which differ from run to run.
"""

from __future__ import annotations

import difflib
import json
import re
from functools import cache
from itertools import takewhile

from tools.emulated import ROOT

from exercises.planted_bugs import Hunk, Pair, side

REPORTS = ROOT / "planted" / "reports"
LONGEST = 14  # lines of a report that are kept
PLACE = re.compile(r"^(\s*)(?:\S*/)?[\w.-]+\.cuh?:[0-9]+\s+", re.MULTILINE)
HOST_ADDRESS = re.compile(r"0x[0-9a-f]{9,}")  # one in shared memory has at most 8 digits
POLICY = "  under the policy"
# The policies in the order of how many planted bugs they find: whose report is recorded.
QUICKEST = ("lazy", "eager")


def shown(text: str) -> list[str]:
    """The lines of a report without places, and without its end if it is long."""
    text = HOST_ADDRESS.sub("0x...", PLACE.sub(r"\1", text))
    first, *rest = [line.rstrip() for line in text.strip().splitlines()] or [""]
    indented = takewhile(lambda line: line[:1] == " ", rest)
    lines = [first, *(line for line in indented if not line.startswith(POLICY))]
    return lines if len(lines) <= LONGEST else [*lines[:LONGEST], "  ..."]


def change(hunks: list[Hunk]) -> list[str]:
    """The change as a diff, with the lines that bugs.txt has around it."""
    lines: list[str] = []
    for hunk in hunks:
        before, after = side(hunk, "-"), side(hunk, "+")
        lines += list(difflib.unified_diff(before, after, n=len(before), lineterm=""))[3:]
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


def difference(recorded: dict, pair: Pair, found: dict[str, str], texts: dict[str, str]) -> str:
    """How what the policies found now differs from what is recorded; empty if it does not."""
    again = f"run planted.py --reports {pair.name}"
    if not recorded:
        return f"nothing is recorded: {again}"
    if recorded["wrong"] != pair.bug.wrong:
        return f"bugs.txt says otherwise what is wrong: {again}"
    if recorded["change"] != change(pair.hunks):
        return f"bugs.txt changes other lines: {again}"
    for policy, kind in found.items():
        before = recorded["found"].get(policy)
        if before != kind:
            return f"{policy} finds {kind or 'nothing'}, recorded {before or 'nothing'}: {again}"
        if policy == recorded["policy"] and shown(texts[policy]) != recorded["report"]:
            return f"{policy} says {shown(texts[policy])[:1]}: {again}"
    return ""


def record_of(pair: Pair, found: dict[str, str], texts: dict[str, str]) -> dict:
    """The report is the first that names a mistake, or else a wrong result."""
    telling = [policy for policy in QUICKEST if found[policy]]
    telling.sort(key=lambda policy: found[policy] == "wrong")
    return {
        "wrong": pair.bug.wrong,
        "change": change(pair.hunks),
        "found": found,
        "policy": telling[0] if telling else None,
        "report": shown(texts[telling[0]]) if telling else [],
    }


def outlived(pairs: list[Pair]) -> str:
    """The recorded bugs that bugs.txt no longer plants in their rung; empty if there are none."""
    planted = {(pair.rung, pair.bug.name) for pair in pairs}
    kept = {(path.stem, bug) for path in REPORTS.glob("*.json") for bug in of_rung(path.stem)}
    return ", ".join(" ".join(one) for one in sorted(kept - planted))


def write(pair: Pair, record: dict) -> None:
    """Adds the record of one pair to the file of its rung."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    bugs = {**(of_rung(pair.rung) or {}), pair.bug.name: record}
    content = {"kind": "planted", "rung": pair.rung, "bugs": bugs}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (REPORTS / f"{pair.rung}.json").write_text(f"{text}\n", encoding="utf-8")
    of_rung.cache_clear()
