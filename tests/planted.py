#!/usr/bin/env python3
"""Plants the mistakes of planted/bugs.txt in copies of the rungs: the emulator finds them all.

    planted.py [--table] [WORD...]     WORD: only pairs (RUNG-BUG) with WORD in their name

The run of a user, `make step`, has to find each, unless bugs.txt says why not: then, and of what is
harmless, that run is made with FULL=1 only. Then each of some random policies has to; luck is not
enough, unless bugs.txt says so.

Without a WORD a bug that many rungs can have is planted in two of them; with --table in all.

--table writes what found what, to planted/table.md and notes/planted-bugs.md. --reports writes
what was said, of each rung to planted/reports/; the notes show it, and a run without --reports
compares. Everything runs for both: without them the runs of a copy end with the first policy that
finds the bug. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from tools import FULL, case, emulated, exit_status, in_parallel, planted_reports
from tools.emulated import BUILD, FIXED_POLICIES, JOBS, NOTHING, ROOT

from exercises.planted_bugs import (
    Bug,
    Misfit,
    Pair,
    functions,
    read_bugs,
    synchronising_calls,
)

COPIES = BUILD / "planted"
PROGRAMS = COPIES / "programs"  # their sources
# Their family of tiles, for each of which a copy takes a second to compile and another one to run:
# each way to share the work, but by four CTAs in a row.
FAMILY = COPIES / "device" / "tile_family.cuh"
TILES = """#pragma once
#define TILE_FAMILY(TILE) \\
    TILE(192, 144, BY_COLUMNS, 1, 1) \\
    TILE(128, 256, BY_ROWS, 2, 1) \\
    TILE(128, 200, PING_PONG, 1, 2) \\
    TILE(128, 64, PING_PONG, 1, 1)
#define EXCHANGED_FAMILY(TILE) \\
    TILE(64, 16, ALONE, 1, 1) \\
    TILE(128, 96, BY_ROWS, 2, 2)
"""
MOST_COPIES = 8  # in a program; with more of them, processors would idle at the end
NOTE = ROOT / "notes" / "planted-bugs.md"
WHOLE = ROOT / "planted" / "table.md"
# Runs of a copy. The first is the run of a user, at several shapes; the others are at one.
STEP = "make step"
SEEDS = [f"seed {number}" for number in range(1, 9)]
OTHERS = {"random": SEEDS}


# ---------------------------------------------------------------- what is planted where


def plant_all(bugs: list[Bug]) -> list[Pair]:
    """All pairs that fit, their copies written."""
    FAMILY.parent.mkdir(parents=True, exist_ok=True)
    write(FAMILY, TILES)
    pairs = []
    for pair in (Pair(rung, bug) for bug in bugs for rung in bug.changes):
        try:
            write(COPIES / f"{pair.name}.cu", pair.source)
            pairs.append(pair)
        except (Misfit, KeyError) as why:
            case(pair.name, f"bugs.txt does not fit the rung: {why}")
    return pairs


def write(path: Path, source: str) -> None:
    """Writes the file unless it is there already: make builds only what has changed."""
    if not path.exists() or path.read_text() != source:
        path.write_text(source)


def check_coverage(pairs: list[Pair]) -> None:
    """Every call that synchronises is part of a planted bug, so that no new rung goes without."""
    for rung in emulated.rungs():
        calls = synchronising_calls(emulated.source_of(rung))
        touched = {line for pair in pairs if pair.rung == rung for line in pair.gone}
        bare = [f"line {n} ({', '.join(calls[n])})" for n in calls if n not in touched]
        why = f"no bug in planted/bugs.txt changes {'; '.join(bare)}" if bare else ""
        case(f"{rung}: each of its {len(calls)} synchronising lines has a planted bug", why)


def check_note(bugs: list[Bug]) -> None:
    """The table has a row for every entry of bugs.txt, and the page in notes/ its name."""
    text = WHOLE.read_text() if WHOLE.exists() else ""
    missing = [bug.name for bug in bugs if f"| {bug.name}: {bug.wrong} |" not in text]
    why = f"run planted.py --table: it lacks {', '.join(missing)}" if missing else ""
    case(f"{WHOLE.relative_to(ROOT)} has a row for each entry of bugs.txt", why)
    named = sections(bugs) in NOTE.read_text()
    why = "" if named else "run planted.py --table: it has other bugs"
    case(f"{NOTE.relative_to(ROOT)} names each entry of bugs.txt", why)


def reads(pair: Pair) -> set[tuple]:
    """How the rung synchronises, line by line, and how the functions read that the bug changes."""
    source = emulated.source_of(pair.rung)
    lines, before = source.splitlines(), set(functions(source))
    return {
        tuple(lines[number - 1] for number in synchronising_calls(source)),
        tuple(function for function in functions(pair.source) if function not in before),
    }


def enough_of(pairs: list[Pair]) -> list[Pair]:
    """Of each bug, and of the rungs where it reads differently: the lowest and the highest."""
    kept = []
    for _, same in groupby(pairs, lambda pair: pair.bug.name):
        seen: set[tuple] = set()
        different = []
        for pair in same:
            alike = reads(pair)
            different += [pair] if seen.isdisjoint(alike) else []
            seen |= alike
        kept += different[:1] + different[1:][-1:]
    return kept


# ---------------------------------------------------------------- programs of several copies

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


def source_of(rung: str, pairs: list[Pair]) -> str:
    copies, calls = "", ""
    for pair in pairs:
        namespace = re.sub(r"\W", "_", pair.name)
        copies += f'namespace {namespace} {{\n#include "../{pair.name}.cu"\n}}\n'
        calls += f'    if (strcmp(copy, "{pair.name}") == 0)\n'
        calls += f"        return {namespace}::main(argc - 1, argv + 1);\n"
    includes = re.findall(r"^#include .*", emulated.source_of(rung), re.MULTILINE)
    headers = [line for line in includes if FAMILY.name not in line]  # which a copy finds beside it
    return PROGRAM.format(includes="\n".join(headers), copies=copies, calls=calls)


def programs_of(pairs: list[Pair]) -> list[tuple[str, str, list[Pair]]]:
    """(name, rung, copies) of the programs that the Makefile builds."""
    programs = []
    for rung in emulated.rungs():
        copies = [pair for pair in pairs if pair.rung == rung]
        # Of static shared memory that of the other copies would lie beside a copy's own.
        static = re.search(r"^ *__shared__ ", emulated.source_of(rung), re.MULTILINE)
        most = 1 if static else MOST_COPIES
        for first in range(0, len(copies), most):
            name = f"{rung}-{first // most + 1}"
            programs.append((name, rung, copies[first : first + most]))
    return programs


def build(names: list[str]) -> None:
    """Builds the programs; what does not build is missed when it is to run."""
    targets = [f"build/emulated/planted/{name}" for name in dict.fromkeys(names)]
    log = COPIES / "make.log"
    with log.open("w") as file:
        command = ["make", "-k", f"-j{JOBS}", *targets]
        made = subprocess.run(command, cwd=ROOT, stdout=file, stderr=file, check=False)
    if targets and made.returncode:
        print(f"make could not build everything: see {log.relative_to(ROOT)}", flush=True)


# ---------------------------------------------------------------- running


@dataclass
class Findings:
    """What the runs of a pair found."""

    pair: Pair
    program: str
    kinds: dict[str, str] = field(default_factory=dict)  # of reports, by run
    texts: dict[str, str] = field(default_factory=dict)  # what was said, by run

    def run(self, how: str) -> None:
        """`how` is a fixed policy, or one of STEP and SEEDS."""
        program = BUILD / "emulated" / "planted" / self.program
        words = [self.pair.name]
        if how != STEP:
            # More k-tiles than stages, and CTAs with several tiles: every barrier is used again;
            # unless the bug names another edge.
            shapes = emulated.shapes(emulated.source_of(self.pair.rung), FAMILY)
            shape = shapes[self.pair.bug.edge]
            policy = "random" if how in SEEDS else how
            words += emulated.arguments(shape, policy, SEEDS.index(how) + 1 if how in SEEDS else 0)
        outcome = emulated.run(program, words, self.pair.bug.card)
        self.kinds[how], self.texts[how] = outcome.kind, outcome.text

    def run_counting(self, thorough: bool) -> None:
        """The default run, if there is something for it to find; the policy of the recorded report,
        or all fixed ones; and the seeds where the default run finds nothing."""
        if thorough or FULL or not (self.pair.bug.harmless or self.pair.bug.not_by_default):
            self.run(STEP)
        recorded = (planted_reports.of_pair(self.pair) or {}).get("policy")
        for policy in FIXED_POLICIES if thorough else (recorded,) if recorded else ():
            self.run(policy)
        for seed in () if self.kinds.get(STEP) else SEEDS:
            self.run(seed)

    def of(self, runs) -> dict[str, str]:
        """The kinds found by those of these runs that were made."""
        return {how: self.kinds[how] for how in runs if how in self.kinds}

    def unexpected(self) -> str:
        """What no run of this pair should have found."""
        allowed = {NOTHING, *self.pair.bug.kinds}
        return "; ".join(
            f"{kind} ({how})" for how, kind in self.kinds.items() if kind not in allowed
        )

    def missed(self) -> str:
        """Why the bug does not count as found."""
        bug, seeds = self.pair.bug, self.of(SEEDS)
        if not self.kinds.get(STEP) and not bug.not_by_default:
            return "the default run does not find it, and bugs.txt does not say why"
        enough = any if bug.some_seeds else all
        if self.kinds.get(STEP) or (seeds and enough(seeds.values())):
            return ""
        quiet = ", ".join(seed for seed, kind in seeds.items() if not kind)
        return f"found by no default run, nor {quiet}"

    def report(self) -> None:
        harmless = self.pair.bug.harmless
        name = f"{self.pair.name} {'runs without a report' if harmless else 'is found'}"
        case(name, self.unexpected() or ("" if harmless else self.missed()))
        recorded = planted_reports.of_pair(self.pair)
        if recorded is not None:
            fixed = self.of(FIXED_POLICIES)
            why = planted_reports.difference(recorded, self.pair, fixed, self.texts)
            case(f"{self.pair.name} is reported as recorded", why)


def judge(pairs: list[Pair], thorough: bool) -> list[Findings]:
    """Builds and runs all pairs, as many at a time as there are processors."""
    programs = programs_of(pairs)
    PROGRAMS.mkdir(exist_ok=True)
    for name, rung, copies in programs:
        write(PROGRAMS / f"{name}.cu", source_of(rung, copies))
    names = {pair.name: name for name, _, copies in programs for pair in copies}
    findings = [Findings(pair, names[pair.name]) for pair in pairs]
    build([found.program for found in findings])
    list(in_parallel(lambda found: found.run_counting(thorough), findings))
    return findings


# ---------------------------------------------------------------- the table

PAGE = """# Planted bugs

One synchronization mistake at a time is planted in copies of the rungs. The [emulator](emulator.md)
has to report each. Written by `python3 tests/planted.py --table` from the list in
[bugs.txt](../planted/bugs.txt).

Every copy runs as a user runs it (`make step`, several shapes), then at one shape: under the fixed
policies {policies}. If the run of a user finds nothing, {seeds} random
seeds follow. [The whole table](../planted/table.md) says what each mistake is, in which rungs, how it
is reported, and which runs noticed nothing.

{summary}.

What looks wrong and is right isn't a bug: its runs must stay quiet.

{sections}
"""
TABLE = """# What found which planted bug

[Planted bugs](../notes/planted-bugs.md) says how they run. A row is one mistake in each of the
rungs named. "Missed by" lists the runs that noticed nothing; 1/4 is one run of four (rungs, seeds).
Rows without reports aren't bugs. Written by `python3 tests/planted.py --table`.

{table}
"""


def reports(findings: list[Findings]) -> str:
    """The kinds of reports that any run gave."""
    found = {kind for each in findings for kind in each.kinds.values()}
    return " ".join(kind for kind in emulated.KINDS if kind in found)


def missed_by(findings: list[Findings]) -> str:
    """The runs that noticed nothing, with a count where some of their kind did notice."""
    missed = []
    for who, runs in {STEP: [STEP], **{one: [one] for one in FIXED_POLICIES}, **OTHERS}.items():
        kinds = [kind for found in findings for kind in found.of(runs).values()]
        quiet = kinds.count(NOTHING)
        if quiet:
            missed.append(who if quiet == len(kinds) else f"{who} {quiet}/{len(kinds)}")
    return ", ".join(missed)


def ranges(rungs: list[str]) -> str:
    """'v02–v05 v08 v09' of rungs in any order."""
    order, parts = list(emulated.rungs()), []
    places = sorted(map(order.index, rungs))
    for _, group in groupby(enumerate(places), lambda one: (one[1] - one[0], order[one[1]][0])):
        names = [order[place] for _, place in group]
        parts += [f"{names[0]}–{names[-1]}"] if len(names) > 2 else names
    return " ".join(parts)


def table(findings: list[Findings]) -> str:
    """What found what: a row per bug, over all its rungs."""
    rows = [["mistake", "rungs", "reports", "missed by"]]
    for name in dict.fromkeys(found.pair.bug.name for found in findings):
        those = [found for found in findings if found.pair.bug.name == name]
        bug = those[0].pair.bug
        planted_in = ranges([found.pair.rung for found in those])
        missed = "" if bug.harmless else missed_by(those)
        rows.append([f"{name}: {bug.wrong}", planted_in, reports(those), missed])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def sections(bugs: list[Bug]) -> str:
    """The names of all bugs, by the sections of bugs.txt."""
    rows = ["| what goes wrong | planted as |", "|---|---|"]
    for section, those in groupby(bugs, lambda bug: bug.section):
        rows.append(f"| {section} | {', '.join(bug.name for bug in those)} |")
    return "\n".join(rows)


def summary(findings: list[Findings]) -> str:
    planted = [found for found in findings if not found.pair.bug.harmless]
    parts = [f"{len(planted)} planted bugs"]
    for policy in FIXED_POLICIES:
        if all(policy in found.kinds for found in planted):
            parts.append(f"{policy} finds {sum(bool(found.kinds[policy]) for found in planted)}")
    parts.append(f"{sum(bool(found.missed()) for found in planted)} missed")
    return "; ".join(parts)


# ---------------------------------------------------------------- main


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--reports", action="store_true")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    start = time.monotonic()
    try:
        bugs = read_bugs()
    except Misfit as why:
        case("bugs.txt is understood", str(why))
        return 1
    pairs = plant_all(bugs)
    check_coverage(pairs)
    check_note(bugs)
    outlived = planted_reports.outlived(pairs)
    case("every recorded report is of a planted bug", outlived and f"delete these: {outlived}")
    thorough = options.table or options.reports
    if options.words:
        chosen = [pair for pair in pairs if any(word in pair.name for word in options.words)]
    else:
        chosen = pairs if thorough else enough_of(pairs)
    findings = judge(chosen, thorough)
    if options.reports:
        for found in findings:
            record = planted_reports.record_of(found.pair, found.of(FIXED_POLICIES), found.texts)
            planted_reports.write(found.pair, record)
    for found in findings:
        found.report()
    if options.table:
        WHOLE.write_text(TABLE.format(table=table(findings)))
        page = PAGE.format(
            policies=", ".join(FIXED_POLICIES),
            seeds=len(SEEDS),
            summary=summary(findings),
            sections=sections(bugs),
        )
        NOTE.write_text(page)
    print(f"{summary(findings)}; {time.monotonic() - start:.0f} s")
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
