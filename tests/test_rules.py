"""What the design asks of the tree, as far as a search can tell: style, folders and the arrows between
them, what sources must not hold, the twins of device headers, and budgets."""

import ast
import re
import shutil
import subprocess
from graphlib import TopologicalSorter

import pytest

from tools import BUILD, ROOT, faults, git

pytestmark = pytest.mark.check
FOLDERS = ".ci bench book common emulator exercises make notes planted plots standalone steps tests"
# What a folder imports beside itself. Those who read records take the names of shapes, parts and
# tables from those who write them, so that both say the same.
IMPORTS = {
    "bench": "",
    "notes/tools": "bench.energy.budget bench.record bench.results bench.rungs bench.shapes"
    " planted.plant",
    "plots": "bench.energy.budget bench.results bench.shapes bench.trace notes.tools.tables",
    "book": "bench.energy.budget bench.ladder bench.resources bench.results bench.rungs bench.trace"
    " notes.tools.tables",
    "standalone": "",
    "planted": "",
    "exercises": "planted.plant",
    "emulator/translate": "",
}
PYTHON = " ".join(f"{folder}/**/*.py" for folder in IMPORTS)
C_API = r"emulator/emulator\.h$"  # all that the harness knows of the emulator
# What an #include may name. The first pattern that matches a file decides.
INCLUDES = {
    "steps/*": r"step\.h|device/",
    "common/device/*": r"step\.h|device/",
    "common/step.h": r"$",
    "common/formats/*": r"formats/",
    "common/device/emulated/device/*": r"device/|emulator/",
    "emulator/include/**/*": r"formats/|emulator/",
    "emulator/src/*": r"formats/|emulator/|[a-z_]+\.h$",
    "emulator/tests/*": r"device/|formats/|emulator/|[a-z_]+\.h$",
    "emulator/examples/*": r"[a-z_0-9/]+\.(h|cuh|cu)$",  # files of the clones, too
    "common/trace/**/*": r"step\.h|device/|emulator/|harness/trace/|trace/",
    "common/harness/*": rf"step\.h|{C_API}|formats/|harness/(?!gpu/|emulated/)|trace/",
    "common/harness/**/*": rf"step\.h|{C_API}|formats/|harness/|trace/",
}
HEADERS = "common/**/*.h common/**/*.cuh"
EMULATOR = "emulator/include/**/* emulator/src/* emulator/translate/*"
SHARED = f"common/**/* {EMULATOR}"
TOOLKIT = ROOT / "emulator/include/toolkit"  # the emulator's own headers of the toolkit's names
OWN = "|".join(str(path.relative_to(TOOLKIT)) for path in TOOLKIT.rglob("*"))
CUDA = rf"# *include(?! *<({OWN})>) *[<\"](cuda|cublas|nv|cooperative_groups)[a-z0-9_]*(\.h|/)"
SOURCES = " ".join(f"{folder}/**/*" for folder in FOLDERS.split())
RUNG = "steps/*.cu"
# What no line of these files holds.
ABSENT = [
    ("rungs' names", r"\b([vat][0-9][0-9]|f0[0-9])\b", f"{SHARED} !common/step.h"),  # an example
    ("CUDA's headers", CUDA, f"{EMULATOR} common/*/emulated/**/*"),
    ("what runs a rung", "[Ee]mulat", f"common/device/* common/step.h {RUNG}"),
    ("one machine", r"^ *# *(if|ifdef|ifndef|elif).*(__CUDA_ARCH__|EMULAT[A-Z]*\b)", SHARED),
    ("sys.path", r"sys\.path", PYTHON),
    ("unfinished", r"\b(TODO|FIXME|XXX)\b", f"Makefile *.md {SOURCES} !tests/test_rules.py"),
    ("assembly", r"\basm\b", RUNG),
    ("launches past launch()", r"<<<", RUNG),
    ("memory past its wrapper", r"extern +(__shared__|.*\[\])", RUNG),
    ("driver types", r"\b(CUtensorMap|CUfunction|CUresult)", RUNG),
    ("wait loops", r"try_wait", RUNG),
    ("timing", r"cudaEvent|clock64|globaltimer|\bchrono\b", RUNG),
    ("options", r"getopt|argv\[", RUNG),
    ("one build", r"^ *# *(if|ifdef|ifndef|else|elif)\b", RUNG),
    ("ways past the check", r"\bcomputes_nothing\b", RUNG),
]
# Lines of code that git has below these folders, but for those that are named by themselves. These
# figures only go down; a commit that raises one says why.
LINES = {
    ".": 60500,
    "emulator": 12740,
    "emulator/tests": 2716,
    "common/harness common/step.h": 6051,
    "bench notes/tools": 5789,
    "Makefile make": 803,
    "plots": 3582,
    "book": 2982,
    "conftest.py tests": 9640,
    "tests/unit": 2070,
    "tests/gpu tests/unit-gpu": 394,
    "tests/device": 1780,
    "tests/tools": 830,
}
CODE = re.compile(r".*\.(py|c|h|cu|cuh|cpp|sh|mk|js|css|html)|.*Makefile|instructions\.txt")
MOST_BYTES = {"bench/results": 1_500_000}
IN_C = git("ls-files", "*.[ch]", "*.cu", "*.cuh", "*.cpp")
STYLE = [
    ["clang-format", "--dry-run", "--Werror", *IN_C],
    ["ruff", "check", "--quiet", "."],
    ["ruff", "format", "--quiet", "--check", "."],
    [
        "codespell",
        "-L",
        "arithmetics,fro,statics,whats,whos",
        *IN_C,
        *git("ls-files", "*.md", "*.py", "*.sh", "*.mk", "Makefile"),
    ],
    ["shellcheck", "-x", ".ci/run", *git("ls-files", "*.sh")],
]
# A declaration with a parameter list; not a specialisation (name<64>).
DECLARATION = re.compile(
    r'^(?!#|static_assert|typedef|using|extern "C"|return|(struct|class|enum) [^()]*(\(.*\))?[^()]*\{'
    r"|[A-Za-z_][\w ]*<[0-9]+>\()[A-Za-z_][^=;\n]*\(",
    re.MULTILINE,
)
# A function of a device header, with its template and its parameters.
FUNCTION = re.compile(
    r"(?:template <[^>]*>\s*)?\b(?:DEVICE|inline|__host__|__device__|constexpr|static)\b[\w\s:&*]*"
    r"\b\w+\((?:[^()]|\([^()]*\))*\)(?=\s*[{;])"
)


def files(patterns):
    """The text files that match one of the patterns, and none of those after a !."""
    found = {}
    for pattern in patterns.split():
        those = [path for path in sorted(ROOT.glob(pattern.lstrip("!"))) if path.is_file()]
        assert those, f"nothing matches {pattern}"
        found = {**dict.fromkeys(those, pattern[0] != "!"), **found}
        found.update(dict.fromkeys(those, False) if pattern[0] == "!" else {})
    return [path for path in found if found[path] and path.suffix not in (".png", ".pyc")]


def name_of(path):
    return str(path.relative_to(ROOT))


def of_each(patterns):
    return pytest.mark.parametrize("path", files(patterns), ids=name_of)


@pytest.mark.parametrize("command", STYLE, ids=lambda words: "-".join(words[:2]))
def test_style(command):
    """`make format` mends it, but for spelling and shell."""
    program = shutil.which(command[0], path=BUILD / "venv/bin") or shutil.which(command[0])
    if program is None or not IN_C:
        pytest.skip(f"needs {command[0]}, and a clone")
    subprocess.run([program, *command[1:]], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    ("expression", "patterns"), [row[1:] for row in ABSENT], ids=next(zip(*ABSENT))
)
def test_absent(expression, patterns):
    for path in files(patterns):
        found = re.search(f"(?m){expression}", path.read_text())
        assert not found, f"{name_of(path)}: {found[0]}"


def test_folders():
    if not git("ls-files"):
        pytest.skip("this is no clone")
    assert {line.split("/")[0] for line in git("ls-files") if "/" in line} == {*FOLDERS.split()}


def imported(path):
    """The modules that a program imports: bench.results."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("folder", IMPORTS)
def test_imports(folder):
    """What its arrows allow, all of it, and nothing else."""
    packages = "|".join({"tests", "tools", *(name.split("/")[0] for name in IMPORTS)})
    itself = folder.replace("/", ".")
    found = {
        next((one for one in IMPORTS[folder].split() if f"{module}.".startswith(f"{one}.")), module)
        for path in files(f"{folder}/**/*.py")
        for module in imported(path)
        if re.match(rf"({packages})\b(?<!^{itself})(?!\.?{itself})", module)
        and not f"{module}.".startswith(f"{itself}.")
    }
    assert found == {*IMPORTS[folder].split()}


def included(path):
    return re.findall(r'^ *# *include +"([^"]+)"', path.read_text(), re.MULTILINE)


def test_includes():
    allowed = {}
    for pattern, names in INCLUDES.items():
        allowed = {**dict.fromkeys(files(pattern), names), **allowed}
    for path, names in allowed.items():
        wrong = [name for name in included(path) if ".." in name or not re.match(names, name)]
        assert not wrong, name_of(path)


def test_circles():
    """No header includes itself through others, and no module imports itself so."""
    headers = {name_of(path).split("/", 1)[1]: included(path) for path in files(HEADERS)}
    modules = {name_of(path)[:-3].replace("/", "."): {*imported(path)} for path in files(PYTHON)}
    modules = {name: {*of, *(one.rpartition(".")[0] for one in of)} for name, of in modules.items()}
    for graph in (headers, modules):
        known = {name: [one for one in found if one in graph] for name, found in graph.items()}
        assert any(known.values())
        TopologicalSorter(known).prepare()


@of_each(RUNG)
def test_rung(path):
    rung, text = path.name.partition("_")[0], path.read_text()
    main = f"int main(int argc, char **argv) {{ return step_main(&{rung}, argc, argv); }}"
    assert text.startswith("//") and main in text.splitlines()
    made = re.findall(r"\b(?:upload_array|make_zeros|allocate_array)\(", text)
    assert len(made) == text.count(" release_array("), "it frees what it makes"


@of_each(f"{HEADERS} emulator/include/**/*.h emulator/src/*.h")
def test_declarations(path):
    """A comment explains each: one above it, in a block without a blank line, which neighbours share."""
    for block in re.split(r"\n\s*\n", path.read_text()):
        found = DECLARATION.search(block)
        assert not found or re.search(r"(?m)^\s*(//|/\*|\*)", block[: found.start()]), found[0]


def functions(header):
    """What it declares, without the line that calls, which the emulator's functions take at the end."""
    source = re.sub(r"//.*|^\s*#.*", "", header.read_text(), flags=re.MULTILINE)
    found = {" ".join(words.split()) for words in FUNCTION.findall(source)}
    return {re.sub(r"(, )?EMULATOR_SITE\)$", ")", words) for words in found}


@of_each("common/*/emulated/*/*")
def test_twin(path):
    """It declares the same functions; the family is a list, and tracing's hooks are macros."""
    original = ROOT / "common" / path.parent.name / path.name
    assert original.exists()
    if path.parent.name == "device" and path.name != "tile_family.cuh":
        assert functions(path) and functions(path) == functions(original)


def test_sample_of_tiles():
    """The emulator's sample of the family has each height, and each way to share among consumers and
    among CTAs, that the whole list has."""
    both = []
    for folder in ("common", "common/device/emulated"):
        text = (ROOT / folder / "device" / "tile_family.cuh").read_text()
        tiles = re.findall(r"TILE\((\d+), \d+, (\w+), (\d), (\d)\)", text)
        ways = {f"{above > '1'} {beside > '1'}" for *_, above, beside in tiles}
        both.append(ways.union(*(row[:2] for row in tiles)))
    assert both[0] and both[0] == both[1]


@pytest.mark.parametrize("folder", [*LINES, *MOST_BYTES])
def test_budget(folder):
    """Of what git has below these folders, without what has a budget of its own."""
    found = [name for name in git("ls-files", *folder.split()) if (ROOT / name).exists()]
    if not found:
        pytest.skip("this is no clone")
    if folder in MOST_BYTES:
        assert sum((ROOT / name).stat().st_size for name in found) <= MOST_BYTES[folder]
        return
    others = [one for key in LINES for one in key.split() if one.startswith(f"{folder}/")]
    code = [name for name in found if CODE.fullmatch(name) and not name.startswith((*others, "-"))]
    assert sum((ROOT / name).read_text().count("\n") for name in code) <= LINES[folder]


@pytest.mark.parametrize("fault", faults.read_faults(), ids=lambda fault: fault.name)
def test_fault_fits(fault):
    assert not faults.misfit(fault)
