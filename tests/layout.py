#!/usr/bin/env python3
"""The folders of the house, and the arrows between them: steps -> common; bench runs rungs and
records; plots, notes and book read records.

    tests/layout.py [TREE]

Prints one line per case; exits 1 if any failed.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parents[1]).resolve()
FOLDERS = {".ci", "bench", "book", "common", "make", "notes", "plots"}
FOLDERS |= {"standalone", "steps", "tests"}

READS = "it reads records"
TERMINAL = "what a run prints and what its pages say are the same table"
# What a folder may import beside itself, and why. An entry that nothing needs fails.
IMPORTS = {
    "bench/records": {
        "bench.energy": "what a recorded energy budget adds up to, and its limits",
        "bench.process": "the exit status of a program that is interrupted",
        "bench.rungs": "a record names rungs",
        "bench.tables": TERMINAL,
    },
    "bench": {},
    "notes/tools": {
        "bench.records": READS,
        "bench.energy.budget": "the sums of a recorded energy budget",
        "bench.markdown": "the text of a page without its marks",
        "bench.process": "the exit status of a program that is interrupted",
        "bench.rungs": "a rung's step record",
        "bench.shapes": "the names of recorded shapes",
    },
    "plots": {
        "bench.records": READS,
        "bench.energy.budget": "the sums of a recorded energy budget",
        "notes.tools.readme_table": "a picture and its page take the same rows",
        "notes.tools.shapes_table": "a picture and its page take the same rows",
    },
    "book": {
        "bench.records": READS,
        "bench.resources": "recorded registers and shared memory",
        "bench.rungs": "a rung's step record",
        "bench.tables": TERMINAL,
        "notes.tools": "a page's tables",
    },
    "standalone": {},
}
# Folders that an #include may name. The first pattern that matches a file decides.
INCLUDES = (
    ("steps/*", r"step\.h|device/"),
    ("common/device/*", r"step\.h|device/"),
    ("common/step.h", r"$"),
    ("common/emulator/**/*", r"step\.h|device/|emulator/|trace/"),
    ("common/trace/*", r"step\.h|device/|emulator/|harness/trace/|trace/"),
    ("common/harness/**/*", r"step\.h|emulator/|harness/|trace/"),
)
INCLUDE = re.compile(r'^ *# *include +"([^"]+)"', re.MULTILINE)
RUNG = re.compile(r"\b[vat][0-9][0-9]\b")
failed = []


def case(name, wrong):
    """One case: ok if nothing is wrong."""
    wrong = sorted(wrong)
    print(f"not ok - {name}: {', '.join(wrong)}" if wrong else f"ok - {name}")
    failed.extend(wrong)


def files(pattern, *suffixes):
    """The files of a folder whose names end so, without what Python writes."""
    found = (path for path in sorted(ROOT.glob(pattern)) if path.is_file())
    return [path for path in found if not suffixes or path.suffix in suffixes]


def name_of(path):
    return str(path.relative_to(ROOT))


def imported(path):
    """The modules of the house that a program imports: bench.records.schema."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(module, package):
    return f"{module}.".startswith(f"{package}.")


def test_imports(folder, allowed):
    packages = {name.split("/")[0] for name in IMPORTS}
    own = folder.replace("/", ".")
    wrong, unused = set(), set(allowed)
    for path in files(f"{folder}/**/*", ".py"):
        if folder == "bench" and path.is_relative_to(ROOT / "bench/records"):
            continue
        for module in imported(path):
            if module.split(".")[0] not in packages or within(module, own):
                continue
            used = {package for package in allowed if within(module, package)}
            unused -= used
            if not used:
                wrong.add(f"{name_of(path)} imports {module}")
    case(f"{folder} imports only what its arrows allow", wrong)
    case(f"{folder} needs every exception", {f"{package} is unused" for package in unused})


def test_includes():
    seen = set()
    for pattern, allowed in INCLUDES:
        wrong = set()
        for path in files(pattern, ".h", ".c", ".cpp", ".cu", ".cuh"):
            if path not in seen:
                for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
                    if ".." in header or not re.match(allowed, header):
                        wrong.add(f"{name_of(path)} includes {header}")
            seen.add(path)
        case(f"{pattern} includes only what its arrows allow", wrong)


def test_common():
    # step.h shows a rung's main as an example.
    texts = {path: path.read_text(encoding="utf-8") for path in files("common/**/*")}
    rungs = {name_of(p) for p, text in texts.items() if p.name != "step.h" and RUNG.search(text)}
    case("common/ knows no rung", rungs)


def test_python_path():
    python = [path for folder in IMPORTS for path in files(f"{folder}/**/*", ".py")]
    edits = {name_of(path) for path in python if "sys.path" in path.read_text(encoding="utf-8")}
    case("only tests edit sys.path", edits)


def test_folders():
    command = ["git", "-C", str(ROOT), "ls-files"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        print("skip - the folders are those of the house: this is no clone")
        return
    found = {line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line}
    case("the folders are those of the house", found ^ FOLDERS)


def test_make():
    for path in files("make/*"):
        first = path.read_text(encoding="utf-8").partition("\n")[0]
        unsaid = {f"its first line is '{first}'"}
        case(
            f"{name_of(path)} says its purpose", set() if re.match(r"# \w+ \w+ ", first) else unsaid
        )


if __name__ == "__main__":
    test_folders()
    for folder, allowed in IMPORTS.items():
        test_imports(folder, allowed)
    test_includes()
    test_common()
    test_python_path()
    test_make()
    sys.exit(1 if failed else 0)
