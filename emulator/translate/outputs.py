"""What the runs found, as other programs read it: lines like GCC's, SARIF 2.1.0 and JUnit's XML."""

from __future__ import annotations

import json
import os
import re
from argparse import Namespace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from xml.etree.ElementTree import Element, SubElement, tostring

REPORT = re.compile(r"^emulator: \w+: .*\n(?:  .*\n)*", re.MULTILINE)
NAME = re.compile(r" \[([a-z-]+)(?:, allowed)?\]")  # what --allow takes
NOTE = re.compile(r"^  (\S.*)\n    (\S.*?):(\d+)(?:  .*)?$", re.MULTILINE)
NOT_KNOWN = "emulator: the emulator does not know this\n"
UNKNOWN = re.compile(rf"^(\S.*?):(\d+): (.*)\n(?=(?:\S+:\d+: .*\n)*{NOT_KNOWN})", re.MULTILINE)
FOUND, NOT_BUILT = 1, 2
BUILD = "build"  # the name of what comes before the runs


class Run(NamedTuple):
    name: str
    status: int
    output: str
    seconds: float = 0


class Finding(NamedTuple):
    rule: str  # the name of a report, or its kind
    level: str  # "error", or "warning" if the program went on
    text: str  # "hazard: a TMA store reads ... [proxy-fence]", and more lines
    place: tuple[str, str]  # a file and a line
    notes: list[tuple[str, tuple[str, str]]]


def pieces(output: str) -> list[tuple[str, str]]:
    """The reports in it and what is between them, each with what is the same in other runs that
    say it: a report's kind and lines of source, a text without its numbers."""
    found = re.split(f"({REPORT.pattern})", output, flags=re.MULTILINE)
    return [(piece, essence(piece)) for piece in found if piece.strip()]


def essence(piece: str) -> str:
    if not REPORT.match(piece):
        return re.sub(r"\d+", "0", piece)
    kind = piece[: piece.index(": ", len("emulator: "))]
    places = "".join(re.findall(r"^    (\S+:\d+)  ", piece, re.MULTILINE))
    return kind + (places or re.sub(r"0x\w+|\d+", "0", piece.splitlines()[0]))


def findings(runs: list[Run], main: str) -> dict[str, Finding]:
    """By their essence. What has no place in a file is shown in the first line of `main`."""
    found: dict[str, Finding] = {}
    for run in runs:
        reports = REPORT.findall(run.output)
        for file, line, what in UNKNOWN.findall(run.output):
            reports.append(f"emulator: unknown: {what}\n  here\n    {file}:{line}\n")
        if run.status and all(", allowed]" in report for report in reports):
            kind = BUILD if run.name == BUILD else f"status: the program ended with {run.status}"
            reports.append(f"emulator: {kind}: {run.output.strip().rpartition(chr(10))[2]}\n")
        for report in reports:
            text = report[len("emulator: ") :]
            what = text.splitlines()[0]
            rule = (NAME.findall(what) or [what.partition(":")[0]])[0]
            level = "error" if run.status and ", allowed]" not in what else "warning"
            notes = [(note, (file, line)) for note, file, line in NOTE.findall(text)]
            place = notes[0][1] if notes else (main, "1")
            found.setdefault(essence(report), Finding(rule, level, text, place, notes))
    return found


def exit_status(runs: list[Run]) -> int:
    if any(run.name == BUILD or NOT_KNOWN in run.output for run in runs):
        return NOT_BUILT
    return FOUND if any(run.status for run in runs) else 0


def gcc(runs: list[Run], main: str) -> str:
    """Without columns, as problem matchers of editors and of GitHub know it."""
    lines = []
    for one in findings(runs, main).values():
        lines.append((f"{one.level}: {one.text.splitlines()[0]}", one.place))
        lines += [(f"note: {text}", place) for text, place in one.notes]
    return "".join(f"{file}:{line}: {text}\n" for text, (file, line) in lines)


def sarif(runs: list[Run], main: str, version: str) -> str:
    """Files are relative to the repository, whichever of its folders this runs in."""
    here = Path.cwd()
    root = next((folder for folder in [here, *here.parents] if (folder / ".git").exists()), here)

    def located(text: str, place: tuple[str, str]) -> dict:
        artifact = {"uri": quote(os.path.relpath(place[0], root))}
        where = {"artifactLocation": artifact, "region": {"startLine": int(place[1])}}
        return {"physicalLocation": where, "message": {"text": text}}

    rules, results = {}, []
    for one in findings(runs, main).values():
        kind = one.text.partition(":")[0]
        rules[one.rule] = {"id": one.rule, "shortDescription": {"text": f"{kind}: {one.rule}"}}
        result = {"ruleId": one.rule, "level": one.level, "message": {"text": one.text}}
        result["locations"] = [located(kind, one.place)]
        results.append({**result, "relatedLocations": [located(*note) for note in one.notes]})
    driver = {"name": "check-kernel", "version": version, "rules": [*rules.values()]}
    ended = [{"executionSuccessful": exit_status(runs) != NOT_BUILT}]
    run = {"tool": {"driver": driver}, "invocations": ended, "results": results}
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def junit(runs: list[Run], main: str, _: str) -> str:
    """A test case for each run."""
    failures = str(sum(run.status != 0 for run in runs))
    suite = Element("testsuite", name=main, tests=str(len(runs)), failures=failures)
    for run in runs:
        case = SubElement(
            suite, "testcase", classname=main, name=run.name, time=f"{run.seconds:.3f}"
        )
        for one in [*findings([run], main).values()][-1:] if run.status else []:
            what = one.text.splitlines()[0]
            SubElement(case, "failure", type=one.rule, message=what).text = run.output
    text = tostring(suite, encoding="unicode", xml_declaration=True)
    return re.sub("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", text) + "\n"


def write(options: Namespace, runs: list[Run], main: str, version: str) -> None:
    """Each file as a whole or nothing of it."""
    for path, text_of in [(options.sarif, sarif), (options.junit, junit)]:
        if path and path.exists() and not path.is_file():
            raise OSError(f"{path} is no file")
        if path:
            draft = path.resolve().with_name(f".{path.name}.{os.getpid()}")
            draft.write_text(text_of(runs, main, version), encoding="utf-8")
            draft.replace(path.resolve())
