"""Plants the faults of planted/faults.txt, one at a time, and says which test finds each.

    PYTHONPATH=tests python3 -m tools.faults [--update] [WORD...]     WORD: only faults with WORD in their name

Each fault is planted in a copy of the tree in build/faults, whose programs are those of build/: only
what changes is built again. The tests that the fault names run there, first without any fault.
--update writes what found each into the list. Exits 1 if a fault no longer fits, or the copy cannot be
built.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from tools import BUILD, JOBS, ROOT, have_nvcc

from exercises.planted_bugs import Hunk, Misfit, changed

LIST = ROOT / "planted" / "faults.txt"
HOUSE = BUILD / "faults"
TREE, PRISTINE = HOUSE / "tree", HOUSE / "build"
LINKED = {"steps", "variants", "venv"}  # of build/, and not built again
LIMIT = 600  # seconds for the tests of one name
MISSED = "nothing"
FITS = "thirty faults fit the files that they are planted in"  # a case of rules.py
KEYS = ("wrong", "file", "tests", "before", "after")
# A test's cases of one rung alone, or of one WORD.
ONE = r"""import re, sys
from tools import emulated
from exercises.table import EXERCISES
name, word = sys.argv[1:]
if word in (rungs := emulated.rungs()):
    emulated.rungs = lambda: {word: rungs[word]}
    for other in {*EXERCISES} - {word}:
        del EXERCISES[other]
test = __import__(name)
if name == "test_exercises":
    test.WRONG = re.sub(rf"(?m)^(?!{word})\w\d\d \d: .*\n(?:[-+.].*\n)*", "", test.WRONG)
sys.argv = [name, word]
sys.exit(test.main())"""
ONE_SH = "mkdir others; mv steps/!($1_*) others; bash $0; mv others/* steps; rmdir others"


@dataclass
class Fault:
    name: str
    says: dict[str, str] = field(default_factory=dict)  # by KEYS
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self):
        return ROOT / self.says["file"]

    @property
    def tests(self) -> list[str]:
        """Those that this machine can build."""
        named = self.says["tests"].split()
        return [test for test in named if have_nvcc() or not test.startswith("gpu/")]

    def planted(self) -> str:
        """The changed file. Misfit if it no longer has the lines, once."""
        return changed(self.hunks, self.path.read_text(encoding="utf-8"))


def read_faults() -> list[Fault]:
    faults: list[Fault] = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        key, _, rest = line.partition(": ")
        if line.startswith("#") or not line:
            continue
        if key == "fault":
            faults.append(Fault(rest))
        elif key in KEYS:
            faults[-1].says[key] = rest
        elif line == "...":
            faults[-1].hunks.append([])
        else:
            faults[-1].hunks = faults[-1].hunks or [[]]
            faults[-1].hunks[-1].append(line)
    return faults


def misfits() -> list[str]:
    """What is wrong with the list."""
    faults, wrong = read_faults(), []
    if len({fault.name for fault in faults}) != 30:
        wrong.append(f"{len(faults)} faults, or two of one name, where thirty were expected")
    for fault in faults:
        try:
            if fault.planted() == fault.path.read_text(encoding="utf-8"):
                wrong.append(f"{fault.name} changes nothing")
        except (OSError, KeyError, Misfit) as why:
            wrong.append(f"{fault.name} does not fit: {why}")
    return wrong


# ---------------------------------------------------------------- the copy of the tree


def run(*command: object, **how) -> subprocess.CompletedProcess:
    """A command's run in the copy, with all that it says in one text."""
    how = {"cwd": TREE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **how}
    return subprocess.run(list(map(str, command)), text=True, errors="replace", check=False, **how)


def copy_tree() -> None:
    """The tracked files as they are now, with their times, and what is built of them."""
    shutil.rmtree(HOUSE, ignore_errors=True)
    HOUSE.mkdir(parents=True)
    run("git", "clone", "-q", "--shared", "--no-checkout", ROOT, TREE, cwd=ROOT)
    run("git", "reset", "-q")
    for name in run("git", "ls-files", cwd=ROOT).stdout.splitlines():
        if (ROOT / name).exists():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)
    (TREE / "build").mkdir()
    for path in {*BUILD.iterdir()} - {HOUSE}:
        if path.name in LINKED:
            (TREE / "build" / path.name).symlink_to(path)
        else:
            run("cp", "-a", path, TREE / "build")


def restore(fault: Fault) -> None:
    """The copy without the fault, and what was built of it without it."""
    shutil.copy2(fault.path, TREE / fault.says["file"])
    shutil.rmtree(TREE / "build")
    run("cp", "-a", PRISTINE, TREE / "build")


# ---------------------------------------------------------------- tests


def program_of(name: str) -> str:
    """Where a test that make builds is."""
    return f"build/{name}" if name.startswith("emulator/") else f"build/tests/{name}"


def targets(test: str) -> list[str]:
    """What make builds for a test: itself, or its rung's program."""
    name, _, word = test.partition("@")
    if name.endswith(".py"):
        return ["build/emulator/libemulator.a"]
    if not (TREE / "tests" / f"{name}.py").exists() and not (TREE / f"tests/{name}.sh").exists():
        return [program_of(name)]
    is_rung = bool(list((TREE / "steps").glob(f"{word}_*.cu"))) if word else False
    return [f"build/emulated/{word}"] if is_rung else []


def lines_of(test: str) -> list[str]:
    """What a test prints."""
    name, _, word = test.partition("@")
    environment = {**os.environ, "PYTHONPATH": f"{TREE}:{TREE}/tests"}
    if (TREE / "tests" / f"{name}.sh").exists():
        only = ["-O", "extglob", "-c", ONE_SH] if word else []
        command = ["bash", *only, f"tests/{name}.sh", word]
    elif name.endswith(".py"):
        command = ["python3", name]
    elif not (TREE / "tests" / f"{name}.py").exists():
        command = [program_of(name)]
    else:
        command = ["python3", *(["-c", ONE, name, word] if word else [f"tests/{name}.py"])]
    try:
        done = run(*command, env=environment, timeout=LIMIT, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return [f"not ok - no end after {LIMIT} s"]
    lines = re.findall(r"^(?:not ok|ok|skip) - .*", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 77) and not any(line.startswith("not ok") for line in lines):
        last = (done.stdout.strip().splitlines() or [""])[-1]
        lines.append(f"not ok - exit status {done.returncode}: {last}")
    return lines


def found_by(fault: Fault, without: dict[str, list[str]]) -> str:
    """The first case of each test that fails with the fault, and how many more; of what the tests
    print without it."""
    found = []
    for test in fault.tests:
        made = run("make", "-s", f"-j{JOBS}", *targets(test))
        if made.returncode:
            found.append(f"the build of {test}")
            continue
        lines = [line for line in lines_of(test) if line not in without[test] and FITS not in line]
        if wrong := [line[9:] for line in lines if line.startswith("not ok - ")]:
            names = [
                line[5:] for line in without[test] if f"{wrong[0]}: ".startswith(f"{line[5:]}: ")
            ]
            more = f", and {len(wrong) - 1} more" if wrong[1:] else ""
            found.append(f"{test}: {max(names, key=len, default=wrong[0][:80])}{more}")
    return "; ".join(found) or MISSED


def write_found(found: dict[str, str]) -> None:
    """Writes the list's lines `after: `."""
    name, lines = "", []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        name = line[7:] if line.startswith("fault: ") else name
        lines.append(f"after: {found[name]}" if line[:7] == "after: " and name in found else line)
    LIST.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("word", nargs="*")
    options = parser.parse_args()
    if wrong := misfits():
        print("\n".join(wrong))
        return 1
    faults = [
        one for one in read_faults() if any(word in one.name for word in options.word or [""])
    ]
    tests = list(dict.fromkeys(test for one in faults for test in one.tests))
    os.nice(10)
    copy_tree()
    made = run("make", "-s", f"-j{JOBS}", *(target for test in tests for target in targets(test)))
    if made.returncode:
        print(made.stdout)
        return 1
    without = {test: lines_of(test) for test in tests}
    for test, lines in without.items():
        for line in lines:
            if line.startswith("not ok"):
                print(f"{test}, without a fault: {line}")
    run("cp", "-a", TREE / "build", PRISTINE)
    found = {}
    for fault in faults:
        (TREE / fault.says["file"]).write_text(fault.planted(), encoding="utf-8")
        found[fault.name] = found_by(fault, without)
        print(f"{fault.name}: {found[fault.name]}", flush=True)
        restore(fault)
    print(f"{sum(by != MISSED for by in found.values())} of {len(found)} were found")
    if options.update:
        write_found(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
