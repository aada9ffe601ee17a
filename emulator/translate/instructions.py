"""One PTX instruction in C++, by the table of instructions.txt, which says what its columns mean."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from . import cxx
from .cxx import spelled, tokens_of

CORE = "::emulator::ptx::"
HERE = "::emulator::Site::current()"

# The C++ type of a register, and of what an instruction takes and gives.
NUMBERS = {
    f"{kind}{bits}": f"std::{'' if kind == 's' else 'u'}int{bits}_t"
    for kind in "bus"
    for bits in (8, 16, 32, 64)
}
REGISTERS = (
    NUMBERS
    | {"pred": "bool", "f32": "float", "f64": "double"}
    | {kind: NUMBERS["b16"] for kind in ("f16", "bf16")}
    | {kind: NUMBERS["b32"] for kind in ("f16x2", "bf16x2")}
)
TYPES = (
    REGISTERS
    | {"f16": f"{CORE}F16", "f16x2": f"{CORE}Pair<{CORE}F16>"}
    | {"bf16": f"{CORE}BF16", "bf16x2": f"{CORE}Pair<{CORE}BF16>"}
)
WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}

# Parts of opcodes, longer names first.
CLASSES = {
    # ptxas takes the modifiers of these in several orders.
    "ACCESS": (
        "((sem:.volatile|.relaxed|.acquire|.release|.acq_rel)|SCOPE|.(op:CHANGE|cas)|.noftz"
        "|(space:.global|.const|.shared{::cta|::cluster})|(vec:.v[248])|.weak|.nc"
        r"|.ca|.cg|.cs|.lu|.cv|.wb|.wt|.L1::\w+|.L2::\w+)*"
    ),
    "MATRICES": "(.sync|.aligned|.m8n8|.x(count:[124])|.trans|(space:.shared{::cta})|.b16)+",
    "COMPARISON": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
    "SEMANTICS": "{sem:.release|.acquire|.relaxed}{SCOPE}",
    "COMPLETES": ".mbarrier::complete_tx::bytes",
    "BARRIER": "(bar|barrier){.cta}",
    "INTEGER": "[us](8|16|32|64)",
    "NUMBER": "(t:[usb](32|64)|f32|f64|b?f16(x2)?)",
    "SCALAR": "(t:[usb](16|32|64)|f32|f64)",
    "CHANGE": "(add|min|max|inc|dec|and|or|xor|exch)",
    "ORDER": ".(volatile|relaxed|acquire|release).",
    "SCOPE": "(scope:.cta|.cluster|.gpu|.sys)",
    "SPACE": "{space:.shared{::cta|::cluster}}",
    "FLOAT": "(t:f32|f64|b?f16(x2)?)",
    "BITS": "(t:b16|b32|b64)",
    "AXIS": "(axis:[xyz])",
    "HINT": "{.L2::cache_hint}",
    "RANK": "(rank:[1-5])d",
    "REAL": "(t:f32|f64)",
    "INT": "(t:[usb](16|32|64))",
    "ANY": "(t:[usb](8|16|32|64)|f32|f64|b?f16(x2)?)",
}
# What modifiers are in C++; others are enumerators of the same name.
CPP_NAMES = (
    {"rni": "nearbyint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
    | {"eq": "==", "ne": "!=", "lt": "<", "lo": "<", "le": "<=", "ls": "<="}
    | {"gt": ">", "hi": ">", "ge": ">=", "hs": ">="}
    | {"idx": "INDEX", "bfly": "XOR", "test_wait": "TEST", "try_wait": "TRY"}
    | {"f16": f"{CORE}Half", "bf16": f"{CORE}Bfloat", "s8": "std::int8_t", "u8": "std::uint8_t"}
)
SINK = "_"


def shortened(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."


class NotKnown(Exception):
    """What the message names is not known."""


class Mismatch(Exception):
    """Another row may fit these operands."""


# ---------------------------------------------------------------- the table


class Wanted(NamedTuple):
    """An operand of a row."""

    name: str
    kind: str
    is_result: bool
    is_optional: bool
    default: str


class Row(NamedTuple):
    opcode: re.Pattern
    operands: list[Wanted]
    code: str


def expression_of(opcode: str) -> re.Pattern:
    """The regular expression of a row's opcode."""
    for name, text in CLASSES.items():
        opcode = opcode.replace(name, text)
    opcode = opcode.replace(" ", "").replace("{", "(").replace("}", ")?").replace(".", r"\.")
    return re.compile(re.sub(r"\((\w+):(?!:)", r"(?P<\1>", opcode))


def qualified(code: str) -> str:
    """With its namespace at each of the emulator's functions and names."""
    names = r"[A-Za-z_]\w*(?=[(<{]|::)|op_\w+|[A-Z][A-Z_]+\b(?!})"
    return re.sub(rf'(?<![\w:."}}])(?!std::|float\(|sizeof\b)({names})', CORE + r"\1", code)


def wanted(text: str) -> Wanted:
    optional, result, name, kind, default = re.fullmatch(
        r"(\??)(=?)([\w|]+)(?::([^=]+))?(?:=(.*))?", text
    ).groups()
    return Wanted(name, kind or "{t}", bool(result), bool(optional), qualified(default or ""))


def rows_of(table: str) -> list[Row]:
    rows = []
    for line in table.replace("\n ", " ").splitlines():
        if line and not line.startswith("#"):
            opcode, operands, code = re.split(r"\s\|(?=\s)", line + " ", maxsplit=2)
            operands = [wanted(one) for one in operands.split()]
            rows.append(Row(expression_of(opcode), operands, qualified(" ".join(code.split()))))
    return rows


ROWS = rows_of(Path(__file__).with_name("instructions.txt").read_text())


def order_of(opcode: str, order: str, scope: str) -> dict[str, str]:
    """The memory order and the scope, with the manual's defaults."""
    default, where = "RELAXED", "GPU"
    if opcode.startswith("mbarrier"):
        default, where = "ACQUIRE" if "_wait" in opcode else "RELEASE", "CTA"
    if order == "volatile":
        order, where = "", "SYS"
    scope = {"gl": "GPU"}.get(scope, scope.upper() or where)
    return {"order": f"{CORE}Order::{order.upper() or default}", "scope": f"{CORE}Scope::{scope}"}


def modifiers(opcode: str, match: re.Match) -> dict:
    """What a row's operands and C++ may name besides the operands."""
    groups = {name: text or "" for name, text in match.groupdict().items()}
    kind = groups.get("t", "")
    order, scope = (groups.get(name, "").lstrip(".") for name in ("sem", "scope"))
    has = defaultdict(lambda: "false", dict.fromkeys(opcode.split("."), "true"))
    return {
        **groups,
        **{name.upper(): CPP_NAMES.get(text, text.upper()) for name, text in groups.items()},
        **order_of(opcode, order, scope),
        "has": has,
        "aligned": "true" if opcode.startswith("bar.") else has["aligned"],
        "here": HERE,
        "opcode": opcode,
        "type": TYPES.get(kind, ""),
        "wide": WIDE.get(kind, ""),
        "widetype": TYPES.get(WIDE.get(kind, ""), ""),
        "count": groups.get("count") or groups.get("vec", "").lstrip(".v") or "1",
    }


# ---------------------------------------------------------------- operands


@dataclass
class Operand:
    """Of an instruction: plain, address, vector, not (a negated predicate), or pair (a|b)."""

    kind: str
    text: str
    parts: list[Operand] = field(default_factory=list)


def split(text: str, mark: str = ",") -> list[str]:
    return [spelled(part) for part in cxx.split(tokens_of(text), mark, in_angles=False)]


FORMS = {
    "address": (r"\[(.*)\]", ","),
    "vector": (r"\{(.*)\}", ","),
    "not": (r"!(.*)", ","),
    "pair": (r"([^|]*\|[^|]*)", "|"),
}


def operand_of(text: str) -> Operand:
    for kind, (form, mark) in FORMS.items():
        found = re.fullmatch(form, text)
        if found is not None:
            return Operand(kind, text, [operand_of(part) for part in split(found[1], mark)])
    return Operand("plain", text)


def number(text: str) -> str | None:
    """An immediate as C++. (PTX ISA: Constants.)"""
    if re.fullmatch(r"[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?", text):
        negative, digits = text.startswith("-"), text.lstrip("+-").rstrip("U")
        base = 8 if re.fullmatch(r"0\d+", digits) else 0
        value = int(digits, base)
        return f"{'-' if negative else ''}{value}{'ull' if value >= 1 << 63 else 'll'}"
    if re.fullmatch(r"0[fF][0-9a-fA-F]{8}", text):
        return f"{CORE}get<float>(std::uint32_t(0x{text[2:]}))"
    if re.fullmatch(r"0[dD][0-9a-fA-F]{16}", text):
        return f"{CORE}get<double>(std::uint64_t(0x{text[2:]}))"
    if re.fullmatch(r"[+-]?\d+\.\d*([eE][+-]?\d+)?", text):
        return text
    return {"WARP_SZ": "32ll"}.get(text)


def special_register(text: str) -> str | None:
    for row in ROWS if text.startswith("%") else ():
        match = row.opcode.fullmatch(text)
        if match is not None:
            return row.code.format(**modifiers(text, match))
    return None


class Writer:
    """Writes one instruction: the operands' C++, and what comes before and after the call."""

    def __init__(self, resolve: Callable[[str], str | None], known: dict) -> None:
        self.resolve = resolve
        self.known = known
        self.before = ""
        self.after = ""
        self.names = 0

    def fresh(self) -> str:
        self.names += 1
        return f"ptx_t{self.names}"

    def source(self, text: str) -> str:
        """A register, special register or immediate, as C++ of its own type."""
        cpp = special_register(text) or number(text) or self.resolve(text)
        if cpp is None:
            raise NotKnown(f"the name `{text}`")
        return cpp

    def plain(self, operand: Operand) -> str:
        if operand.kind != "plain":
            raise NotKnown(f"the operand `{operand.text}`")
        return self.source(operand.text)

    def value(self, operand: Operand, kind: str) -> str:
        if operand.kind == "not" and kind == "pred":
            return f"!{self.value(operand.parts[0], kind)}"
        if operand.kind == "vector":
            parts = ", ".join(self.plain(part) for part in operand.parts)
            return f"{CORE}pack<{TYPES[kind]}>({parts})"
        return f"{CORE}get<{TYPES[kind]}>({self.plain(operand)})"

    # ------------------------------------------------------------ results

    def target(self, operand: Operand) -> str:
        register = self.resolve(operand.text) if operand.kind == "plain" else None
        if register is None:
            raise NotKnown(f"the result `{operand.text}`")
        return register

    def targets(self, operand: Operand) -> str:
        return ", ".join(self.target(part) for part in self.parts_of(operand))

    def put(self, operand: Operand, value: str) -> None:
        """The value goes to its register afterwards."""
        if operand.kind == "vector":
            self.after += f"{CORE}unpack({value}, {self.targets(operand)}); "
        elif operand.text != SINK:
            self.after += f"{CORE}put({self.target(operand)}, {value}); "

    def result(self, operand: Operand, kind: str) -> str:
        name = self.fresh()
        self.before += f"[[maybe_unused]] {TYPES[kind]} {name}; "
        self.put(operand, name)
        return name

    def pair(self, operand: Operand, names: str, kinds: str) -> dict[str, str]:
        """Two results; what the second one is goes nowhere if it is missing."""
        parts = operand.parts if operand.kind == "pair" else [operand, Operand("plain", SINK)]
        pairs = zip(parts, names.split("|"), kinds.split("|"))
        return {name: self.result(part, kind) for part, name, kind in pairs}

    # ------------------------------------------------------------ vectors

    def parts_of(self, operand: Operand) -> list[Operand]:
        return operand.parts if operand.kind == "vector" else [operand]

    def vector(self, operand: Operand, kind: str, is_result: bool = False) -> str:
        """An array for an operand of a kind such as v4.b32."""
        count, kind = kind[1:].split(".")
        parts = self.parts_of(operand)
        if operand.kind not in ("plain", "vector") or count not in ("*", str(len(parts))):
            raise Mismatch
        name = self.fresh()
        if is_result:
            self.before += f"{TYPES[kind]} {name}[{count}]; "
            for i, part in enumerate(parts):
                self.put(part, f"{name}[{i}]")
        else:
            items = ", ".join(self.value(part, kind) for part in parts)
            self.before += f"const {TYPES[kind]} {name}[] = {{{items}}}; "
        return name

    def matrix(self, operand: Operand) -> str:
        """A of a wgmma: a descriptor; or registers, also where they are, since they are read
        later: where they stay, as elements of arrays and what references refer to do. Copies that
        a call made are the compiler's."""
        if operand.kind == "plain":
            return self.value(operand, "u64")
        values, name = self.vector(operand, "v4.b32"), self.fresh()
        words = ", ".join(f"{values}[{i}]" for i in range(4))
        place = "(std::is_lvalue_reference_v<decltype({0})> ? (const void *)&{0} : nullptr)"
        places = ", ".join(place.format(self.source(part.text)) for part in operand.parts)
        fragment = f"{{{{{words}}}, {{{places}}}}}"
        self.before += f"const ::emulator::WgmmaFragment {name} = {fragment}; "
        return name

    # ------------------------------------------------------------ addresses

    def address(self, operand: Operand, parts: int = 1) -> str:
        if operand.kind != "address" or len(operand.parts) != parts:
            raise Mismatch
        text = operand.parts[0].text
        base, sign, offset = re.fullmatch(r"(\S+?)(?:\s*([+-])\s*(\S+))?", text).groups()
        base = self.value(Operand("plain", base), "u64")
        return f"{base} {sign} ({self.source(offset.lstrip('+'))})" if sign else base

    def shared(self, operand: Operand) -> str:
        """A shared address, from a generic one if the opcode names no space."""
        address = self.address(operand)
        if self.known.get("space") == "":
            return f"{CORE}shared_address({CORE}global({address}), {HERE})"
        return f"std::uint32_t({address})"

    def place(self, operand: Operand, kind: str) -> str:
        kind = "own" if self.known.get("space") in (".shared", ".shared::cta") else kind
        what = f'"{self.known["opcode"]}", ' if kind == "own" else ""
        return f"{CORE}{kind}_at({self.shared(operand)}, {what}{HERE})"

    def memory(self, operand: Operand) -> str:
        names = {"shared": "SHARED", "shared::cta": "SHARED", "shared::cluster": "CLUSTER"}
        space = names.get(self.known["space"].lstrip("."), "GENERIC")
        size = f"sizeof({self.known['type']}) * {self.known['count']}"
        return f"{CORE}memory_at({CORE}Space::{space}, {self.address(operand)}, {size}, {HERE})"

    def tensor(self, operand: Operand) -> str:
        map_address = self.address(operand, 2)
        coordinates = self.parts_of(operand.parts[1])
        if len(coordinates) != int(self.known["rank"]):
            raise Mismatch
        items = ", ".join(self.value(part, "s32") for part in coordinates)
        return f"{CORE}global({map_address}), {{{len(coordinates)}, {{{items}}}}}"

    # ------------------------------------------------------------ all of it

    def operand(self, operand: Operand, kind: str, is_result: bool) -> str:
        if kind in ("shared", "memory", "tensor", "matrix"):
            return getattr(self, kind)(operand)
        if kind in ("own", "any", "used"):
            return self.place(operand, kind)
        if kind == "global":
            return f"{CORE}global({self.address(operand)})"
        if kind == "accumulators":
            return self.targets(operand)
        if kind == "i":
            return f"{CORE}get<int>({self.plain(operand)})"
        if re.match(r"v[\d*]", kind):
            return self.vector(operand, kind, is_result)
        return (self.result if is_result else self.value)(operand, kind)

    def write(self, row: Row, operands: list[Operand], wanted: list[Wanted]) -> str:
        names = dict(self.known)
        for operand, one in zip(operands, wanted):
            kind = one.kind.format(**self.known)
            if "|" in one.name:
                names.update(self.pair(operand, one.name, kind))
            else:
                names[one.name] = self.operand(operand, kind, one.is_result)
        for missing in set(row.operands) - set(wanted):
            names[missing.name] = missing.default.format(**names)
        is_value = wanted and wanted[0].is_result and not wanted[0].kind.startswith("v")
        assigned = f"{names[wanted[0].name.split('|')[0]]} = " if is_value else ""
        code = f"{self.before}{assigned}{row.code.format(**names)}; {self.after}"
        if code.count(HERE) < 2:
            return code
        # The compiler inlines small functions alone, whose callers reports name.
        return f"const auto ptx_here = {HERE}; {code.replace(HERE, 'ptx_here')}"


def ways(row: Row, count: int) -> Iterator[list[Wanted]]:
    """Which of a row's operands `count` may be."""
    optional = [one for one in row.operands if one.is_optional]
    if len(row.operands) >= count:
        for missing in itertools.combinations(optional, len(row.operands) - count):
            yield [one for one in row.operands if one not in missing]


def cpp_of(opcode: str, operands: str, resolve: Callable[[str], str | None]) -> str:
    """The C++ of an instruction. Raises NotKnown."""
    shown = f"`{shortened(f'{opcode} {operands}'.strip())}`"
    given = [operand_of(text) for text in split(operands)]
    matches = ((row, row.opcode.fullmatch(opcode)) for row in ROWS)
    fitting = [(row, modifiers(opcode, match)) for row, match in matches if match is not None]
    try:
        if "L2::cache_hint" in opcode and given:
            Writer(resolve, {}).value(given.pop(), "u64")
        for row, known in fitting:
            for wanted in ways(row, len(given)):
                try:
                    return Writer(resolve, known).write(row, given, wanted)
                except Mismatch:
                    continue
    except NotKnown as error:
        raise NotKnown(f"{error} in {shown}") from None
    raise NotKnown(f"{'these operands of' if fitting else 'the instruction'} {shown}")
