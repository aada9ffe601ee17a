"""What the design asks of the tree, as far as a search can tell: style, the arrows between folders, what
sources must not hold, and budgets."""

import re
import shutil
from itertools import chain

import pytest

from tools import BUILD, ROOT, call, faults, git

from bench import rungs
from book.pages import changes

pytestmark = pytest.mark.check
C_API = r"emulator/emulator\.h$"  # all that the harness knows of the emulator
# What files may include, or import of the project's. The first pattern that matches a file decides.
ARROWS = {
    "steps/* common/device/*": r"step\.h|device/",
    "common/step.h": r"$",
    "common/formats/*": r"formats/",
    "common/device/emulated/device/*": r"device/|emulator/",
    "emulator/include/**/*": r"formats/|emulator/",
    "emulator/src/*": r"formats/|emulator/|[a-z_]+\.h$",
    "common/harness/*": rf"step\.h|{C_API}|formats/|harness/(?!gpu/|emulated/)",
    "common/harness/**/*": rf"(step|tune)\.h|{C_API}|formats/|harness/",
    "bench/**/*.py": "bench",
    "notes/**/*.py": "notes|bench|planted",
    "plots/**/*.py": "plots|bench|notes",
    "book/**/*.py": "book|bench|notes",
    "standalone/*.py": "standalone|bench",
    "planted/*.py": "planted",
    "exercises/*.py": "exercises|planted",
    "emulator/translate/*.py": "emulator",
}
EMULATOR = "emulator/include/**/* emulator/src/* emulator/translate/*"
SHARED = f"common/**/* {EMULATOR}"
TOOLKIT = ROOT / "emulator/include/toolkit"  # the emulator's own headers of the toolkit's names
OWN = "|".join(str(path.relative_to(TOOLKIT)) for path in TOOLKIT.rglob("*"))
CUDA = rf"# *include(?! *<({OWN})>) *[<\"](cuda|cublas|nv|cooperative_groups)[a-z0-9_]*(\.h|/)"
RUNG = "steps/*.cu"
FOLDERS = ".ci bench book common emulator exercises make notes planted plots standalone steps tests"
ALL = " ".join(f"{folder}/**/*" for folder in FOLDERS.split())
# What no line of these files holds.
ABSENT = [
    ("rungs' names", r"\b([vat][0-9][0-9]|[fs]0[0-9])\b", f"common/*/**/* {EMULATOR}"),
    ("CUDA's headers", CUDA, f"{EMULATOR} common/*/emulated/**/*"),
    ("what runs a rung", r"[Ee]mulat|\b[Tt]race", f"common/device/* common/step.h {RUNG}"),
    ("one machine", r"^ *# *(if|ifdef|ifndef|elif).*(__CUDA_ARCH__|EMULAT[A-Z]*\b)", SHARED),
    ("sys.path", r"sys\.path", " ".join(one for one in ARROWS if one.endswith(".py"))),
    ("unfinished", r"\b(TO[D]O|FIX[M]E|X[X]X)\b", f"Makefile *.md {ALL}"),
    ("what a header wraps", r"\basm\b|<<<|extern +(__shared__|.*\[\])|try_wait", RUNG),
    ("driver types", r"\b(CUtensorMap|CUfunction|CUresult)", RUNG),
    ("what the harness does", r"cudaEvent|clock64|globaltimer|\bchrono\b|getopt|argv\[", RUNG),
    ("uploads that may be late", r"cudaMemcpy\(.*HostToDevice", f"common/device/*.cuh {RUNG}"),
    ("ways past the check", r"\bcomputes_nothing\b", RUNG),
    ("one build", r"^ *# *(if|ifdef|ifndef|else|elif)\b", RUNG),
]
# Lines of code that git has below these folders, but for those that are named by themselves. These
# figures only go down; a commit that raises one says why.
LINES = {
    ".": 52367,
    "emulator": 13297,
    "emulator/tests": 2849,
    "common/harness common/step.h": 5811,
    "bench notes/tools": 5125,
    "Makefile make": 641,
    "plots": 1863,
    "book": 1536,
    "library examples": 666,
    "conftest.py tests": 6713,
    "tests/unit": 1397,
    "tests/gpu": 294,
    "tests/device": 296,
    "tests/tools": 643,
}
CODE = re.compile(r".*\.(py|c|h|cu|cuh|cpp|sh|mk|js|css|html)|.*Makefile|instructions\.txt")
SEEN = ("ls-files", "-co", "--exclude-standard")  # what `git add` would take, too
IN_C = git(*SEEN, "*.[ch]", "*.cu", "*.cuh", "*.cpp")
OTHERS = git(*SEEN, "*.md", "*.py", "*.sh", "*.mk", "Makefile")
STYLE = [
    ["clang-format", "--dry-run", "--Werror", *IN_C],
    ["ruff", "check", "--quiet", "."],
    ["ruff", "format", "--quiet", "--check", "."],
    ["codespell", "-L", "arithmetics,fro,statics,whats,whos", *IN_C, *OTHERS],
    ["shellcheck", "-x", ".ci/run", *git("ls-files", "*.sh")],
]


RUNGS = changes.of_rungs()
# What a rung changes is the lesson: it must stay short, and so must a rung (`make diffstat` prints the
# figures). At most so many lines: added plus removed below the opening comment, from the rung below;
# and in all.
USUAL, ANY = (100, 350, ""), 10**6
LARGER = {
    "v02": (ANY, 350, "another machine: tensor cores fed by TMA instead of CUDA cores"),
    "v04": (ANY, 350, "another shape of program: producer and consumer instead of one loop"),
    "s01": (219, 350, "ring and roles move to common/device, and the kernel becomes a template"),
    "s09": (100, 360, "a second kernel, which adds the parts"),
    "f04": (104, 350, "the tile, its blocks and its scales change together"),
    "f05": (101, 350, "scales, their barrier and their maps"),
    "a02": (ANY, 350, "another interface: mma.sync from registers instead of WMMA"),
}


def files(patterns):
    """The text files that match a pattern; each pattern has some."""
    found = [sorted(ROOT.glob(pattern)) for pattern in patterns.split()]
    assert all(found), patterns
    paths = [path for path in chain(*found) if path.is_file()]
    return [path for path in paths if path.suffix not in (".png", ".pyc", ".xz")]


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("command", STYLE, ids=lambda words: "-".join(words[:2]))
def test_style(command):
    """`make format` mends it, but for spelling and shell."""
    program = shutil.which(command[0], path=BUILD / "venv/bin") or shutil.which(command[0])
    if program is None or not IN_C:
        pytest.skip(f"needs {command[0]}, and a clone")
    ended = call(program, *command[1:], cwd=ROOT)
    if ended.returncode:  # the command itself names hundreds of files
        pytest.fail(ended.stdout, pytrace=False)


@pytest.mark.parametrize(("what", "expression", "patterns"), ABSENT, ids=next(zip(*ABSENT)))
def test_absent(what, expression, patterns):
    for path in files(patterns):
        found = re.search(expression, path.read_text(), re.MULTILINE)
        assert not found, f"{name_of(path)}: {found[0]}"


def test_arrows():
    allowed = {}
    for patterns, names in ARROWS.items():
        allowed = {**dict.fromkeys(files(patterns), names), **allowed}
    for path, names in allowed.items():
        python = path.suffix == ".py"
        arrow = r"^ *(?:from|import) (\w+)" if python else r'^ *# *include +"([^"]+)"'
        found = re.findall(arrow, path.read_text(), re.MULTILINE)
        own = [one for one in found if not python or one in (*FOLDERS.split(), "tools")]
        assert not [one for one in own if ".." in one or not re.match(names, one)], path


@pytest.mark.parametrize("path", files(RUNG), ids=name_of)
def test_rung(path):
    """It frees what it makes."""
    text = path.read_text()
    made = re.findall(r"\b(?:upload_array|allocate_array)\(", text)
    assert len(made) == text.count(" release_array(")


def test_sample_of_tiles():
    """The emulator's sample of the family has each height, and each way to share among consumers and
    among CTAs, that the whole list has."""
    both = []
    for folder in ("common", "common/device/emulated"):
        text = (ROOT / folder / "device" / "tile_table.cuh").read_text()
        tiles = re.findall(r"Tile<(\d+), \d+(?:, (\w+))?(?:, (\w+))?(?:, (\d), (\d))?>", text)
        ways = {f"{above > '1'} {beside > '1'}" for *_, above, beside in tiles}
        both.append(ways.union(*(row[:3] for row in tiles)))
    assert both[0] and both[0] == both[1]


@pytest.mark.parametrize("folder", LINES)
def test_budget(folder):
    """Of what git has below these folders, without what has a budget of its own."""
    found = [name for name in git("ls-files", *folder.split()) if (ROOT / name).exists()]
    if not found:
        pytest.skip("this is no clone")
    others = [one for key in LINES for one in key.split() if one.startswith(f"{folder}/")]
    code = [name for name in found if CODE.fullmatch(name) and not name.startswith((*others, "-"))]
    lines = sum((ROOT / name).read_text().count("\n") for name in code)
    assert lines <= LINES[folder], "shorten, or raise it in LINES, and the commit says why"


@pytest.mark.parametrize("fault", faults.read_faults(), ids=lambda fault: fault.name)
def test_fault_fits(fault):
    assert not faults.misfit(fault)


@pytest.mark.parametrize("rung, lines, changed", RUNGS, ids=[row[0].name for row in RUNGS])
def test_lesson(rung, lines, changed):
    """A rung that says in its record which one it grows from says so in its first line: "v09, from
    v07: an idea.". Its second line is empty, unless the learner's path leaves it out."""
    most_changed, most_lines, _ = LARGER.get(rung.name, USUAL)
    assert sum(changed or ()) <= most_changed and lines <= most_lines
    text = rung.path.read_text(encoding="utf-8")
    said = rungs.field(text, "below")
    grows = f", from {said}" if said else ""
    first, second = text.split("\n")[:2]
    assert first == f"// {rung.name}{grows}: {rung.idea}."
    assert second.removeprefix("//").lower() == (f" {rung.aside}." if rung.aside else "")
