"""How pytest runs the project's tests, with what pytest lacks.

Marks: needs("emulated/{rung}") names what make has to build below build/, {rung} being the test's
parameter; gpu and nvcc say what machine a test needs; alone, that nothing may run beside it; full, that
it runs with FULL=1 only; check, that `make check` runs it.

`make test ARGS=word` runs the tests with that word in their names. Under STRICT=1, as in CI, what is
skipped has failed, unless it needs a GPU, or nvcc where there is none.
"""

from __future__ import annotations

import fcntl
import os
import re
import signal
from pathlib import Path

import pytest

from tools import BUILD, FULL, GPU, NVCC, ROOT, touched

STRICT = os.environ.get("STRICT") == "1"
LIMIT = int(os.environ.get("TEST_LIMIT", "900"))  # seconds for one test
MARKS = ("needs", "gpu", "nvcc", "alone", "full", "check")
MAY_LACK = re.compile(r"(needs|no) (an? )?(NVIDIA )?(GPU" + ("" if NVCC else "|nvcc") + r")\b")
# Neither another policy or card, nor what make exports, may reach the programs. The driver maps
# memory where the address sanitizer keeps a gap; 99 sets its exit status apart.
for name in [*os.environ]:
    if re.match(r"EMULATOR_|MAKE|MFLAGS$|(N|V|ARGS|EMULATE|TRACK|SIZES|PROTOCOL)$", name):
        del os.environ[name]
os.environ["EMULATOR_STORY"] = "0"  # below reports: tests of it set it
os.environ["GEMM_LADDER_TUNED"] = ""  # no test writes to the user's file
os.environ.update(LC_ALL="C", ASAN_OPTIONS="protect_shadow_gap=0:exitcode=99")
os.environ["UBSAN_OPTIONS"] = "print_stacktrace=1"


# ---------------------------------------------------------------- what a test needs


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


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Nothing runs beside what times."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "running.lock", "w") as running:
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
def pytest_runtest_call():
    signal.signal(signal.SIGALRM, end_late)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    """Under STRICT=1 a skip is a failure, of a whole module as well."""
    report = (yield).get_result()
    if STRICT and report.skipped and not MAY_LACK.search(report.longrepr[2]):
        report.outcome, report.longrepr = "failed", f"under STRICT=1: {report.longrepr[2]}"


pytest_make_collect_report = pytest_runtest_makereport


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


def is_chosen(item, config) -> bool:
    words = config.getoption("words").split()
    if item.get_closest_marker("full") and not FULL:
        return False
    if config.getoption("check") and not item.get_closest_marker("check"):
        return any(re.search(rf"\b{word}\b", item.nodeid) for word in touched())
    return not words or any(word in item.nodeid for word in words)


def pytest_collection_modifyitems(config, items):
    """What nothing may run beside comes last."""
    chosen = [item for item in items if is_chosen(item, config)]
    chosen.sort(key=lambda item: item.get_closest_marker("alone") is not None)
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen
    if config.getoption("needs"):
        needed = {target for item in items if not lacks(item) for target in targets_of(item)}
        lines = [f"{BUILD.relative_to(ROOT)}/{target}\n" for target in sorted(needed)]
        Path(config.getoption("needs")).write_text("".join(lines))
        items.clear()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if session.config.getoption("needs"):
        session.exitstatus = 0  # though no test ran
