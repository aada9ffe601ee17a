"""Puts the mistakes of planted/bugs.txt into copies of the rungs, and says what the emulator finds.

    python3 -m planted.plant found       writes found.tsv: what found which bug
    python3 -m planted.plant reports     writes reports.json: what is said of the bugs that pages quote

Both collect what `make test` has left in build/planted/said/, and keep the rows of bugs that have not
run. `make test FULL=1` does the first by itself.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
BUGS = ROOT / "planted" / "bugs.txt"
REPORTS = ROOT / "planted" / "reports.json"
FOUND = ROOT / "planted" / "found.tsv"
COPIES = BUILD / "planted"
PROGRAMS = COPIES / "programs"  # their sources, of several copies each
SAID = COPIES / "said"  # a file for each copy that ran
KINDS = ("deadlock", "hazard", "race", "lifetime", "misuse", "address", "wrong")  # of reports
SEVERAL_TILES = "several tiles per CTA"  # the shape at which recorded reports come

# Calls that order something. What a rung of tomorrow calls is in here as far as one can foresee.
SYNCHRONISES = re.compile(
    r"(\b(?:mbarrier_\w+|cluster_(?:sync|arrive|wait)\w*|__sync\w+|named_barrier_\w+|fence_\w+"
    r"|wgmma_(?:fence|commit|wait)|bulk_(?:commit|wait)\w*|cp_async_(?:commit|wait)\w*"
    r"|wait_for_launch_before|launch_dependents)"
    r"|\.(?:init|arrive|arrive_tx|wait))(?:<[^<>()]+>)?\("
)


def source_of(rung: str) -> str:
    """The text of a rung."""
    return next((ROOT / "steps").glob(f"{rung}_*.cu")).read_text(encoding="utf-8")


Hunk = list[str]  # the lines of one place, marked as in a diff


def side(hunk: Hunk, mark: str) -> list[str]:
    """The lines of a hunk before the change ("-") or after it ("+")."""
    return [line[1:] for line in hunk if line[0] in (" ", mark)]


class Misfit(Exception):
    """The list of bugs is wrong, or does not fit a rung."""


def places_of(hunks: list[Hunk], text: str) -> list[int]:
    """Where each hunk begins in the text's lines; its lines must occur there once."""
    lines, found = text.splitlines(), []
    for hunk in hunks:
        before = side(hunk, "-")
        last = len(lines) - len(before)
        at = [i for i in range(last + 1) if lines[i : i + len(before)] == before]
        if len(at) != 1:
            raise Misfit(f"{len(at)} places where one was expected: {before[0].strip()} ...")
        found += at
    return found


def changed(hunks: list[Hunk], text: str) -> str:
    """The text with the hunks' changes."""
    lines = text.splitlines()
    for place, hunk in sorted(zip(places_of(hunks, text), hunks), reverse=True):
        lines[place : place + len(side(hunk, "-"))] = side(hunk, "+")
    return "\n".join(lines) + "\n"


@dataclass
class Bug:
    name: str
    harmless: bool
    wrong: str = ""  # for a harmless one: why it is
    kinds: list[str] = field(default_factory=list)
    card: str = ""  # the compute capability that it runs on; empty: the emulator's own
    section: str = ""  # of bugs.txt
    changes: dict[str, list[Hunk]] = field(default_factory=dict)  # by rung


# The fields that a line of bugs.txt sets, by its first words.
TEXTS = {"wrong": "wrong", "because": "wrong", "on": "card"}


def parse(text: str) -> list[Bug]:
    bugs: list[Bug] = []
    hunks: list[Hunk] = []  # of the change that is being read
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        word, _, rest = (part.strip() for part in line.partition(":"))
        if line.startswith("# ---"):
            section = line.lstrip("# -")
        if line.startswith("#") or (line == "" and not hunks):
            continue
        if line == "" or (line[0] in " +-" and hunks):
            hunks[-1].append(line or " ")
        elif line == "...":
            hunks.append([])
        elif word in ("bug", "harmless"):
            bugs.append(Bug(rest, word == "harmless", section=section))
            hunks = []
        elif word == "in":
            hunks = [[]]
            bugs[-1].changes.update(dict.fromkeys(rest.split(), hunks))
        elif word == "found as" and set(rest.split()) <= set(KINDS):
            bugs[-1].kinds = rest.split()
        elif word in TEXTS:
            setattr(bugs[-1], TEXTS[word], rest)
        else:
            raise Misfit(f"{BUGS.name}:{number}: not understood: {line}")
    return bugs


def read_bugs() -> list[Bug]:
    bugs = parse(BUGS.read_text())
    if len({bug.name for bug in bugs}) < len(bugs):
        raise Misfit("two bugs have the same name")
    for bug in bugs:
        if not (bug.wrong and bug.changes and (bug.harmless or bug.kinds)):
            raise Misfit(f"{bug.name}: something is missing")
        for hunk in (hunk for hunks in bug.changes.values() for hunk in hunks):
            while hunk[-1:] == [" "]:  # the empty lines between two bugs belong to neither
                hunk.pop()
            if all(line[0] == " " for line in hunk):
                raise Misfit(f"{bug.name}: a place where nothing changes")
    return bugs


@dataclass(frozen=True)
class Pair:
    """A rung with a bug in it."""

    rung: str
    bug: Bug

    @property
    def name(self) -> str:
        return f"{self.rung}-{self.bug.name}"

    @property
    def hunks(self) -> list[Hunk]:
        return self.bug.changes[self.rung]

    @cached_property
    def places(self) -> list[int]:
        return places_of(self.hunks, source_of(self.rung))

    @property
    def source(self) -> str:
        """The changed rung."""
        return changed(self.hunks, source_of(self.rung))

    @cached_property
    def misfit(self) -> str:
        """Why the bug does not fit the rung; empty if it does."""
        try:
            return "" if self.places else "it changes nothing"
        except (Misfit, StopIteration) as why:
            return f"{self.name}: {why}"

    @property
    def gone(self) -> set[int]:
        """The numbers of the rung's lines that the change removes."""
        gone = set()
        for place, hunk in zip(self.places, self.hunks):
            before = [line for line in hunk if line[0] != "+"]
            gone |= {place + i for i, line in enumerate(before, 1) if line[0] == "-"}
        return gone


def synchronising_calls(source: str) -> dict[int, list[str]]:
    """The functions that synchronise, by the lines that call them."""
    lines = enumerate(source.splitlines(), 1)
    found = {number: SYNCHRONISES.findall(line.partition("//")[0]) for number, line in lines}
    return {n: [name.lstrip(".") for name in names] for n, names in found.items() if names}


def functions(source: str) -> list[str]:
    """The source in pieces that end where a function or a struct does, without comments."""
    code = re.sub(r"//.*", "", source)
    return [" ".join(piece.split()) for piece in re.split(r"^};?$", code, flags=re.MULTILINE)]


# ---------------------------------------------------------------- which pairs


def read_reports() -> list[dict]:
    return json.loads(REPORTS.read_text(encoding="utf-8")) if REPORTS.exists() else []


def quoted() -> set[tuple[str, str]]:
    """(rung, bug) of the reports that pages show."""
    pages = [ROOT / "README.md", *(ROOT / "notes").rglob("*.md")]
    texts = "".join(page.read_text(encoding="utf-8") for page in pages)
    return {*re.findall(r"<!-- hazard (\w+) ([\w-]+) -->", texts)}


def reads(pair: Pair) -> set[tuple]:
    """How the rung synchronises, line by line, and how the functions read that the bug changes."""
    source = source_of(pair.rung)
    lines, before = source.splitlines(), set(functions(source))
    return {
        tuple(lines[number - 1] for number in synchronising_calls(source)),
        tuple(function for function in functions(pair.source) if function not in before),
    }


def chosen(full: bool, wanted: set[tuple[str, str]]) -> list[Pair]:
    """Each bug in one rung, and in those of `wanted`, (rung, bug). In full: of the rungs where it
    reads differently the lowest and the highest."""
    pairs = []
    for bug in read_bugs():
        different, seen = [], set()
        for pair in (Pair(rung, bug) for rung in bug.changes):
            if pair.misfit:
                continue
            alike = reads(pair) if full else {()}
            first, seen = seen.isdisjoint(alike), seen | alike
            different += [pair] if first else []
        kept = [pair.rung for pair in (*different[:1], *different[1:][-1:])]
        kept += [rung for rung in bug.changes if (rung, bug.name) in wanted]
        pairs += [
            pair for rung in bug.changes if not (pair := Pair(rung, bug)).misfit and rung in kept
        ]
    return pairs


# ---------------------------------------------------------------- programs of several copies

MOST_COPIES = 8  # in a program; with more of them, processors would idle at the end

# Compilers take longer to read a copy's headers than to compile it: a program holds several copies
# of a rung. The headers come first, outside of the namespaces: those of the copies are skipped then.
PROGRAM = """// Copies of a rung, each in a namespace; the first argument names the one that runs.
{includes}
#include <stdio.h>
#include <string.h>

{copies}
int main(int argc, char **argv) {{
    const char *copy = argc > 1 ? argv[1] : "none";
{calls}    fprintf(stderr, "the first argument names a copy, and there is no %s\\n", copy);
    return 2;
}}
"""


def write(path: Path, source: str) -> None:
    """Writes the file unless it is there already: make builds only what has changed."""
    if not path.exists() or path.read_text() != source:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)


def program_source(rung: str, paths: list[Path]) -> str:
    copies, calls = "", ""
    for path in paths:
        name, namespace = path.stem, re.sub(r"\W", "_", path.stem)
        copies += f'namespace {namespace} {{\n#include "../{path.parent.name}/{path.name}"\n}}\n'
        calls += f'    if (strcmp(copy, "{name}") == 0)\n'
        calls += f"        return {namespace}::main(argc - 1, argv + 1);\n"
    includes = re.findall(r"^#include .*", source_of(rung), re.MULTILINE)
    return PROGRAM.format(includes="\n".join(includes), copies=copies, calls=calls)


def write_programs(copies: dict[str, tuple[str, str]], kind: str = "bug") -> dict[str, str]:
    """Writes what make builds of (rung, text of the copy) by names; returns the program of each."""
    folder, programs = COPIES / kind, {}
    by_rung = sorted(copies, key=lambda name: copies[name][0])
    for rung, same in groupby(by_rung, lambda name: copies[name][0]):
        names = list(same)
        # Of static shared memory, and of what runs before main, the other copies' would be there too.
        alone = any(
            re.search(
                r"^ *__shared__ |^static const \w+ \w+ = \w+\(\);", copies[name][1], re.MULTILINE
            )
            for name in names
        )
        most = 1 if alone else MOST_COPIES
        for first in range(0, len(names), most):
            program, those = f"{kind}-{rung}-{first // most + 1}", names[first : first + most]
            paths = [folder / f"{name}.cu" for name in those]
            for name, path in zip(those, paths):
                write(path, copies[name][1])
            write(PROGRAMS / f"{program}.cu", program_source(rung, paths))
            programs.update(dict.fromkeys(those, program))
    return programs


# ---------------------------------------------------------------- what is found and said

LONGEST = 14  # lines of a report that are kept
PLACE = re.compile(r"^(\s*)(?:\S*/)?[\w.-]+\.cuh?:[0-9]+\s+", re.MULTILINE)
HOST_ADDRESS = re.compile(r"0x[0-9a-f]{9,}")  # one in shared memory has at most 8 digits
ORDER = re.compile(r"^  under the policy (\w+(?: with seed \d+)?)(?:, at (.*))?$", re.MULTILINE)
PROBLEM = re.compile(r"^problem    m=(\d+) n=(\d+)(?: k=(\d+))?", re.MULTILINE)
POLICY = re.compile(r"^polic(?:y|ies) +(.*)$", re.MULTILINE)  # of a wrong result
COLUMNS = ("bug", "rung", "found as", "shape", "order")


def shown(text: str) -> list[str]:
    """The lines of a report without places in files, and without its end if it is long."""
    text = HOST_ADDRESS.sub("0x...", PLACE.sub(r"\1", ORDER.sub("", text)))
    first, *rest = [line.rstrip() for line in text.strip().splitlines()] or [""]
    lines = [first, *takewhile(lambda line: line[:1] == " ", rest)]
    return lines if len(lines) <= LONGEST else [*lines[:LONGEST], "  ..."]


def change(hunks: list[Hunk]) -> list[str]:
    """The change as a diff, with the lines that bugs.txt has around it."""
    lines: list[str] = []
    for hunk in hunks:
        before, after = side(hunk, "-"), side(hunk, "+")
        lines += list(difflib.unified_diff(before, after, n=len(before), lineterm=""))[3:]
    return lines


def found_row(pair: Pair, kind: str, text: str) -> list[str]:
    """A row of found.tsv: where the first run that found it stopped."""
    order, shape = (ORDER.findall(text) or [("", "")])[-1]
    if problem := PROBLEM.search(text):
        shape = " ".join(f"--{name} {n}" for name, n in zip("mnk", problem.groups()) if n)
        order = ", ".join(POLICY.findall(text))
    return [pair.bug.name, pair.rung, kind, shape, order]


def report_row(pair: Pair, found: dict[str, str], texts: dict[str, str]) -> dict:
    """A row of reports.json: of the policies' reports one that names a mistake, or else a wrong
    result."""
    telling = sorted(
        (one for one in reversed(list(found)) if found[one]), key=lambda one: found[one] == "wrong"
    )
    return {
        "rung": pair.rung,
        "bug": pair.bug.name,
        "wrong": pair.bug.wrong,
        "change": change(pair.hunks),
        "found": found,
        "policy": telling[0] if telling else None,
        "report": shown(texts[telling[0]]) if telling else [],
    }


def say(kind: str, pair: Pair, row: list[str] | dict) -> None:
    """Leaves a row where `found` and `reports` collect it."""
    path = SAID / kind / f"{pair.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(row))


def read_found() -> list[list[str]]:
    lines = FOUND.read_text(encoding="utf-8").splitlines() if FOUND.exists() else [""]
    return [line.split("\t") for line in lines[1:]]


def collect(kind: str) -> None:
    order = [(bug.name, rung) for bug in read_bugs() for rung in bug.changes]
    if kind == "found":
        rows = {(row[0], row[1]): row for row in read_found()}
    else:
        rows = {(row["bug"], row["rung"]): row for row in read_reports()}
    for bug, rung in order:
        path = SAID / kind / f"{rung}-{bug}.json"
        if path.exists():
            rows[bug, rung] = json.loads(path.read_text())
    kept = [rows[pair] for pair in order if pair in rows]
    if kind == "found":
        FOUND.write_text("".join("\t".join(row) + "\n" for row in (COLUMNS, *kept)))
    else:
        text = json.dumps(kept, indent=1, ensure_ascii=False)
        REPORTS.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] not in (["found"], ["reports"]):
        sys.exit("say found or reports")
    collect(sys.argv[1])
