"""A header of common/device with calls of the emulator for its inline PTX: make/links.mk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from emulator.translate.cxx import without_comments
from emulator.translate.instructions import CORE, HERE
from emulator.translate.ptx import translate

# A device function, the parenthesis after its parameters, and its body; or one with specialisations.
FUNCTION = re.compile(
    r"^( *)((?:template <> )?DEVICE [^;{]*?)(\)(?:;$|(?: const)? \{(?:[^\n]*\}$|.*?^\1\})))",
    re.MULTILINE | re.DOTALL,
)
DEFINITION = re.compile(r"^#define (?:.*\\\n)*.*\n", re.MULTILINE)


def by_caller(found: re.Match) -> str:
    """A function whose instructions take the caller's line for their own."""
    indent, head, body = found.groups()
    body = re.sub(r"\b(shared_address|mbarrier_init)\(([^()]*)\)", r"::\1(\2, where)", body)
    if HERE not in body and ", where)" not in body and body != ");":
        return found.group()
    comma = "" if head.endswith("(") else ", "
    default = "" if head.startswith("template <>") else f" = {HERE}"
    return f"{indent}{head}{comma}::emulator::Site where{default}{body.replace(HERE, 'where')}"


def expanded(path: str, text: str) -> str:
    """With its own macros and those of the headers that it includes, which may write asm."""
    included = re.findall(r'^#include "(.*)"', text, re.MULTILINE)
    files = "\n".join((Path(path).parents[1] / name).read_text("utf-8") for name in included)
    begin = f'# 1 "{path}"\n'
    given = "".join(DEFINITION.findall(files)) + begin
    given += re.sub(r"^#(?=include|pragma)", "@", text, flags=re.MULTILINE)
    command = [os.environ.get("CXX", "g++"), "-E", "-x", "c++", "-"]
    said = subprocess.check_output(command, input=given, encoding="utf-8")
    return re.sub("^@", "#", said.partition(begin)[2], flags=re.MULTILINE)


header = sys.argv[1]
source = without_comments(Path(header).read_text(encoding="utf-8"))
cpp = translate(expanded(header, source) if DEFINITION.search(source) else source, 1, header)
if unknown := re.search(rf"{CORE}unknown\(.*?\)", cpp):  # an error here, even if nothing calls it
    sys.exit(f"{header}: {unknown[0]}")
# A poll in a loop that does nothing else is a wait.
cpp = re.sub(r"Poll::TRY(?=\);[^}]*\}\s+if \(!)", "Poll::UNTIL_DONE", FUNCTION.sub(by_caller, cpp))
print(f'#include "emulator/ptx.h"\n#line 1 "{header}"\n{cpp}', end="")
