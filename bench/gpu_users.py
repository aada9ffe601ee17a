"""Who else uses the GPU: a speed that is measured beside another process says little."""

from __future__ import annotations

import os
import shutil
import subprocess
import time

from bench import process
from bench.records import recorded


class Busy(Exception):
    """Another process uses the GPU, and nobody said that it may."""


def visible(device):
    """What nvidia-smi calls the device of that number: CUDA_VISIBLE_DEVICES may rename it."""
    names = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return names[device] if device < len(names) and names[device] else str(device)


def as_process(line):
    """A line of nvidia-smi's; the name in its middle may have commas of its own."""
    pid, _, rest = line.partition(",")
    name, _, memory = rest.rpartition(",")
    seen = recorded.as_date(time.gmtime())
    words = {"pid": pid, "name": name, "memory": memory}
    return {**{key: text.strip() or "unknown" for key, text in words.items()}, "seen": seen}


def ask(program, device):
    """(the processes that use the GPU, None), or (None, why that isn't known)."""
    found = shutil.which(program)
    if found is None:
        return None, f"{program} was not found"
    query = "--query-compute-apps=pid,process_name,used_memory"
    command = [found, query, "--format=csv,noheader", "-i", visible(device)]
    try:
        result = subprocess.run(
            command, check=False, capture_output=True, text=True, errors="replace", timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"{program}: {error}"
    if result.returncode != 0:
        said = process.last_line(result.stderr) or process.last_line(result.stdout)
        return None, f"{program}: exit status {result.returncode}: {said}"
    return [as_process(line) for line in result.stdout.splitlines() if "," in line], None


def described(one):
    """'process 4711 (python3, 1234 MiB)'"""
    return f"process {one['pid']} ({one['name']}, {one['memory']})"


class Users:
    """The processes that were seen beside the ladder."""

    def __init__(self, options):
        self.program, self.device = options.nvidia_smi, options.device
        self.allowed = options.share_gpu
        self.found, self.why_not = {}, None

    def look(self):
        """Looks once; returns those that weren't seen before."""
        processes, self.why_not = ask(self.program, self.device)
        new = [one for one in processes or [] if one["pid"] not in self.found]
        self.found.update((one["pid"], one) for one in new)
        return new

    def refuse(self):
        """Looks before the first run. Busy if somebody is there who isn't allowed to."""
        new = self.look()
        if new and not self.allowed:
            raise Busy(
                f"the GPU is in use by {', '.join(map(described, new))}: nothing is measured; "
                "--share-gpu measures in any case, and writes that down"
            )

    def record(self):
        """As it stands in a run's JSON."""
        return {
            "looked": self.why_not is None,
            "why_not": self.why_not,
            "allowed": self.allowed,
            "found": list(self.found.values()),
        }
