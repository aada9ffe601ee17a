"""Plants the faults of planted/faults.txt, one at a time, and says which test finds each.

    PYTHONPATH=tests python3 -m tools.faults [WORD...]     WORD: only faults with WORD in their name

Each fault is planted in a copy of the tree in build/faults, whose programs are those of build/: only
what changes is built again. `make test` runs the tests that the fault names, and with FULL=1 if they
find nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from tools import BUILD, ROOT, call

from planted.plant import Hunk, Misfit, changed

LIST = ROOT / "planted" / "faults.txt"
HOUSE = BUILD / "faults"
TREE, PRISTINE = HOUSE / "tree", HOUSE / "build"
LINKED = {"steps", "variants", "venv"}  # of build/, and not built again
KEYS = ("wrong", "file", "tests", "found")


@dataclass
class Fault:
    name: str
    says: dict[str, str] = field(default_factory=dict)  # by KEYS
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self):
        return ROOT / self.says["file"]

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


def misfit(fault: Fault) -> str:
    """Why a fault cannot be planted."""
    try:
        same = fault.planted() == fault.path.read_text(encoding="utf-8")
        return "it changes nothing" if same else ""
    except (OSError, KeyError, Misfit) as why:
        return str(why)


def run(*command: object, **how) -> str:
    """What a command in the copy says."""
    return call(*command, **{"cwd": TREE, **how}).stdout


def copy_tree() -> None:
    """The tracked files as they are now, with their times, and what is built of them."""
    shutil.rmtree(HOUSE, ignore_errors=True)
    HOUSE.mkdir(parents=True)
    run("git", "clone", "-q", "--shared", "--no-checkout", ROOT, TREE, cwd=ROOT)
    run("git", "reset", "-q")
    for name in run("git", "ls-files", cwd=ROOT).splitlines():
        if (ROOT / name).exists():
            (TREE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, TREE / name)
    (TREE / "build").mkdir()
    for path in {*BUILD.iterdir()} - {HOUSE}:
        if path.name in LINKED:
            (TREE / "build" / path.name).symlink_to(path)
        else:
            run("cp", "-a", path, TREE / "build")


def failed(words: str, full: bool) -> list[str]:
    """The tests that fail, of those with one of the words in their names."""
    environment = {"FULL": "1" if full else "", "STRICT": ""}
    said = run("make", "test", f"ARGS={words}", env=environment, stdin=subprocess.DEVNULL)
    if not re.search(r"^\d+ (passed|failed)", said, re.MULTILINE):
        sys.exit(f"make test ARGS='{words}' ran nothing:\n{said[-2000:]}")
    return re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, re.MULTILINE)


def found_by(fault: Fault) -> str:
    """The first test that fails with the fault, how many more, and whether it took FULL=1."""
    for full in (False, True):
        if names := failed(fault.says["tests"], full):
            more = f", and {len(names) - 1} more" if names[1:] else ""
            return f"{'with FULL=1 ' if full else ''}{names[0]}{more}"
    return "nothing"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("word", nargs="*")
    words = parser.parse_args().word or [""]
    faults = [one for one in read_faults() if any(word in one.name for word in words)]
    os.nice(10)
    copy_tree()
    tests = " ".join(dict.fromkeys(one.says["tests"] for one in faults))
    print(f"without a fault: {', '.join(failed(tests, False)) or 'all pass'}", flush=True)
    run("cp", "-a", TREE / "build", PRISTINE)
    for fault in faults:
        (TREE / fault.says["file"]).write_text(fault.planted(), encoding="utf-8")
        print(f"{fault.name}: {found_by(fault)}", flush=True)
        shutil.copy2(fault.path, TREE / fault.says["file"])
        shutil.rmtree(TREE / "build")
        run("cp", "-a", PRISTINE, TREE / "build")


if __name__ == "__main__":
    main()
