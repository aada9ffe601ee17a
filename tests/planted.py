#!/usr/bin/env python3
"""Plants the mistakes of tests/planted/bugs.txt in copies of the rungs: the emulator finds them all.

    planted.py [--table FILE] [WORD...]     WORD: only pairs (RUNG-BUG) with WORD in their name

The run of a user, `make step`, has to find each, unless bugs.txt says why not. Then the race detector
has to, or each of some random policies; luck is not enough, unless bugs.txt says so. The race detector
also runs where bugs.txt says that it must find it by itself.

Without a WORD a bug that many rungs can have is planted in a few of them; with --table in all.

--table FILE writes what found what, as a page of notes/. --reports writes what was said, of each
rung to tests/planted/reports/; the notes show it, and a run without --reports compares. Everything
runs for both: without them the runs of a copy end with the first policy that finds the bug. Prints
one line per case; exits 1 if any failed.

Compilers take longer to read a copy's headers than to compile it, so that a program holds several
copies of a rung.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tools import emulated, planted_reports
from tools.emulated import (
    BUILD,
    FIXED_POLICIES,
    JOBS,
    NO_RACE_DETECTOR,
    NOTHING,
    ROOT,
    Outcome,
    Shape,
    case,
    skip,
)
from tools.planted_bugs import (
    Bug,
    Misfit,
    Pair,
    functions,
    plant,
    read_bugs,
    synchronising_calls,
)

COPIES = BUILD / "planted"
PROGRAMS = COPIES / "programs"  # their sources
MOST_COPIES = 8  # in a program; with more of them, processors would idle at the end
NOTE = ROOT / "notes" / "planted-bugs.md"
SEEDS = range(1, 9)
MOST_RUNGS = 3  # that a bug is planted in by a plain run, of those where it reads differently
# The policies in the order of how many planted bugs they find, for the reports.
QUICKEST = ("lazy", "late-reads", "newest-first", "eager", "late-loads")


# ---------------------------------------------------------------- running


@dataclass(frozen=True)
class Program:
    """Copies of one rung, as the Makefile builds them together."""

    name: str
    pairs: tuple[Pair, ...]

    def path(self, build: str) -> Path:
        """`build` is emulated or races."""
        return BUILD / build / "planted" / self.name


@dataclass
class Findings:
    """What the runs of a pair found, as kinds of reports."""

    pair: Pair
    program: Program
    default: str = NOTHING  # what the run of `make step` found
    fixed: dict[str, str] = field(default_factory=dict)  # by policy
    seeds: dict[int, str] = field(default_factory=dict)
    race: str | None = None  # None: was not asked
    texts: dict[str, str] = field(default_factory=dict)  # what was said, by policy

    def by_kind(self) -> dict[str, list[str]]:
        """Which runs found what."""
        runs = [("the default run", self.default), *self.fixed.items()]
        runs += [(f"seed {seed}", kind) for seed, kind in self.seeds.items()]
        runs += [("the race detector", self.race or NOTHING)]
        found: dict[str, list[str]] = {}
        for how, kind in runs:
            found.setdefault(kind, []).append(how)
        return found

    def unexpected(self) -> str:
        """What no run of this pair should have found."""
        allowed = {NOTHING, *self.pair.bug.kinds}
        if not self.pair.bug.harmless:
            allowed.add("race")
        found = {kind: how for kind, how in self.by_kind().items() if kind not in allowed}
        return "; ".join(f"{kind} ({', '.join(how)})" for kind, how in found.items())

    def missed(self) -> str:
        """Why the bug does not count as found."""
        if self.pair.bug.must_race and self.race != "race":
            return "the race detector did not find it"
        if not self.default and not self.pair.bug.not_by_default:
            return "the default run does not find it, and bugs.txt does not say why"
        enough = any if self.pair.bug.some_seeds else all
        if self.default or self.race or (self.seeds and enough(self.seeds.values())):
            return ""
        seeds = " ".join(str(seed) for seed, kind in self.seeds.items() if not kind)
        return f"found by no default run, nor the race detector, nor the seeds {seeds}"

    def why(self) -> str:
        return self.unexpected() or ("" if self.pair.bug.harmless else self.missed())


def shape_of(pair: Pair) -> Shape:
    """More k-tiles than stages, and CTAs with several tiles: every barrier is used again; unless
    the bug names another edge."""
    return emulated.shapes(emulated.rungs()[pair.rung].read_text())[pair.bug.edge]


def run_once(found: Findings, build: str, policy: str, seed: int = 0) -> Outcome:
    """One run of the copy; `build` is emulated or races."""
    program, pair = found.program.path(build), found.pair
    return emulated.run(program, shape_of(pair), policy, seed, copy=pair.name)


def run_counting(found: Findings, thorough: bool) -> None:
    """The default run; one that has a recorded report, or all fixed policies; and the seeds, or only
    where the default run finds nothing."""
    program, pair = found.program.path("emulated"), found.pair
    found.default = emulated.run(program, None, "", copy=pair.name).kind
    recorded = (planted_reports.of_pair(pair) or {}).get("policy")
    for policy in FIXED_POLICIES if thorough else (recorded,) if recorded else ():
        outcome = run_once(found, "emulated", policy)
        found.fixed[policy], found.texts[policy] = outcome.kind, outcome.text
    for seed in SEEDS if thorough or not found.default else ():
        found.seeds[seed] = run_once(found, "emulated", "random", seed).kind


def run_race(found: Findings) -> None:
    found.race = run_once(found, "races", "eager").kind


def needs_race(found: Findings) -> bool:
    bug = found.pair.bug
    return bug.harmless or bug.must_race or not found.default


# ---------------------------------------------------------------- making the copies


def write(path: Path, source: str) -> None:
    """Writes the file unless it is there already: make builds only what has changed."""
    if not path.exists() or path.read_text() != source:
        path.write_text(source)


def plant_all(bugs: list[Bug]) -> tuple[list[Pair], dict[str, set[int]]]:
    """All pairs that fit, their copies written, and the lines that some bug changes, by rung."""
    COPIES.mkdir(parents=True, exist_ok=True)
    sources = {rung: file.read_text() for rung, file in emulated.rungs().items()}
    touched: dict[str, set[int]] = {rung: set() for rung in sources}
    pairs = []
    for bug in bugs:
        for rung, hunks in bug.changes.items():
            pair = Pair(rung, bug)
            try:
                source, gone = plant(sources[rung], hunks)
            except (Misfit, KeyError) as why:
                case(pair.name, f"bugs.txt does not fit the rung: {why}")
                continue
            write(COPIES / f"{pair.name}.cu", source)
            touched[rung] |= gone
            pairs.append(pair)
    return pairs, touched


def check_coverage(touched: dict[str, set[int]]) -> None:
    """Every call that synchronises is part of a planted bug, so that no new rung goes without."""
    for rung, file in emulated.rungs().items():
        calls = synchronising_calls(file.read_text())
        bare = [f"line {n} ({', '.join(calls[n])})" for n in calls if n not in touched[rung]]
        why = f"no bug in tests/planted/bugs.txt changes {'; '.join(bare)}" if bare else ""
        case(f"{rung}: each of its {len(calls)} synchronising lines has a planted bug", why)


def changed_functions(pair: Pair) -> tuple[str, ...]:
    """The functions of a copy that are not the rung's."""
    before = set(functions(emulated.rungs()[pair.rung].read_text()))
    after = functions((COPIES / f"{pair.name}.cu").read_text())
    return tuple(function for function in after if function not in before)


def without_repetitions(pairs: list[Pair]) -> list[Pair]:
    """Of rungs that synchronise by the same lines in the same order, or have the same functions where
    a bug is, the first is enough for it."""
    seen: set[tuple] = set()
    kept = []
    for pair in pairs:
        source = emulated.rungs()[pair.rung].read_text()
        lines = source.splitlines()
        calls = tuple(lines[number - 1] for number in synchronising_calls(source))
        alike = {(pair.bug.name, calls), (pair.bug.name, changed_functions(pair))}
        if seen.isdisjoint(alike):
            kept.append(pair)
        seen |= alike
    return kept


def first_last_and_between(pairs: list[Pair]) -> list[Pair]:
    """Of each bug those in the lowest rung, in the highest and in some between."""
    of_bug: dict[str, list[Pair]] = {}
    for pair in pairs:
        of_bug.setdefault(pair.bug.name, []).append(pair)
    kept = set()
    for same in of_bug.values():
        most = min(MOST_RUNGS, len(same))
        kept |= {same[i * (len(same) - 1) // max(most - 1, 1)].name for i in range(most)}
    return [pair for pair in pairs if pair.name in kept]


def copies_per_program(rung: str) -> int:
    """One, if its shared memory is static: that of the other copies would lie beside it."""
    source = emulated.rungs()[rung].read_text()
    return 1 if re.search(r"^ *__shared__ ", source, re.MULTILINE) else MOST_COPIES


def programs_of(pairs: list[Pair]) -> list[Program]:
    """The copies, put together."""
    by_rung: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_rung.setdefault(pair.rung, []).append(pair)
    programs = []
    for rung, copies in by_rung.items():
        most = copies_per_program(rung)
        for first in range(0, len(copies), most):
            name = f"{rung}-{first // most + 1}"
            programs.append(Program(name, tuple(copies[first : first + most])))
    return programs


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


def source_of(program: Program) -> str:
    """The headers come first, outside of the namespaces: those of the copies are skipped then."""
    rung = emulated.rungs()[program.pairs[0].rung].read_text()
    copies, calls = "", ""
    for pair in program.pairs:
        namespace = re.sub(r"\W", "_", pair.name)
        copies += f'namespace {namespace} {{\n#include "../{pair.name}.cu"\n}}\n'
        calls += f'    if (strcmp(copy, "{pair.name}") == 0)\n'
        calls += f"        return {namespace}::main(argc - 1, argv + 1);\n"
    return PROGRAM.format(
        includes="\n".join(re.findall(r"^#include .*", rung, re.MULTILINE)),
        copies=copies,
        calls=calls,
    )


def write_programs(programs: list[Program]) -> None:
    PROGRAMS.mkdir(exist_ok=True)
    for program in programs:
        write(PROGRAMS / f"{program.name}.cu", source_of(program))


def build(which: str, findings: list[Findings]) -> None:
    """Builds the programs; what does not build is missed when it is to run."""
    paths = [found.program.path(which).relative_to(ROOT) for found in findings]
    targets = list(dict.fromkeys(map(str, paths)))
    if not targets:
        return
    log = COPIES / f"{which}.make.log"
    with log.open("w") as file:
        command = ["make", "-k", f"-j{JOBS}", *targets]
        if subprocess.run(command, cwd=ROOT, stdout=file, stderr=file, check=False).returncode:
            print(f"make could not build everything: see {log.relative_to(ROOT)}", flush=True)


# ---------------------------------------------------------------- the table


def cell(kinds: list[str]) -> str:
    """The kinds found, the commonest first; with a count if some runs found nothing."""
    found = Counter(kind for kind in kinds if kind)
    text = ", ".join(kind for kind, _ in found.most_common())
    if found and found.total() < len(kinds):
        text += f" ({found.total()} of {len(kinds)})"
    return text


def table_row(bug: Bug, findings: list[Findings]) -> str:
    cells = [f"{bug.name}: {bug.wrong}", " ".join(found.pair.rung for found in findings)]
    cells.append(cell([found.default for found in findings]))
    cells += [cell([found.fixed[policy] for found in findings]) for policy in FIXED_POLICIES]
    cells.append(cell([kind for found in findings for kind in found.seeds.values()]))
    cells.append(cell([found.race for found in findings if found.race is not None]))
    return f"| {' | '.join(cells)} |"


PAGE = """# Planted bugs

One synchronisation mistake at a time in copies of the rungs, and the kinds of reports that the
[emulator](emulator.md) gave. Written by `python3 tests/planted.py --table notes/planted-bugs.md`
from the list in `tests/planted/bugs.txt`. An empty cell: that run noticed nothing. `wrong` is a
wrong result. Where a mistake was planted in several rungs, or several seeds ran, a count says how
many of the runs found it, unless all did. `make step` is the run of a user, at several shapes; the
others are at one. The last rows, without any find, are no bugs: what was
taken out there is not needed, and their runs must stay quiet.

"""


def page(findings: list[Findings]) -> str:
    """The whole note: the table, and what it adds up to."""
    return f"{PAGE}{summary(findings, thorough=True)}.\n\n{table(findings)}"


def check_note(bugs: list[Bug]) -> None:
    """The page in notes/ shows every entry of bugs.txt."""
    text = NOTE.read_text() if NOTE.exists() else ""
    missing = [bug.name for bug in bugs if f"| {bug.name}: {bug.wrong} |" not in text]
    why = f"run planted.py --table: it lacks {', '.join(missing)}" if missing else ""
    case(f"{NOTE.relative_to(ROOT)} has a row for each entry of bugs.txt", why)


def table(findings: list[Findings]) -> str:
    """What found what: a row per bug, over all its rungs."""
    bugs = {found.pair.bug.name: found.pair.bug for found in findings}
    head = [
        "mistake",
        "rungs",
        "make step",
        *FIXED_POLICIES,
        f"{len(SEEDS)} random seeds",
        "race detector",
    ]
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for name, bug in bugs.items():
        rows.append(table_row(bug, [found for found in findings if found.pair.bug.name == name]))
    return "\n".join(rows) + "\n"


def summary(findings: list[Findings], thorough: bool) -> str:
    planted = [found for found in findings if not found.pair.bug.harmless]
    parts = [f"{len(planted)} planted bugs"]
    for policy in FIXED_POLICIES if thorough else ():
        parts.append(f"{policy} finds {sum(bool(found.fixed[policy]) for found in planted)}")
    asked = [found for found in planted if found.race is not None]
    parts.append(f"the race detector {sum(bool(found.race) for found in asked)} of {len(asked)}")
    parts.append(f"{sum(bool(found.missed()) for found in planted)} missed")
    return "; ".join(parts)


# ---------------------------------------------------------------- main


def wanted(pair: Pair, words: list[str]) -> bool:
    return not words or any(word in pair.name for word in words)


def judge(pairs: list[Pair], thorough: bool) -> list[Findings]:
    """Builds and runs all pairs, as many at a time as there are processors."""
    programs = programs_of(pairs)
    write_programs(programs)
    program_of = {pair.name: program for program in programs for pair in program.pairs}
    findings = [Findings(pair, program_of[pair.name]) for pair in pairs]
    build("emulated", findings)
    list(emulated.in_parallel(lambda found: run_counting(found, thorough), findings))
    if not emulated.has_race_detector():
        return findings
    racing = [found for found in findings if thorough or needs_race(found)]
    build("races", racing)
    list(emulated.in_parallel(run_race, racing))
    return findings


def report(found: Findings) -> None:
    name = f"{found.pair.name} {'runs without a report' if found.pair.bug.harmless else 'is found'}"
    if found.race is None and needs_race(found):
        skip(name, NO_RACE_DETECTOR)
    else:
        case(name, found.why())
    recorded = planted_reports.of_pair(found.pair)
    if recorded is not None:
        why = planted_reports.difference(recorded, found.pair, found.fixed, found.texts)
        case(f"{found.pair.name} is reported as recorded", why)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, metavar="FILE")
    parser.add_argument("--reports", action="store_true")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    start = time.monotonic()
    try:
        bugs = read_bugs()
        pairs, touched = plant_all(bugs)
    except Misfit as why:
        case("bugs.txt is understood", str(why))
        return 1
    check_coverage(touched)
    check_note(bugs)
    outlived = planted_reports.outlived(pairs)
    case("every recorded report is of a planted bug", outlived and f"delete these: {outlived}")
    thorough = options.table is not None or options.reports
    chosen = [pair for pair in pairs if wanted(pair, options.words)]
    if not thorough and not options.words:
        chosen = first_last_and_between(without_repetitions(chosen))
    findings = judge(chosen, thorough)
    if options.reports:
        planted_reports.write(findings, QUICKEST)
    for found in findings:
        report(found)
    if options.table:
        options.table.parent.mkdir(parents=True, exist_ok=True)
        options.table.write_text(page(findings))
    print(f"{summary(findings, thorough)}; {time.monotonic() - start:.0f} s")
    return emulated.exit_status()


if __name__ == "__main__":
    sys.exit(main())
