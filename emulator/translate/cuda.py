"""CUDA C++ that g++ lacks, rewritten for the emulator (emulator/translated.h): launches,
__shared__ variables, __cluster_dims__. Line numbers stay as they are.
"""

from __future__ import annotations

import bisect
import re

from .cxx import CLOSING, OPENING, blanked
from .ptx import Unknown

MANY = 1000


def masked(text: str) -> str:
    """The text with blanks for comments and the insides of strings: what is left is code."""
    return blanked(text, inside_of_strings)


def inside_of_strings(kind: str, piece: str) -> str:
    if kind not in ("string", "raw", "char"):
        return piece
    first, last = piece.index(piece[-1]), len(piece) - 1
    return piece[: first + 1] + re.sub(r"[^\n]", " ", piece[first + 1 : last]) + piece[last]


class Source:
    """A text, its code, and the edits to it."""

    def __init__(self, text: str, name: str):
        self.text, self.name, self.code = text, name, masked(text)
        self.edits: list[tuple[int, int, str]] = []
        self.problems: list[tuple[str, int, str]] = []
        self.line_starts = [0] + [found.end() for found in re.finditer("\n", text)]
        self.directives = [
            found.span() for found in re.finditer(r"(?m)^[ \t]*#(?:\\\n|[^\n])*", self.code)
        ]

    def line_of(self, place: int) -> int:
        return bisect.bisect_right(self.line_starts, place)

    def problem(self, place: int, what: str) -> None:
        self.problems.append((self.name, self.line_of(place), what))

    def directive_at(self, place: int) -> tuple[int, int] | None:
        """The span of the preprocessor's directive that the place is part of."""
        index = bisect.bisect_right(self.directives, (place, len(self.code))) - 1
        if index >= 0 and self.directives[index][0] <= place < self.directives[index][1]:
            return self.directives[index]
        return None

    def replace(self, begin: int, end: int, new: str) -> None:
        """Keeps the number of lines."""
        lines = self.text.count("\n", begin, end) - new.count("\n")
        backslash = "\\" if self.directive_at(begin) else ""
        self.edits.append((begin, end, new + (backslash + "\n") * lines))

    def edited(self) -> str:
        pieces, at = [], 0
        for begin, end, new in sorted(self.edits):
            pieces += [self.text[at:begin], new]
            at = end
        return "".join(pieces) + self.text[at:]

    def closing(self, opening: int, limit: int) -> int:
        """Where the bracket that opens there closes, or -1."""
        depth = 0
        for place in range(opening, limit):
            depth += self.code[place] in OPENING
            depth -= self.code[place] in CLOSING
            if depth == 0:
                return place
        return -1

    def first_outside(self, begin: int, limit: int, wanted: str) -> int:
        """The first of these characters outside of brackets, or -1."""
        depth = 0
        for place in range(begin, limit):
            character = self.code[place]
            if depth == 0 and character in wanted:
                return place
            depth += character in OPENING
            depth -= character in CLOSING
        return -1


# ---------------------------------------------------------------- launches


def callee_begin(code: str, end: int) -> int:
    """Where the expression before <<< begins: name, space::name, name<...>, and what names it in
    an object (call.kernel)."""
    place = end
    while True:
        while place > 0 and code[place - 1].isspace():
            place -= 1
        if place > 0 and code[place - 1] in ">)]":
            pairs = {">": "<", ")": "(", "]": "["}
            depth, close = 0, place - 1
            while close >= 0:
                depth += code[close] in ">)]"
                depth -= code[close] in pairs.values()
                if depth == 0:
                    break
                close -= 1
            place = max(close, 0)
            continue
        name = re.search(r"\w+$", code[:place])
        if not name:
            return place
        place = name.start()
        before = re.search(r"(::|\.|->)\s*$", code[:place])
        if not before:
            return place
        place = before.start()
        if not re.search(r"[\w>\])]\s*$", code[:place]):
            return place


def arguments_of(code: str) -> int:
    """How many arguments <...> has."""
    inside = code[1:-1]
    while True:
        plain = re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}|<[^<>]*>", "", inside)
        if plain == inside:
            return plain.count(",") + 1 if plain.strip() else 0
        inside = plain


def parameters_of_kernels(sources: list[Source]) -> dict[str, int]:
    """How many template parameters kernels have. One of whose name there are several has more than
    any launch gives."""
    found: dict[str, int] = {}
    definitions = re.compile(
        r"(?P<template>\btemplate\s*<[^;{}]*>)?[^;{}<>]*\b__global__\b(?P<header>[^;{}]*)\{"
    )
    for source in sources:
        for kernel in definitions.finditer(source.code):
            name = re.search(r"(\w+)\s*\(", ATTRIBUTES.sub("", kernel["header"]))
            if name is None:
                continue
            template = kernel["template"] or "<>"
            count = arguments_of(template[template.index("<") :])
            found[name[1]] = MANY if name[1] in found or "..." in template else count
    return found


def is_chosen_by_arguments(callee: str, parameters: dict[str, int]) -> bool:
    name = re.search(r"(\w+)\s*(<.*>)?\s*$", callee, re.DOTALL)
    return name is not None and arguments_of(name[2] or "<>") < parameters.get(name[1], 0)


def rewrite_launches(source: Source, parameters: dict[str, int]) -> None:
    for found in re.finditer(r"<<<", source.code):
        begin = callee_begin(source.code, found.start())
        directive = source.directive_at(found.start())
        limit = directive[1] if directive else len(source.code)
        end, depth = -1, 0
        for place in range(found.end(), limit):
            depth += source.code[place] in OPENING
            depth -= source.code[place] in CLOSING
            if depth == 0 and source.code.startswith(">>>", place):
                end = place
                break
        callee = source.text[begin : found.start()].strip()
        if end < 0 or not callee:
            continue  # a shift of streams
        if is_chosen_by_arguments(source.code[begin : found.start()], parameters):
            source.replace(
                begin,
                found.end(),
                f"emulator::launching([](auto... emulator_p) {{ {callee}(emulator_p...); }})"
                ".configured(",
            )
        else:
            source.replace(begin, begin, "emulator::launching(")
            source.replace(found.start(), found.end(), ").configured(")
        source.replace(end, end + 3, ")")


# ---------------------------------------------------------------- kernels


ATTRIBUTES = re.compile(r"\b__(?:launch_bounds|cluster_dims)__\s*\((?:[^()]|\([^()]*\))*\)")


def one_line(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").split())


def grid_constant_macros(sources: list[Source]) -> set[str]:
    """__grid_constant__, and the macros that may say it."""
    found = {"__grid_constant__"}
    for source in sources:
        for begin, end in source.directives:
            macro = re.match(r"\s*#\s*define\s+(\w+)(.*)", source.code[begin:end], re.DOTALL)
            if macro and "__grid_constant__" in macro[2]:
                found.add(macro[1])
    return found


def constant_parameters(
    source: Source, begin: int, end: int, macros: set[str]
) -> list[tuple[str, str]]:
    """The kernel's parameters that may be __grid_constant__: their texts and names."""
    header = ATTRIBUTES.sub(lambda one: " " * len(one.group()), source.code[begin:end])
    opening = header.find("(")
    closing = source.closing(begin + opening, end) if opening >= 0 else -1
    parameters, first = [], begin + opening + 1
    while 0 <= first < closing:
        last = source.first_outside(first, closing, ",")
        last = last if last >= 0 else closing
        text = one_line(source.code[first:last])
        name = re.search(r"(\w+)$", text)
        if name and macros & set(re.findall(r"\w+", text)):
            parameters.append((text, name[1]))
        first = last + 1
    return parameters


def rewrite_kernels(source: Source, macros: set[str]) -> None:
    """A kernel's body begins with what answers to a launch that asks for its attributes."""
    for found in re.finditer(r"\b__global__\b", source.code):
        directive = source.directive_at(found.start())
        limit = directive[1] if directive else len(source.code)
        body = source.first_outside(found.end(), limit, ";{")
        if body < 0 or source.code[body] == ";":
            continue
        described = []
        attribute = re.search(r"\b__cluster_dims__\s*\(", source.code[found.start() : body])
        if attribute:
            opening = found.start() + attribute.end() - 1
            closing = source.closing(opening, limit)
            described = [f"dim3({one_line(source.text[opening + 1 : closing])})"]
            source.replace(found.start() + attribute.start(), closing + 1, "")
        before = max(source.code.rfind(mark, 0, found.start()) for mark in ";{}") + 1
        bounds = re.search(r"\b__launch_bounds__\s*\(", source.code[before:body])
        if bounds:
            opening = before + bounds.end() - 1
            threads = one_line(source.text[opening + 1 : source.closing(opening, limit)])
            described = [*(described or ["dim3(0, 0, 0)"]), threads]
        new = f" if (emulator::describes_kernel({', '.join(described)})) return;"
        for text, name in constant_parameters(source, found.end(), body, macros):
            new += f" if constexpr (emulator::is_grid_constant(EMULATOR_TEXT({text})))"
            new += f" emulator::grid_constant(&{name}, sizeof {name});"
        source.replace(body + 1, body + 1, new)


# ---------------------------------------------------------------- shared memory

QUALIFIERS = re.compile(r"\b(extern|static|__shared__|__device__)\b")
ALIGNMENT = re.compile(r"\b(alignas|__align__|__attribute__)\s*(?=\()")


def scopes(source: Source) -> list[tuple[int, bool]]:
    """Where braces open and close, and whether what follows is inside of a function."""
    changes, stack = [(0, False)], []
    begin = 0  # of what comes before a brace
    for found in re.finditer(r"[{};]", source.code):
        place, character = found.start(), found.group()
        if source.directive_at(place):
            continue
        if character == "{":
            header = source.code[begin:place]
            inside = bool(stack) and stack[-1]
            names_scope = re.search(r"\bnamespace\b|\bextern\s*\"\s*\"\s*$", header)
            names_type = re.search(r"\b(struct|class|union|enum)\b[^()]*$", header)
            stack.append(inside or not (names_scope or names_type))
        elif character == "}" and stack:
            stack.pop()
        if character != ";":
            changes.append((place, bool(stack) and stack[-1]))
        begin = found.end()
    return changes


def names_declared(declaration: str) -> list[str]:
    """The names in `float a[8], b[8][4]`."""
    depth, angles, parts, part = 0, 0, [], ""
    for character in re.sub(r"\([^()]*\)|\{.*\}", "", declaration, flags=re.DOTALL):
        depth += character in "[("
        depth -= character in "])"
        angles += depth == 0 and character == "<"
        angles -= depth == 0 and character == ">"
        if character == "," and depth == 0 and angles == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    names = []
    for piece in [*parts, part]:
        plain = re.sub(r"(\s*\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])+\s*$", "", piece.rstrip())
        name = re.search(r"(\w+)\s*$", plain)
        names += [name.group(1)] if name else []
    return names


def without_alignment(declaration: str) -> tuple[str, str]:
    """The declaration without what asks for an alignment, and that."""
    asked = ""
    while True:
        found = ALIGNMENT.search(declaration)
        if not found:
            return declaration, asked
        depth = 0
        for place in range(found.end(), len(declaration)):
            depth += declaration[place] == "("
            depth -= declaration[place] == ")"
            if depth == 0:
                break
        asked += " " + declaration[found.start() : place + 1]
        declaration = declaration[: found.start()] + declaration[place + 1 :]


def rewrite_shared(source: Source) -> None:
    changes = scopes(source)
    places = [place for place, _ in changes]
    done = -1
    for found in re.finditer(r"\b__shared__\b", source.code):
        if found.start() < done or source.directive_at(found.start()):
            continue
        begin = max(source.code.rfind(mark, 0, found.start()) for mark in ";{}") + 1
        for first, last in source.directives:
            begin = last if begin <= last <= found.start() else begin
        label = re.search(
            r"\b(public|private|protected|default|case[^:;]*)\s*:",
            source.code[begin : found.start()],
        )
        begin += label.end() if label else 0
        begin += len(source.code[begin:]) - len(source.code[begin:].lstrip())
        done = source.first_outside(begin, len(source.code), ";")
        if done < 0:
            continue
        statement = source.text[begin:done]
        code = source.code[begin:done]
        in_function = changes[bisect.bisect_right(places, found.start()) - 1][1]
        number = source.line_of(found.start())
        names = names_declared(QUALIFIERS.sub(" ", code))
        plain = re.sub(r"//[^\n]*", "", QUALIFIERS.sub("", statement)).strip()
        if not names:
            source.problem(found.start(), "a __shared__ declaration without a name")
        elif re.search(r"\bextern\b", code):
            declare_dynamic(source, begin, done, plain, names[0], number, in_function)
        elif not in_function:
            source.problem(found.start(), f"__shared__ {names[0]} outside of a function")
        else:
            variables = f"EmulatorShared{number}_{found.start() - source.line_starts[number - 1]}"
            new = f"struct {variables} {{ {plain}; }}; "
            new += f"auto &{variables}_ = emulator::static_shared<{variables}>();"
            for name in names:
                new += f" auto &{name} = {variables}_.{name};"
            source.replace(begin, done + 1, new)


def declare_dynamic(
    source: Source, begin: int, end: int, plain: str, name: str, number: int, in_function: bool
) -> None:
    kind = f"EmulatorExtern{number}"
    plain, asked = without_alignment(plain)
    alias = re.sub(rf"\b{name}\b(?=[^\w]*$|\s*\[)", kind, plain, count=1)
    alias = f"struct EmulatorAligned{number} {{ {asked} char of; }}; typedef {alias}"
    call = f"emulator::extern_shared<{kind}, alignof(EmulatorAligned{number})>()"
    if in_function:
        source.replace(begin, end + 1, f"{alias}; {kind} &{name} = {call};")
        return
    # Outside of functions the name becomes a function's, and each use a call.
    source.replace(begin, end + 1, f"{alias}; static inline {kind} &{name}() {{ return {call}; }}")
    for use in re.finditer(rf"(?<![\w.])(?<!->)(?<!::){name}\b", source.code[end:]):
        place = end + use.start()
        source.replace(place + len(name), place + len(name), "()")


# ---------------------------------------------------------------- the rest

TWICE_INLINE = re.compile(
    r"\b(inline|__inline__)\b(?=(?:\s+(?:static|constexpr|__device__|__host__))*\s+__forceinline__\b)"
    r"|(?<=__forceinline__)(\s+)((?:static\s+|constexpr\s+|__device__\s+|__host__\s+)*)(inline|__inline__)\b"
)


# The kernel of a launch by addresses keeps its type.
CAST = re.compile(r"(?<=Kernel\()\s*\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)\s*&?(?=\s*[\w:])")


def rewrite_words(source: Source) -> None:
    for found in CAST.finditer(source.code):
        source.replace(*found.span(), "")
    for found in TWICE_INLINE.finditer(source.code):
        new = "" if found.group(1) else f"{found.group(2)}{found.group(3)}"
        source.replace(*found.span(), new)
    for found in re.finditer(r"(?<![\w(])__noinline__\b", source.code):
        source.replace(*found.span(), "__attribute__((noinline))")


def translate(texts: dict[str, str]) -> dict[str, str]:
    """The texts of a program's files by their names, rewritten; raises Unknown."""
    sources = [Source(text, name) for name, text in texts.items()]
    parameters = parameters_of_kernels(sources)
    macros = grid_constant_macros(sources)
    for source in sources:
        rewrite_launches(source, parameters)
        rewrite_kernels(source, macros)
        rewrite_shared(source)
        rewrite_words(source)
    problems = [problem for source in sources for problem in source.problems]
    if problems:
        raise Unknown(problems)
    return {source.name: source.edited() for source in sources}
