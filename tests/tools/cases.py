"""Cases of a test as functions: each is called with an empty folder and raises an error if it fails; its
docstring's first sentence names it. And what they share: assertions, and a program's run."""

from __future__ import annotations

import subprocess
import tempfile

from tools import case, exit_status, skip


def run(*command):
    """Runs a program and returns its result with captured text."""
    command = list(map(str, command))
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


class Skipped(Exception):
    """The case cannot run on this machine: why."""


def require(condition, why="not so"):
    """AssertionError, also under python -O."""
    if not condition:
        raise AssertionError(why)


def same(found, wanted):
    """Equal, or an AssertionError that shows both."""
    require(found == wanted, f"found {found!r}, wanted {wanted!r}")


def close(found, wanted):
    """Equal but for rounding."""
    require(abs(found - wanted) <= 1e-9 * abs(wanted), f"found {found!r}, wanted {wanted!r}")


def holds(text, *words):
    """All of these are in the text."""
    for word in words:
        require(word in text, f"no '{word}' in {text}")


def refused(why, function, *arguments):
    """Why the function raises an error, in one line that has these words in it."""
    try:
        function(*arguments)
    except Exception as error:  # noqa: BLE001 (the words say whether it is the right one)
        require(why in str(error) and "\n" not in str(error), f"wanted '{why}': {error}")
        return str(error)
    raise AssertionError(f"'{why}' was not refused")


def tests_in(names):
    """The functions of a module that are called test_..., in their order."""
    return [test for name, test in names.items() if name.startswith("test_") and callable(test)]


def run_cases(what, tests):
    """Runs all tests; returns the exit status."""
    for test in tests:
        name = f"{what}: {' '.join(test.__doc__.split('.')[0].split())}"
        try:
            with tempfile.TemporaryDirectory() as folder:
                test(folder)
            case(name)
        except Skipped as why:
            skip(name, str(why))
        except Exception as error:  # noqa: BLE001 (any error in a test is a failed test)
            case(name, f"{type(error).__name__}: {error}".replace("\n", " "))
    return exit_status()
