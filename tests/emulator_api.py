#!/usr/bin/env python3
"""The emulator's device headers offer what those of common/device do, and nothing else.

A header of common/device that holds inline assembly has a shadow in common/emulator/device, which
the emulated build finds first. Both must declare the same functions with the same parameters; the
shadow's may take one more at the end, the line that calls.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEVICE = ROOT / "common" / "device"
SHADOWS = ROOT / "common" / "emulator" / "device"

# A function at the beginning of a line or inside a struct, with its template parameters.
FUNCTION = re.compile(
    r"^\ *(?P<template>template\ <[^>]*>\s*)?"
    r"(?P<qualifiers>(?:DEVICE|inline|__host__|__device__|constexpr|static)\b[\w\s]*?)"
    r"(?P<returns>\b[\w:]+\s+[&*]?)(?P<name>\w+)"
    r"\((?P<parameters>(?:[^()]|\([^()]*\))*)\)\s*[{;]",
    re.MULTILINE | re.VERBOSE,
)
STRUCT = re.compile(r"^struct (\w+) \{$.*?^\};$", re.MULTILINE | re.DOTALL)

failed = 0


def case(name, problems):
    """Prints one case; it failed if there are problems, of which the first is shown."""
    global failed
    failed += bool(problems)
    print(f"not ok - {name}: {problems[0]}" if problems else f"ok - {name}")


def plain(text):
    """The text without comments, and with single blanks."""
    return re.sub(r"\s+", " ", text).strip()


def without_site(parameters):
    """A parameter list without the line that calls."""
    return re.sub(r"(^|, )EMULATOR_SITE$", "", plain(parameters))


def scopes(source):
    """The struct that each part of the source belongs to ("" outside), and the part."""
    end = 0
    for struct in STRUCT.finditer(source):
        yield "", source[end : struct.start()]
        yield struct.group(1) + "::", struct.group(0)
        end = struct.end()
    yield "", source[end:]


def functions(header):
    """A header's functions: name -> the rest of the declaration, the line that calls left out."""
    source = re.sub(r"//.*|^\s*#.*", "", header.read_text(), flags=re.MULTILINE)
    found = {}
    for scope, part in scopes(source):
        for match in FUNCTION.finditer(part):
            declaration = (
                plain(match["template"] or ""),
                plain(match["qualifiers"]),
                plain(match["returns"]),
                without_site(match["parameters"]),
            )
            found.setdefault(scope + match["name"], declaration)
    return found


def differences(original, shadow):
    """What one of two headers declares and the other does not."""
    ours, theirs = functions(original), functions(shadow)
    problems = [f"the shadow lacks {name}" for name in ours.keys() - theirs.keys()]
    problems += [f"only the shadow has {name}" for name in theirs.keys() - ours.keys()]
    for name in sorted(ours.keys() & theirs.keys()):
        if ours[name] != theirs[name]:
            problems.append(f"{name} is {ours[name]} and, in the shadow, {theirs[name]}")
    return problems


def main():
    """Compares all headers."""
    originals = {path.name: path for path in DEVICE.iterdir()}
    shadows = {path.name: path for path in SHADOWS.iterdir()}
    for name, path in sorted(originals.items()):
        text = path.read_text()
        assembly = re.search(r"\basm\b", text)
        missing = ["it holds assembly, and nothing shadows it"]
        case(
            f"{name}: shadowed if it has to be", missing if assembly and name not in shadows else []
        )
        knows = re.findall(r"\b\w*emulat\w*\b", text, re.IGNORECASE)
        case(f"{name}: does not know the emulator", [f"it says {word}" for word in knows])
    for name, path in sorted(shadows.items()):
        if name not in originals:
            case(f"{name}: shadows something", ["common/device has no header of that name"])
            continue
        declared = functions(originals[name])
        case(f"{name}: declares functions", [] if declared else ["none was found"])
        case(f"{name}: the same functions", differences(originals[name], path))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
