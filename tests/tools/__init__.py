"""What the tests share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
# Rungs whose standalone files are tested on a GPU.
STANDALONE = ["v01", "v07", "s01", "s07", "a01", "a02", "a06", "t01", "t02", "t08", "f01", "f07"]
FULL = os.environ.get("FULL") == "1"  # everything, as CI runs it
GPU = any(path.exists() for path in (*Path("/dev").glob("nvidia[0-9]*"), Path("/dev/dxg")))


def tool(name: str) -> str | None:
    """Where a tool of the CUDA Toolkit is, as the Makefile finds it."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which(name) or shutil.which(name, path=f"{toolkit}/bin")


NVCC = tool("nvcc")


def call(*command, env=(), ends_well=False, **how) -> subprocess.CompletedProcess:
    """Runs a command to its end. All that it says is in stdout; `env` is added to the environment."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "errors": "replace", **how}
    words, env = [*map(str, command)], {**os.environ, **dict(env)}
    ended = subprocess.run(words, check=False, text=True, env=env, **how)
    assert not ends_well or ended.returncode == 0, ended
    return ended


@cache
def git(*words: str) -> list[str]:
    """The lines that git prints; none if this is no clone."""
    ended = call("git", "-C", ROOT, *words, stderr=subprocess.DEVNULL)
    return ended.stdout.splitlines() if ended.returncode == 0 else []


@cache
def touched() -> set[str]:
    """The names, without their ends, of files that differ from the commit where the branch left origin's,
    or from HEAD without an origin: of a rung its number alone."""
    base = git("merge-base", "HEAD", "origin/HEAD") or ["HEAD"]
    names = [*git("diff", "--name-only", *base), *git("ls-files", "-o", "--exclude-standard")]
    return {Path(re.sub("^(steps/[^_]*).*", r"\1", name)).stem for name in names}
