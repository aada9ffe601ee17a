"""Other processes on the GPU: a speed that is measured beside one of them means little."""

from __future__ import annotations

import os
import time

from bench import process
from bench.records import recorded

QUERY = ("--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader", "-i")
SECONDS = 60  # that it may take to answer


class Busy(Exception):
    """Another process uses the GPU, and --share-gpu was not given."""


def add_options(add):
    """What Users takes of the command line beside --device."""
    add(
        "--share-gpu",
        action="store_true",
        help="record even if another process uses the GPU, and note that in the JSON",
    )
    add("--nvidia-smi", default="nvidia-smi", metavar="PROGRAM", help="default: the one on PATH")


def as_process(line):
    """A line of nvidia-smi's; the name in its middle may have commas of its own."""
    pid, _, rest = line.partition(",")
    name, _, memory = rest.rpartition(",")
    seen = recorded.as_date(time.gmtime())
    words = {"pid": pid, "name": name, "memory": memory}
    return {**{key: text.strip() or "unknown" for key, text in words.items()}, "seen": seen}


def described(one):
    """'process 4711 (python3, 1234 MiB)'"""
    return f"process {one['pid']} ({one['name']}, {one['memory']})"


class Users:
    """The processes that were seen beside the ladder."""

    def __init__(self, options):
        # What nvidia-smi calls the device of that number: CUDA_VISIBLE_DEVICES may rename it.
        names = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[options.device :]
        device = (names or [""])[0].strip() or str(options.device)
        self.command = [options.nvidia_smi, *QUERY, device]
        self.allowed = options.share_gpu
        self.found, self.why_not = {}, None

    def look(self):
        """Looks once; returns those that weren't seen before."""
        self.why_not = None
        try:
            status, output, errors = process.execute(self.command, SECONDS)
            if status != 0:
                raise process.RungFailed(process.explain(status, output, errors))
        except process.RungFailed as error:
            output, self.why_not = "", f"nvidia-smi: {error}"
        found = [as_process(line) for line in output.splitlines() if "," in line]
        new = [one for one in found if one["pid"] not in self.found]
        self.found.update((one["pid"], one) for one in new)
        return new

    def refuse(self):
        """Looks before the first run. Busy if there is another process that is not allowed."""
        new = self.look()
        if new and not self.allowed:
            raise Busy(
                f"the GPU is in use by {', '.join(map(described, new))}: nothing is measured; "
                "--share-gpu measures anyway, and records that"
            )

    def record(self):
        """As a run's JSON has it."""
        return {
            "looked": self.why_not is None,
            "why_not": self.why_not,
            "allowed": self.allowed,
            "found": list(self.found.values()),
        }
