"""What to run: the options, built programs and shapes that the programs in bench/ share."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from bench.records import recorded

DEFAULT_SIZE = 8192
DEFAULT_MOVED_SIZE = 32768


class UsageError(Exception):
    """The command line asks for something that cannot be done: exit status 2."""


def positive(text):
    """An argparse type: an integer from 1 to 2^31 - 1."""
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) < 2**31:
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer from 1 to 2147483647")
    return int(text)


def up_to_64_or_all(text):
    """An argparse type: an integer from 0 to 64, or 'all'."""
    if text == "all":
        return text
    if not re.fullmatch(r"[0-9]{1,2}", text) or int(text) > 64:
        raise argparse.ArgumentTypeError(f"'{text}' is neither an integer from 0 to 64 nor 'all'")
    return int(text)


def unsigned64(text):
    """An argparse type: an integer from 0 to 2^64 - 1."""
    if not re.fullmatch(r"[0-9]{1,20}", text) or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer from 0 to 2^64 - 1")
    return int(text)


def add_selection(
    add, subfolder="steps", shape=f"{DEFAULT_SIZE}; {DEFAULT_MOVED_SIZE} for track t"
):
    """The options that say which programs run on which problem; other programs here share them."""
    add("--steps", metavar="v01,v02-x,...", help="what to run (default: all that is built)")
    add(
        "--build",
        metavar="DIR",
        type=Path,
        action="append",
        help=f"where the programs are, in DIR/{subfolder}; may be repeated (default: build)",
    )
    add("--size", type=positive, metavar="N", help=f"m = n = k = N (default: {shape})")
    for name in ("--m", "--n", "--k"):
        add(name, type=positive, metavar="N")
    add("--inputs", choices=("normal", "uniform", "integers", "bits"), default="normal")
    add("--seed", type=unsigned64, default=1)


def add_sizes(add, lists=""):
    """The option that asks for several shapes; `lists` are those that have a name."""
    add(
        "--sizes",
        metavar="LIST",
        help=f"shapes, with commas between: 8192, 4096x14336x4096 (t track: 4096x16384){lists}",
    )
    add("--validate", action="store_true", help="check the options; nothing needs to be built")


def check_size(options):
    """UsageError if --size and another dimension are given."""
    if options.size is not None and any((options.m, options.n, options.k)):
        raise UsageError("--size sets m, n and k: give either --size or --m --n --k")


def step_name(text):
    """'v07' for v07, v7 or 7; 'v06-each-sm' for the variant, with the same freedom; a rival's name
    as it is."""
    if recorded.NAME.fullmatch(text.strip()) and recorded.is_rival(text.strip()):
        return text.strip()
    match = re.fullmatch(r"([vat]?)([0-9]{1,2})(-[a-z0-9-]+)?", text.strip())
    if not match:
        raise UsageError(f"--steps: '{text}' is not a rung; write for instance v01,v02,v07")
    return f"{match.group(1) or 'v'}{int(match.group(2)):02}{match.group(3) or ''}"


def is_program(path):
    """True for a file that can be executed."""
    return path.is_file() and os.access(path, os.X_OK)


def built_programs(builds, subfolder):
    """Every rung and variant in the build directories: a map from its name to its path."""
    found = {}
    for folder in (build / subfolder for build in builds):
        if not folder.is_dir():
            raise UsageError(f"no built rung in {folder}: run 'make ladder', or name --build DIR")
        for path in folder.glob("[vat]*"):
            if not recorded.NAME.fullmatch(path.name) or not is_program(path):
                continue
            if found.setdefault(path.name, path.resolve()) != path.resolve():
                raise UsageError(f"--build: {path.name} is built in more than one of them")
    return found


def find_programs(builds, steps, subfolder="steps", tracks="v"):
    """What to run, lowest first and a variant after its rung: a list of (name, path). Without
    `steps` that is everything of the tracks."""
    builds = builds or [recorded.ROOT / "build"]
    places = ", ".join(str(build / subfolder) for build in builds)
    built = built_programs(builds, subfolder)
    if steps is None:
        names = [name for name in built if name[0] in tracks]
        if not names:
            raise UsageError(f"no built rung in {places}: run 'make ladder', or name --build DIR")
    else:
        names = {step_name(text) for text in steps.split(",")}
    missing = sorted(name for name in names if name not in built)
    if missing:
        raise UsageError(
            f"{', '.join(missing)}: not built in {places} ('make step N=...' builds a rung, "
            "'make variants' all variants)"
        )
    return [(name, built[name]) for name in sorted(names, key=recorded.name_order)]


def check_destination(out):
    """Refuses a file that could not be written, before anything is run."""
    folder = out.parent if out else recorded.RESULTS
    if out and recorded.is_written_to(out):
        if not os.access(out, os.W_OK):
            raise UsageError(f"--out: {out} is not writable")
        return
    if not folder.is_dir():
        raise UsageError(f"--out: the directory {folder} does not exist")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"--out: the directory {folder} is not writable")
    if out and out.exists() and not out.is_file():
        kind = "a directory" if out.is_dir() else "neither a file nor a device or pipe to write to"
        raise UsageError(f"--out: {out} is {kind}; name a file")
