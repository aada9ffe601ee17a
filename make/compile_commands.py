"""Makes compile_commands.json, on stdout, of the commands that make would run, on stdin. clangd then
knows each source as the emulator's build compiles it, and a device header as it compiles a rung.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

# What g++ alone knows, and lists of headers.
FOREIGN = (
    "-fno-store-merging",
    "-fno-tree-sra",
    "--param=",
    "-fno-trapping-math",
    "-fno-gnu-unique",
    "-M",
)


def entries(lines: list[str]) -> list[dict]:
    """An entry for each command that compiles."""
    found = []
    for line in lines:
        words = shlex.split(line) if " -c " in line and " -o " in line else []
        command = words[: words.index("||")] if "||" in words else words
        if "-c" not in command or not Path(command[command.index("-c") + 1]).exists():
            continue
        arguments = [
            word for word in command if not word.startswith(FOREIGN) and not word.endswith(".d")
        ]
        arguments[1:1] = ["-include", "make/clangd.h"] if "-std=c++20" in arguments else []
        source, output = (command[command.index(option) + 1] for option in ("-c", "-o"))
        found.append(
            {"directory": str(Path.cwd()), "arguments": arguments, "file": source, "output": output}
        )
    return found


def with_headers(found: list[dict]) -> list[dict]:
    """Those of headers too, for which clangd would else take the nearest C source's."""
    rung = next(entry for entry in found if entry["file"].endswith(".cu"))
    for header in sorted(Path("common").rglob("*.cuh")):
        arguments = [str(header) if word == rung["file"] else word for word in rung["arguments"]]
        found.append({**rung, "arguments": arguments, "file": str(header)})
    return found


def main() -> int:
    found = with_headers(entries(sys.stdin.read().splitlines()))
    json.dump(found, sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
