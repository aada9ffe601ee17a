"""How pytest runs the project's tests, with what pytest lacks.

Programs in C, C++ and CUDA are collected by their sources: each prints a line a case, `ok - NAME`,
`not ok - NAME: why` or `skip - NAME: why`, and exits with 0, with 1 if a case failed, or with 77 if it
could run none. Their cases are counted, in the closing line as well.

Marks: needs("emulated/{rung}") names what make has to build below build/, {rung} being the test's
parameter; gpu and nvcc say what machine a test needs; alone, that nothing may run beside it; full, that
it runs with FULL=1 only; check, that `make check` runs it; seconds(40), how long it takes, where
nothing is known of a run before; cached("bench/*.py", knows=RUNGS), that its verdict depends on nothing
but its own source, its parameters, what it needs, HELPERS, those files and that value: a pass is
remembered, and FULL=1 forgets it.

`make test ARGS=word` runs the tests with that word in their names. Under STRICT=1, as in CI, what is
skipped has failed, unless it needs a GPU, or nvcc where there is none.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from tools import BUILD, FULL, GPU, NVCC, ROOT, call, touched

STATE = BUILD / "tests"
SECONDS = STATE / "seconds.json"  # how long each test took when it ran last
VERDICTS = STATE / "verdicts"  # a file for each pass that is remembered, with what it counts
STRICT = os.environ.get("STRICT") == "1"
HELPERS = (
    "conftest.py",
    "tests/tools/*.py",
    "planted/*.py",
    "exercises/*.*",
)  # what cached tests call
LIMIT = int(os.environ.get("TEST_LIMIT", "900"))  # seconds for one test
NOT_RUN = 77  # the exit status of a program that can run no case here
MARKS = ("needs", "gpu", "nvcc", "alone", "full", "check", "seconds", "cached")
MAY_LACK = re.compile(r"(needs|no) (an? )?(NVIDIA )?(GPU" + ("" if NVCC else "|nvcc") + r")\b")
# Sources of programs: how make ends the name of each below build/, and its marks.
PROGRAMS = {
    ("tests/unit", ".c"): {"": "check"},
    ("tests/gpu", ".c"): {"": "nvcc gpu"},
    ("tests/device", ".cpp"): {"": "check"},
    ("tests/device", ".cu"): {"-emulated": "cached", "-gpu": "nvcc gpu"},
    ("tests/library", ".cpp"): {"-emulated": "", "-gpu": "nvcc gpu"},
    ("emulator/tests", ".cpp"): {"": "check"},
}
# Neither another policy or card, nor what make exports, may reach the programs. Tests of the host
# side give the same answer whether or not there is a GPU. The driver maps memory where the address
# sanitizer keeps a gap; 99 sets its exit status apart.
for name in [*os.environ]:
    if re.match(r"EMULATOR_|MAKE|MFLAGS$|(N|V|ARGS|EMULATE|TRACK|SIZES|PROTOCOL)$", name):
        del os.environ[name]
os.environ["EMULATOR_STORY"] = "0"  # below reports: tests of it set it
os.environ["GEMM_LADDER_TUNED"] = ""  # no test writes to the user's file
os.environ.update(LC_ALL="C", ASAN_OPTIONS="protect_shadow_gap=0:exitcode=99")
os.environ["UBSAN_OPTIONS"] = "print_stacktrace=1"


# ---------------------------------------------------------------- programs


def pytest_collect_file(file_path, parent):
    kind = str(file_path.parent.relative_to(ROOT)), file_path.suffix
    is_program = kind in PROGRAMS and file_path.name.startswith("test_")
    return Source.from_parent(parent, path=file_path) if is_program else None


class Source(pytest.File):
    def collect(self):
        folder = str(self.path.parent.relative_to(ROOT))
        for suffix, marks in PROGRAMS[folder, self.path.suffix].items():
            item = Program.from_parent(self, name=f"{self.path.stem}{suffix}")
            item.add_marker(pytest.mark.needs(f"{folder}/{item.name}"))
            for mark in [*marks.split(), *(["alone"] if "timing" in item.name else [])]:
                item.add_marker(mark)
            yield item


class Program(pytest.Item):
    def runtest(self):
        hidden = {} if self.get_closest_marker("gpu") else {"CUDA_VISIBLE_DEVICES": "-1"}
        programs = [BUILD / target for target in targets_of(self)]
        ended = call(*programs, env=hidden, cwd=ROOT, stdin=subprocess.DEVNULL)
        found = re.findall(r"^(ok|not ok|skip) - (.*)$", ended.stdout, re.MULTILINE)
        counts = [sum(kind == one for kind, _ in found) for one in ("ok", "not ok", "skip")]
        said = re.sub(r"^(ok|skip) - .*\n", "", ended.stdout, flags=re.MULTILINE)
        if ended.returncode == NOT_RUN and not counts[0] and not counts[1]:
            pytest.skip(found[0][1] if found else said.strip() or "it says not why")
        wrong = [f"skipped: {why}\n" for kind, why in found if kind == "skip" and refused(why)]
        if ended.returncode or counts[1] or not counts[0] or wrong:
            end = f"{counts[0]} cases ok, exit status {ended.returncode}"
            pytest.fail("".join([said, *wrong, end]), pytrace=False)
        self.user_properties.append(("cases", counts))

    def reportinfo(self):
        return self.path, 0, self.name


# ---------------------------------------------------------------- what a test needs, and its verdict


def targets_of(item) -> list[str]:
    """What make has to build for it, below build/."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return [
        target.format(**parameters) for mark in item.iter_markers("needs") for target in mark.args
    ]


def lacks(item) -> str:
    """What this machine lacks for it."""
    if item.get_closest_marker("gpu") and not GPU:
        return "needs a GPU"
    return "needs nvcc" if item.get_closest_marker("nvcc") and not NVCC else ""


def refused(why: str) -> bool:
    return STRICT and not MAY_LACK.search(why)


@cache
def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"


def verdict_of(item) -> Path | None:
    """The file that says that it passed with these objects. A program itself has the commit in it."""
    mark = item.get_closest_marker("cached")
    if FULL or not mark:
        return None
    called = [path for one in (*HELPERS, *mark.args) for path in sorted(ROOT.glob(one))]
    paths = [item.path, *called]
    for made in [BUILD / target for target in targets_of(item)]:
        paths.append(Path(f"{made}.o") if Path(f"{made}.o").exists() else made)
    paths += [BUILD / "emulated/harness/libharness.a", BUILD / "emulator/libemulator.a"]
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    key = [item.nodeid, repr(parameters), repr(mark.kwargs), *map(digest, paths)]
    return VERDICTS / hashlib.sha256("\n".join(key).encode()).hexdigest()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Nothing runs beside what times."""
    STATE.mkdir(parents=True, exist_ok=True)
    with open(STATE / "running.lock", "w") as running:
        fcntl.flock(running, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        yield


def end_late(*_):
    raise TimeoutError(f"no end after {LIMIT} s")


def pytest_runtest_setup(item):
    if lacks(item):
        pytest.skip(lacks(item))
    missing = [target for target in targets_of(item) if not (BUILD / target).exists()]
    if packages := [target for target in missing if target.startswith("venv/")]:
        pytest.skip(f"needs the packages of {Path(packages[0]).stem}/requirements.txt")
    assert not missing, f"make did not build {', '.join(missing)}: it says why"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    verdict = verdict_of(item)
    if verdict and verdict.exists():
        item.user_properties += [("known", 1), *json.loads(verdict.read_text())]
        item.runtest = lambda: None
    signal.signal(signal.SIGALRM, end_late)
    signal.alarm(LIMIT)
    outcome = yield
    signal.alarm(0)
    if verdict and not outcome.excinfo:
        VERDICTS.mkdir(exist_ok=True)
        verdict.write_text(json.dumps([one for one in item.user_properties if one[0] != "known"]))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Under STRICT=1 a skip is a failure."""
    report = (yield).get_result()
    if report.skipped and refused(report.longrepr[2] if report.longrepr else ""):
        report.outcome, report.longrepr = "failed", f"under STRICT=1: {report.longrepr[2]}"


# ---------------------------------------------------------------- which tests, and in which order


def pytest_addoption(parser):
    parser.addoption("--words", default="", help="tests with one of these words in their names")
    parser.addoption("--check", action="store_true", help="what was touched, and what is quick")
    parser.addoption("--needs", metavar="FILE", help="write what make has to build; run none")


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", f"{mark}: see conftest.py")
    if hasattr(config.option, "maxschedchunk"):
        config.option.maxschedchunk = 1  # else the slowest go to one worker
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config), "progress")


def is_chosen(item, config) -> bool:
    words = config.getoption("words").split()
    if item.get_closest_marker("full") and not FULL:
        return False
    if config.getoption("check") and not item.get_closest_marker("check"):
        return any(re.search(rf"\b{word}\b", item.nodeid) for word in touched())
    return not words or any(word in item.nodeid for word in words)


def estimate(item, before: dict[str, float]) -> float:
    mark = item.get_closest_marker("seconds")
    return before.get(item.nodeid, float(mark.args[0]) if mark else 0.1)


def seconds_before() -> dict[str, float]:
    return json.loads(SECONDS.read_text()) if SECONDS.exists() else {}


def write_seconds(seconds: dict[str, float]) -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    SECONDS.write_text(json.dumps(seconds, indent=0, sort_keys=True))


def pytest_collection_modifyitems(config, items):
    chosen = [item for item in items if is_chosen(item, config)]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    before = seconds_before()
    chosen.sort(key=lambda item: -estimate(item, before))
    chosen.sort(key=lambda item: item.get_closest_marker("alone") is not None)
    items[:] = chosen
    if config.getoption("needs"):
        needed = {target for item in items if not lacks(item) for target in targets_of(item)}
        lines = [f"{BUILD.relative_to(ROOT)}/{target}\n" for target in sorted(needed)]
        Path(config.getoption("needs")).write_text("".join(lines))
        # Of tests that never ran, for the time left: the process that shows it sees no marks.
        write_seconds({**{item.nodeid: estimate(item, before) for item in items}, **before})
        items.clear()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    progress = session.config.pluginmanager.getplugin("progress")
    if session.config.getoption("needs"):
        session.exitstatus = 0  # though no test ran
    elif progress and progress.counts[1]:
        session.exitstatus = 1  # pytest does not count a module that is skipped


# ---------------------------------------------------------------- what is shown


def pytest_report_teststatus(report):
    return report.outcome, "", ""  # Progress says it


class Progress:
    """What failed, at once; how far it is; and the closing line."""

    def __init__(self, config):
        self.config, self.before = config, seconds_before()
        self.seconds: dict[str, float] = {}
        self.ids: list[str] = []
        self.ended: set[str] = set()
        self.began = self.told = time.monotonic()
        self.counts, self.known = [0, 0, 0], 0

    @property
    def screen(self):
        """What pytest writes with, past its capture."""
        return self.config.pluginmanager.getplugin("terminalreporter")

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self.ids = ids

    def pytest_collection_finish(self, session):
        self.ids = self.ids or [item.nodeid for item in session.items]

    def pytest_collectreport(self, report):
        """A module that cannot be read, or that skips itself: each worker says so."""
        if report.passed or report.nodeid in self.ended:
            return
        self.ended.add(report.nodeid)
        failed = report.failed or refused(report.longrepr[2])
        self.counts[1 if failed else 2] += 1
        if failed:
            self.show(report)

    def pytest_runtest_logreport(self, report):
        spent = self.seconds.get(report.nodeid, 0)
        self.seconds[report.nodeid] = round(spent + report.duration, 2)
        properties = dict(report.user_properties)
        if report.failed:
            self.counts[1] += 1
            self.show(report)
        elif report.skipped:
            self.counts[2] += 1
        elif report.when == "call":
            self.known += properties.get("known", 0)
            cases = properties.get("cases", [1, 0, 0])
            self.counts = [sum(both) for both in zip(self.counts, cases)]
        if report.when == "teardown":
            self.ended.add(report.nodeid)
            self.tell()

    def show(self, report):
        variables = [f"{name}=1" for name in ("FULL", "STRICT") if os.environ.get(name) == "1"]
        command = [*variables, sys.executable, "-m", "pytest", report.nodeid]
        said = report.longreprtext or str(report.longrepr)
        text = f"FAILED {report.nodeid}\n{said}\n{(report.capstdout + report.capstderr)[-4000:]}"
        self.screen.ensure_newline()
        self.screen.write_line(f"{text.rstrip()}\nagain: {shlex.join(command)}\n")

    def tell(self):
        """A line that a terminal overwrites; in a log, one a minute."""
        now = time.monotonic()
        if now - self.told < (0.2 if self.screen.isatty else 60):
            return
        self.told = now
        share = sum(map(self.expected, self.ended)) / sum(map(self.expected, self.ids))
        left = (now - self.began) * (1 / share - 1)
        line = f"{len(self.ended)} of {len(self.ids)} tests, {left / 60:.1f} min left"
        if self.screen.isatty:
            self.screen.rewrite(line, erase=True)
        else:
            self.screen.write_line(line)

    def expected(self, name: str) -> float:
        return max(self.before.get(name, 0.2), 0.01)  # many take less than is recorded

    def pytest_unconfigure(self):
        if self.config.getoption("needs") or self.config.option.collectonly:
            return
        write_seconds({**self.before, **self.seconds})
        slowest = sorted(self.seconds.items(), key=lambda one: -one[1])[:5]
        known = f"; {self.known} known from before" if self.known else ""
        print(f"slowest: {', '.join(f'{name} {took:.0f} s' for name, took in slowest)}{known}")
        line = "{} passed, {} failed, {} skipped".format(*self.counts)
        (STATE / "summary").write_text(f"{line}\n")
        print(line, flush=True)
