"""CUDA C++ that g++ lacks, rewritten for the emulator (emulator/translated.h): launches,
__shared__ variables, __cluster_dims__. Line numbers stay as they are.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .cxx import (
    CLOSING,
    OPENING,
    Token,
    angles,
    closing_of,
    edited,
    first_outside,
    spelled,
    split,
    tokens_of,
)

MANY = 1000


class Source:
    """A text, its tokens, and the edits to it."""

    def __init__(self, text: str):
        self.text, self.tokens = text, tokens_of(text)
        self.edits: list[tuple[int, int, str]] = []

    def insert(self, at: int, new: str) -> None:
        self.edits.append((at, at, new))

    def replace(self, first: Token, last: Token, new: str) -> None:
        """Keeps the number of lines."""
        self.edits.append((first.begin, last.end, new + "\n" * (last.line - first.line)))


def closes(token: Token) -> bool:
    """Whether it is ), ], } or >."""
    return token.kind == "mark" and (token.text in CLOSING or angles(token) < 0)


def opening_of(tokens: list[Token], closing: int) -> int:
    """The index of what opens the brackets that close there."""
    depth, is_angle = 0, angles(tokens[closing]) != 0
    for index in range(closing, -1, -1):
        text = tokens[index].text
        depth += (text in CLOSING) - (text in OPENING) - is_angle * angles(tokens[index])
        if depth == 0:
            return index
    return 0


def statement_begin(tokens: list[Token], index: int) -> int:
    while index > 0 and tokens[index - 1].text not in tuple(";{}:"):
        index = opening_of(tokens, index - 1) if tokens[index - 1].text == ")" else index - 1
    return index


# ---------------------------------------------------------------- kernels


@dataclass
class Kernel:
    """A kernel's definition: indices of tokens."""

    name: str
    arguments: dict[str, list[Token]]  # in brackets after its name, and after attributes
    body: int
    template: list[Token]  # the parameters of its template


def template_end(tokens: list[Token], begin: int) -> int:
    """The index after a statement's `template <...>`, if it begins with one."""
    if tokens[begin].text != "template":
        return begin
    depths = itertools.accumulate(angles(token) for token in tokens[begin + 1 :])
    return begin + 2 + next((i for i, depth in enumerate(depths) if depth == 0), 0)


def kernels_of(tokens: list[Token]) -> Iterator[Kernel]:
    """The kernels that are defined there."""
    for index, token in enumerate(tokens):
        body = first_outside(tokens, index, "{;") if token.text == "__global__" else len(tokens)
        if body == len(tokens) or tokens[body].text == ";":
            continue
        begin = statement_begin(tokens, index)
        at = end = template_end(tokens, begin)
        arguments = {}
        while at + 1 < body:
            if tokens[at].kind == "word" and tokens[at + 1].text == "(":
                name, begun, at = tokens[at].text, at + 2, closing_of(tokens, at + 1)
                arguments[name] = tokens[begun:at]
            at += 1
        *_, name = ["", *(name for name in arguments if not name.startswith("__"))]
        yield Kernel(name, arguments, body, tokens[begin + 2 : end - 1])


def rewrite_kernels(source: Source) -> None:
    """A kernel's body begins with what answers to a launch that asks for its attributes."""
    tokens = source.tokens
    for kernel in kernels_of(tokens):
        described = []
        if "__cluster_dims__" in kernel.arguments:
            described = [f"dim3({spelled(kernel.arguments['__cluster_dims__'])})"]
        if "__launch_bounds__" in kernel.arguments:
            bounds = spelled(kernel.arguments["__launch_bounds__"])
            described = [*(described or ["dim3(0, 0, 0)"]), bounds]
        new = f" if (emulator::describes_kernel({', '.join(described)})) return;"
        for parameter in split(kernel.arguments.get(kernel.name, []), ","):
            if any(token.text == "__grid_constant__" for token in parameter):
                name = parameter[-1].text
                new += f" emulator::grid_constant(&{name}, sizeof {name});"
        source.insert(tokens[kernel.body].end, new)


# ---------------------------------------------------------------- launches


def parameters_of_kernels(tokens: list[Token]) -> dict[str, int]:
    """How many template parameters kernels have: more than any launch gives, if there are several of
    the name, or if arguments have defaults."""
    found: dict[str, int] = {}
    for kernel in kernels_of(tokens):
        has_default = any(one.text == "=" for one in kernel.arguments.get(kernel.name, []))
        is_open = kernel.name in found or has_default or "..." in spelled(kernel.template)
        found[kernel.name] = MANY if is_open else len(split(kernel.template, ","))
    return found


def callee_begin(tokens: list[Token], end: int) -> int:
    """Where the expression before <<< begins: name, space::name, name<...>, and what names it in
    an object (call.kernel)."""
    index = end
    while index > 0:
        if closes(tokens[index - 1]):
            index = opening_of(tokens, index - 1)
        elif tokens[index - 1].kind != "word":
            break
        elif index > 1 and tokens[index - 2].text in ("::", ".", "->"):
            index -= 2
        else:
            return index - 1
    return index


def is_chosen_by_arguments(callee: list[Token], parameters: dict[str, int]) -> bool:
    given = 0
    if angles(callee[-1]) < 0:
        opening = opening_of(callee, len(callee) - 1)
        given = len(split(callee[opening + 1 : -1], ","))
        callee = callee[:opening]
    return bool(callee) and given < parameters.get(callee[-1].text, 0)


def rewrite_launches(source: Source) -> None:
    tokens, parameters = source.tokens, parameters_of_kernels(source.tokens)
    for index, token in enumerate(tokens):
        end = first_outside(tokens, index + 1, [">>>"]) if token.text == "<<<" else len(tokens)
        begin = callee_begin(tokens, index) if end < len(tokens) else index
        if begin == index:
            continue  # a shift of streams
        kernel = spelled(tokens[begin:index])
        if is_chosen_by_arguments(tokens[begin:index], parameters):
            kernel = f"[](auto... emulator_p) {{ {kernel}(emulator_p...); }}"
        new = f"emulator::launching({kernel}, cudaLaunchConfig_t("
        source.replace(tokens[begin], token, new)
        source.replace(tokens[end], tokens[end], "))")


# ---------------------------------------------------------------- shared memory

QUALIFIERS = ("extern", "static", "__shared__", "__device__")


def in_functions(tokens: list[Token]) -> list[bool]:
    """Whether each token is inside of a function."""
    inside, stack, begin = [], [], 0  # the latter: of what comes before a brace
    for index, token in enumerate(tokens):
        if token.text == "{":
            texts = [one.text for one in tokens[begin:index]]
            types = [
                i for i, text in enumerate(texts) if text in ("struct", "class", "union", "enum")
            ]
            names_type = types and "(" not in texts[types[-1] :] and ")" not in texts[types[-1] :]
            names_scope = "namespace" in texts or texts[-2:-1] == ["extern"]
            stack.append(bool(stack and stack[-1]) or not (names_scope or names_type))
        elif token.text == "}" and stack:
            stack.pop()
        if token.text in tuple("{};"):
            begin = index + 1
        inside.append(bool(stack and stack[-1]))
    return inside


def names_declared(declaration: list[Token]) -> list[Token]:
    """The names in `float a[8], b[8][4]`."""
    names = []
    for part in split(declaration, ","):
        while part and part[-1].text == "]":
            part = part[: opening_of(part, len(part) - 1)]
        names += part[-1:] if part and part[-1].kind == "word" else []
    return names


def rewrite_shared(source: Source) -> None:
    tokens, inside = source.tokens, in_functions(source.tokens)
    end = -1
    for index, token in enumerate(tokens):
        if token.text != "__shared__" or index < end:
            continue
        begin, end = statement_begin(tokens, index), first_outside(tokens, index, ";")
        if end == len(tokens):
            return
        statement = tokens[begin : end + 1]
        declaration = [one for one in statement[:-1] if one.text not in QUALIFIERS]
        names = names_declared(declaration)
        if not names:
            continue  # the compiler says so
        is_extern = any(one.text == "extern" for one in statement)
        variables = f"EmulatorShared{token.begin}"
        # g++ accepts no struct of nothing but an array without a size.
        declared = re.sub(r"\[ ?\]", "[1]", spelled(declaration))
        new = f"struct {variables} {{ {declared}; }}; "
        for one in names[:1] if is_extern else names:
            place = f"emulator::static_shared<{variables}>().{one.text}"
            if is_extern:
                place = f"emulator::extern_shared<{variables}, decltype({variables}::{one.text})>()"
            if inside[index]:
                new += f"auto &{one.text} = {place}; "
            else:
                new += f"static inline auto &{one.text}() {{ return {place}; }} "
                call_uses(source, one)
        source.replace(statement[0], statement[-1], new)


def call_uses(source: Source, name: Token) -> None:
    """Outside of functions a variable's name becomes a function's, and each use a call."""
    for before, token in zip(source.tokens, source.tokens[1:]):
        is_use = token.begin > name.begin and before.text not in (".", "->", "::")
        if is_use and token.text == name.text:
            source.insert(token.end, "()")


# ---------------------------------------------------------------- the rest

INLINE = ("inline", "__inline__")
SPECIFIERS = (*INLINE, "__forceinline__", "static", "constexpr", "__device__", "__host__")
COMMUTES = re.compile(r"atomic(Add|Sub|Min|Max|And|Or|Xor)(_block|_system)?")
TYPES = ("void*", "constvoid*", "voidconst*")
CASTS = ([f"({one})" for one in TYPES], [f"reinterpret_cast<{one}>" for one in TYPES])
LAUNCHES = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel"}


def rewrite_words(source: Source) -> None:
    tokens = source.tokens
    for is_specifier, some in itertools.groupby(tokens, lambda one: one.text in SPECIFIERS):
        run = list(some)
        if is_specifier and any(one.text == "__forceinline__" for one in run):
            for one in run:
                if one.text in INLINE:
                    source.replace(one, one, "")
    for index in range(1, len(tokens)):
        before, token = tokens[index - 1 : index + 1]
        if token.text == "__noinline__" and before.text != "(":
            source.replace(token, token, "__attribute__((noinline))")
        # A call of an atomic whose result is ignored.
        if COMMUTES.fullmatch(token.text) and tokens[index + 1].text == "(":
            opened = opening_of(tokens, index - 1) - 1 if before.text == ")" else 0
            begun = before.text in tuple(";{}") or tokens[opened].text in ("if", "for", "while")
            if begun and tokens[closing_of(tokens, index + 1) + 1].text == ";":
                new = f'emulator::Unused("{token.text}"), '
                source.insert(token.begin, new)


def rewrite_members(source: Source) -> None:
    """nvcc takes T::call<...>(...) of a template's parameter T without `template`."""
    tokens = source.tokens
    begins = zip(tokens, tokens[1:], tokens[2:])
    types = {b.text for a, b, c in begins if a.text == "typename" and c.text in (",", ">")}
    for index in range(len(tokens) - 4):
        is_member = tokens[index].text in types and tokens[index + 1].text == "::"
        if is_member and tokens[index + 3].text == "<":
            end = first_outside(tokens, index + 3, [">", ";", "&", "|"])  # a comparison has these
            if [one.text for one in tokens[end : end + 2]] == [">", "("]:
                source.insert(tokens[index + 2].begin, "template ")


def rewrite_casts(source: Source) -> None:
    """Casts to void * of what may be a kernel: a launch by the address alone needs its type."""
    tokens = source.tokens
    if not any(token.text in LAUNCHES for token in tokens):
        return
    for index, length in itertools.product(range(len(tokens) - 4), (4, 5, 6)):
        cast, operand = tokens[index : index + length], tokens[index + length :][:1]
        may_be_kernel = operand and (operand[0].kind == "word" or operand[0].text in "&(")
        if may_be_kernel and spelled(cast).replace(" ", "") in CASTS[operand[0].text == "("]:
            source.replace(cast[0], cast[-1], "emulator::without_type ->* ")


def translate(text: str) -> str:
    """Preprocessed CUDA C++, rewritten. Some formatters write <<<1, 1>> >(x)."""
    text = re.sub(r"(?<=<<<)([^;{}]*?)(?:>> >|> >>|> > >)(?=\s*\()", r"\1>>> ", text)
    source = Source(text)
    for rewrite in (rewrite_shared, rewrite_members, rewrite_launches, rewrite_kernels):
        rewrite(source)
    rewrite_words(source)
    rewrite_casts(source)
    return edited(text, source.edits)
