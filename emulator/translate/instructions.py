"""The PTX instructions that the emulator knows, in the manual's order: what each is in C++.

A row has the opcode as a regular expression in which a dot is a dot, the operands, and the C++ with
their names in braces; groups of the opcode can be named there too. Operands are `name:kind`:

    u32 s32 ... pred      a value of this type; `i` is a constant or a register that holds a number
    =u32 ...              a result: a variable that the C++ sets
    a|b:=u32|pred         two results
    v4.u32 =v4.u32        a vector of values, of results: an array in the C++
    +f                    a vector of accumulators: the registers themselves
    shared, space, global an address in brackets: shared, as the opcode's group `space` says, global
    tensor                [map, {coordinates}]: two arguments
    group?name:kind       an operand that is there if the opcode's group is; the C++ has a comma first
    ?name:kind            one that may be there
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Callable

CORE = "::emulator::ptx::"

TYPES = {
    "pred": "bool",
    **{f"{kind}8": f"std::{sign}int8_t" for kind, sign in (("b", "u"), ("u", "u"), ("s", ""))},
    **{
        f"{kind}{bits}": f"std::{'' if kind == 's' else 'u'}int{bits}_t"
        for kind in "bus"
        for bits in (16, 32, 64)
    },
    "f16": "std::uint16_t",
    "bf16": "std::uint16_t",
    "f16x2": "std::uint32_t",
    "bf16x2": "std::uint32_t",
    "f32": "float",
    "f64": "double",
}

THREADS = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}
CLUSTERS = ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
# Special registers. (PTX ISA: Special Registers.)
SPECIAL = {
    **{f"%{name}.{axis}": f"{cpp}.{axis}" for name, cpp in THREADS.items() for axis in "xyz"},
    **{f"%{name}.{axis}": f"{CORE}{name}().{axis}" for name in CLUSTERS for axis in "xyz"},
    **{
        f"%{name}": f"{CORE}{name}()"
        for name in [
            "laneid",
            "warpid",
            "nwarpid",
            "smid",
            "nsmid",
            "gridid",
            "is_explicit_cluster",
            "cluster_ctarank",
            "cluster_nctarank",
            "lanemask_eq",
            "lanemask_le",
            "lanemask_lt",
            "lanemask_ge",
            "lanemask_gt",
            "clock",
            "clock_hi",
            "clock64",
            "globaltimer",
            "globaltimer_lo",
            "globaltimer_hi",
            "total_smem_size",
            "dynamic_smem_size",
        ]
    },
}
SINK = "_"
SPACES = {".shared": "shared", ".shared::cta": "shared", ".shared::cluster": "cluster"}


class NotKnown(Exception):
    """What the message names is not known."""


class Mismatch(Exception):
    """Another row may fit these operands."""


@dataclass
class Argument:
    """A register or a constant, as C++; or a name that is neither."""

    kind: str
    cpp: str


@dataclass
class Operand:
    """Of an instruction: plain, address, vector, not (a negated predicate), or pair (a|b)."""

    kind: str
    text: str
    parts: list[Operand] = field(default_factory=list)
    offset: str = ""  # of an address


@dataclass
class Instruction:
    opcode: str
    text: str  # its operands
    shown: str  # the same, for people
    resolve: Callable[[str], Argument]

    def __str__(self) -> str:
        return f"`{self.opcode} {self.shown}`".replace(" `", "`")


def register_type(kind: str) -> str | None:
    """The C++ type of a PTX register."""
    return TYPES.get(kind)


# ---------------------------------------------------------------- operands


def split(text: str, mark: str = ",") -> list[str]:
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[{(") - (char in ")}]")
        if char == mark and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts] if text.strip() else []


def operand_of(text: str) -> Operand:
    if text.startswith("[") and text.endswith("]"):
        parts = split(text[1:-1])
        base, offset = parts[0] if parts else "", ""
        match = re.fullmatch(r"(\S+?)\s*([+-])\s*(\S+)", base)
        if match is not None:
            base, offset = match.group(1), match.group(2) + match.group(3).lstrip("+")
        inside = [Operand("plain", base), *(operand_of(part) for part in parts[1:])]
        return Operand("address", text, inside, offset)
    if text.startswith("{") and text.endswith("}"):
        return Operand("vector", text, [operand_of(part) for part in split(text[1:-1])])
    if text.startswith("!"):
        return Operand("not", text, [Operand("plain", text[1:].strip())])
    if len(split(text, "|")) == 2:
        return Operand("pair", text, [operand_of(part) for part in split(text, "|")])
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


class Writer:
    """Writes one instruction: the operands' C++, and what comes before and after the call."""

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.before: list[str] = []
        self.after: list[str] = []
        self.names = 0

    def refuse(self, why: str) -> NotKnown:
        return NotKnown(f"{why} in {self.instruction}")

    def fresh(self) -> str:
        self.names += 1
        return f"ptx_t{self.names}"

    def source(self, text: str) -> str:
        """A register, special register or immediate, as C++ of its own type."""
        if text in SPECIAL:
            return SPECIAL[text]
        immediate = number(text)
        if immediate is not None:
            return immediate
        argument = self.instruction.resolve(text)
        if argument.kind == "name":
            raise self.refuse(f"the name `{text}`")
        return argument.cpp

    def value(self, operand: Operand, kind: str) -> str:
        if operand.kind == "not" and kind == "pred":
            return f"!{self.value(operand.parts[0], kind)}"
        if operand.kind == "vector" and kind in TYPES:
            return f"{CORE}pack<{TYPES[kind]}>({self.list_of(operand)})"
        if operand.kind != "plain":
            raise self.refuse(f"the operand `{operand.text}`")
        return f"{CORE}get<{TYPES[kind]}>({self.source(operand.text)})"

    def list_of(self, vector: Operand) -> str:
        if vector.kind == "plain":
            return self.source(vector.text)
        if any(part.kind != "plain" for part in vector.parts):
            raise self.refuse(f"the operand `{vector.text}`")
        return ", ".join(self.source(part.text) for part in vector.parts)

    def target(self, operand: Operand) -> str:
        if operand.kind != "plain" or operand.text in SPECIAL or number(operand.text):
            raise self.refuse(f"the result `{operand.text}`")
        argument = self.instruction.resolve(operand.text)
        if argument.kind != "register":
            raise self.refuse(f"the result `{operand.text}`")
        return argument.cpp

    def result(self, operand: Operand, kind: str) -> str:
        """A variable for a result, which goes to its register afterwards."""
        name = self.fresh()
        self.before.append(f"{TYPES[kind]} {name}; ")
        if operand.kind == "vector":
            self.after.append(f"{CORE}unpack({name}, {self.targets(operand)}); ")
        elif operand.text != SINK:
            self.after.append(f"{CORE}put({self.target(operand)}, {name}); ")
        return name

    def parts_of(self, operand: Operand) -> list[Operand]:
        return operand.parts if operand.kind == "vector" else [operand]

    def targets(self, vector: Operand) -> str:
        return ", ".join(self.target(part) for part in self.parts_of(vector))

    def vector(self, operand: Operand, kind: str) -> tuple[list[Operand], str]:
        """The parts of an operand of a kind such as v4.b32, and the type of each."""
        count, kind = kind.lstrip("=v").split(".")
        parts = self.parts_of(operand)
        if operand.kind not in ("plain", "vector") or len(parts) != int(count):
            raise Mismatch
        return parts, kind

    def values(self, operand: Operand, kind: str) -> str:
        name = self.fresh()
        parts, kind = self.vector(operand, kind)
        items = ", ".join(self.value(part, kind) for part in parts)
        self.before.append(f"const {TYPES[kind]} {name}[] = {{{items}}}; ")
        return name

    def fragment(self, operand: Operand) -> str:
        """A of a wgmma in registers: also where they are, since they are read later."""
        name = self.fresh()
        parts, kind = self.vector(operand, "v4.b32")
        values = ", ".join(self.value(part, kind) for part in parts)
        places = ", ".join(f"EMULATOR_PLACE({self.source(part.text)})" for part in parts)
        self.before.append(
            f"const ::emulator::WgmmaFragment {name} = {{{{{values}}}, {{{places}}}}}; "
        )
        return name

    def results(self, operand: Operand, kind: str) -> str:
        name = self.fresh()
        parts, kind = self.vector(operand, kind)
        self.before.append(f"{TYPES[kind]} {name}[{len(parts)}]; ")
        for i, part in enumerate(parts):
            if part.text != SINK:
                self.after.append(f"{CORE}put({self.target(part)}, {name}[{i}]); ")
        return name

    def address(self, operand: Operand, space: str) -> str:
        if operand.kind != "address" or len(operand.parts) != 1:
            raise Mismatch
        base = f"{CORE}get<std::uint64_t>({self.source(operand.parts[0].text)})"
        if operand.offset:
            base += f" + ({self.source(operand.offset.lstrip('+'))})"
        return f"{CORE}{space}({base})"

    def tensor(self, operand: Operand) -> str:
        parts = operand.parts
        if operand.kind != "address" or len(parts) != 2 or operand.offset:
            raise self.refuse(f"the tensor address `{operand.text}`")
        if parts[1].kind not in ("vector", "plain"):
            raise self.refuse(f"the tensor address `{operand.text}`")
        map_address = f"{CORE}global({CORE}get<std::uint64_t>({self.source(parts[0].text)}))"
        coordinates = self.parts_of(parts[1])
        items = ", ".join(self.value(part, "s32") for part in coordinates)
        return f"{map_address}, {{{len(coordinates)}, {{{items}}}}}"

    def operand(self, operand: Operand, kind: str, known: dict[str, str]) -> str:
        kind = kind.format(**known)
        if kind in ("shared", "global", "cluster"):
            return self.address(operand, kind)
        if kind == "space":
            return self.address(operand, SPACES.get(known.get("space", ""), "generic"))
        if kind == "tensor":
            return self.tensor(operand)
        if kind == "+f":
            return self.targets(operand)
        if kind == "i":
            return f"{CORE}get<int>({self.source(operand.text)})"
        if kind == "desc":
            if operand.kind != "plain":
                raise Mismatch
            return self.value(operand, "u64")
        if kind == "fragment":
            return self.fragment(operand)
        if kind.startswith("=v"):
            return self.results(operand, kind)
        if kind.startswith("v"):
            return self.values(operand, kind)
        if kind.startswith("="):
            return self.result(operand, kind[1:])
        return self.value(operand, kind)

    def finish(self, call: str) -> str:
        return "".join(self.before) + call + " " + "".join(self.after)


# ---------------------------------------------------------------- the table


def assign(expression: str) -> str:
    """The C++ of an instruction whose result is an expression."""
    return "{d} = " + expression + ";"


def operation(sign: str) -> str:
    """Of integers: the result's bits are the same for signed and unsigned ones."""
    return assign(f"{{type}}({CORE}bits<{{type}}>({{a}}) {sign} {CORE}bits<{{type}}>({{b}}))")


def function(name: str, arguments: str) -> str:
    return assign(f"{CORE}{name}<{{type}}>({arguments})")


SPACE = r"(?P<space>.global|.shared(::cta|::cluster)?)?"
INT = r"(?P<t>[usb](16|32|64))"
LOGIC = r"(?P<t>pred|b16|b32|b64)"
FLOAT = r"(?P<t>f32|f64)"
ROUND = r"(.rn)?(.ftz)?"
NARROW = r"(?P<t>b?f16(x2)?)"
ANY = r"(?P<t>[usb](8|16|32|64)|f32|f64|f16|bf16|f16x2|bf16x2)"
L2 = r"(.L2::(64|128|256)B)?"
HINT = r"(?P<hint>.L2::cache_hint)?"
SCOPE = r"(?P<scope>.cta|.cluster|.gpu|.sys)"
CACHE = r"(.nc|.ca|.cg|.cs|.lu|.cv|.wb|.wt|.L1::\w+|(?P<hint>.L2::cache_hint)|.L2::\w+)*"
# ptxas takes the modifiers of these in several orders.
ORDERED = (
    r"(?=\S*.(volatile|relaxed|acquire|release).)((?P<sem>.volatile|.relaxed|.acquire|.release)"
    rf"|{SCOPE}|{SPACE[:-1]}|{CACHE[1:-2]}|(?P<vec>.v[248]))+."
)
ATOMIC = (
    r"(?=\S*.{op}.)((?P<sem>.relaxed|.acquire|.release|.acq_rel)"
    rf"|{SCOPE}|{SPACE[:-1]}|(?P<hint>.L2::cache_hint)|.(?P<op>{{op}})|.noftz|(?P<vec>.v[248]))+."
)
CHANGES = "(add|min|max|inc|dec|and|or|xor|exch)"
MBARRIER = rf"(?P<sem>.release|.acquire|.relaxed)?{SCOPE}?{SPACE}.b64"
BINARY = "d:={t}, a:{t}, b:{t}"
MATRIX = r"(.sync|.aligned|.m8n8|.x(?P<n>[124])|(?P<trans>.trans)|(?P<space>.shared(::cta)?)|.b16)+"
ROWS: list[tuple[str, str, str]] = [
    # Integer Arithmetic Instructions
    (f"add.{INT}", BINARY, operation("+")),
    (f"sub.{INT}", BINARY, operation("-")),
    (f"mul.lo.{INT}", BINARY, operation("*")),
    (r"mul.wide.(?P<t>[us]16|[us]32)", "d:={wide}, a:{t}, b:{t}", assign("{widetype}({a}) * {b}")),
    (f"mul.hi.{INT}", BINARY, function("multiply_high", "{a}, {b}")),
    (f"mad.lo.{INT}", BINARY + ", c:{t}", function("multiply_add", "{a}, {b}, {c}")),
    (
        r"mad.wide.(?P<t>[us]16|[us]32)",
        "d:={wide}, a:{t}, b:{t}, c:{wide}",
        assign("{widetype}({a}) * {b} + {c}"),
    ),
    (r"div.(?P<t>[us](16|32|64))", BINARY, assign("{a} / {b}")),
    (r"rem.(?P<t>[us](16|32|64))", BINARY, assign("{a} % {b}")),
    (r"min.(?P<t>[us](16|32|64))", BINARY, assign("{b} < {a} ? {b} : {a}")),
    (r"max.(?P<t>[us](16|32|64))", BINARY, assign("{a} < {b} ? {b} : {a}")),
    (r"neg.(?P<t>s(16|32|64))", "d:={t}, a:{t}", assign("0 - " + CORE + "bits<{type}>({a})")),
    (r"abs.(?P<t>s(16|32|64))", "d:={t}, a:{t}", assign("{a} < 0 ? -{a} : {a}")),
    (r"popc.(?P<t>b32|b64)", "d:=u32, a:{t}", assign("std::popcount({a})")),
    (r"clz.(?P<t>b32|b64)", "d:=u32, a:{t}", assign("std::countl_zero({a})")),
    (r"brev.(?P<t>b32|b64)", "d:={t}, a:{t}", function("reverse_bits", "{a}")),
    (r"bfe.(?P<t>u32|u64)", "d:={t}, a:{t}, b:u32, c:u32", function("extract", "{a}, {b}, {c}")),
    (
        r"bfi.(?P<t>b32|b64)",
        "d:={t}, a:{t}, b:{t}, first:u32, count:u32",
        function("insert_bits", "{a}, {b}, {first}, {count}"),
    ),
    (r"szext.clamp.(?P<t>u32|s32)", "d:={t}, a:{t}, b:u32", function("extended", "{a}, {b}")),
    # Floating Point Instructions
    (f"add{ROUND}.{FLOAT}", BINARY, assign("{a} + {b}")),
    (f"sub{ROUND}.{FLOAT}", BINARY, assign("{a} - {b}")),
    (f"mul{ROUND}.{FLOAT}", BINARY, assign("{a} * {b}")),
    (f"(fma|mad).rn(.ftz)?.{FLOAT}", BINARY + ", c:{t}", assign("std::fma({a}, {b}, {c})")),
    (f"neg(.ftz)?.{FLOAT}", "d:={t}, a:{t}", assign("-{a}")),
    (f"abs(.ftz)?.{FLOAT}", "d:={t}, a:{t}", assign("std::fabs({a})")),
    (f"min(.ftz)?.{FLOAT}", BINARY, assign("std::fmin({a}, {b})")),
    (f"max(.ftz)?.{FLOAT}", BINARY, assign("std::fmax({a}, {b})")),
    (f"div.rn(.ftz)?.{FLOAT}", BINARY, assign("{a} / {b}")),
    (f"rcp.rn(.ftz)?.{FLOAT}", "d:={t}, a:{t}", assign("1 / {a}")),
    (f"sqrt.rn(.ftz)?.{FLOAT}", "d:={t}, a:{t}", assign("std::sqrt({a})")),
    (f"div.(approx|full)(.ftz)?.{FLOAT}", BINARY, assign("{a} / {b}")),
    (f"rcp.approx(.ftz)?.{FLOAT}", "d:={t}, a:{t}", assign("1 / {a}")),
    (f"rsqrt.approx(.ftz)?.{FLOAT}", "d:={t}, a:{t}", assign("1 / std::sqrt({a})")),
    (
        r"(?P<of>sqrt|sin|cos|tanh|ex2|lg2).approx(.ftz)?.(?P<t>f32)",
        "d:={t}, a:{t}",
        assign("std::{math}({a})"),
    ),
    # Half Precision Floating Point Instructions
    (
        rf"(?P<op>add|sub|mul|min|max)(.rn)?(.ftz)?.{NARROW}",
        BINARY,
        assign(CORE + "each<{format}>(" + CORE + "op_{op}, {a}, {b})"),
    ),
    (
        rf"(?P<op>fma).rn(.ftz)?(?P<relu>.relu)?.{NARROW}",
        BINARY + ", c:{t}",
        assign(CORE + "each<{format}>(" + CORE + "op_fma{relu_}, {a}, {b}, {c})"),
    ),
    (f"neg(.ftz)?.{NARROW}", "d:={t}, a:{t}", assign("{type}({a} ^ {signs})")),
    (f"abs(.ftz)?.{NARROW}", "d:={t}, a:{t}", assign("{type}({a} & ~{signs})")),
    # Comparison and Selection Instructions
    (
        r"setp.(?P<compare>eq|ne|lt|le|gt|ge|lo|ls|hi|hs).(?P<t>[usb](16|32|64))",
        "d:=pred, a:{t}, b:{t}",
        assign("{a} {sign} {b}"),
    ),
    (
        r"setp.(?P<compare>eq|ne|lt|le|gt|ge|lo|ls|hi|hs).(?P<t>[usb](16|32|64))",
        "d|e:=pred|pred, a:{t}, b:{t}",
        assign("{a} {sign} {b}") + " {e} = !{d};",
    ),
    (
        r"setp.(?P<compare>eq|lt|le|gt|ge)(.ftz)?.(?P<t>f32|f64)",
        "d:=pred, a:{t}, b:{t}",
        assign("{a} {sign} {b}"),
    ),
    (
        r"setp.ne(.ftz)?.(?P<t>f32|f64)",
        "d:=pred, a:{t}, b:{t}",
        assign("{a} < {b} || {b} < {a}"),
    ),
    (
        r"setp.(?P<compare>[enlgh][qetos]).(?P<logic>and|or|xor).(?P<t>[usb](16|32|64))",
        "d:=pred, a:{t}, b:{t}, c:pred",
        assign("({a} {sign} {b}) {logic_} {c}"),
    ),
    (
        r"selp.(?P<t>[usb](16|32|64)|f32|f64)",
        BINARY + ", c:pred",
        assign("{c} ? {a} : {b}"),
    ),
    # Logic and Shift Instructions
    (f"and.{LOGIC}", BINARY, assign("{a} & {b}")),
    (f"or.{LOGIC}", BINARY, assign("{a} | {b}")),
    (f"xor.{LOGIC}", BINARY, assign("{a} ^ {b}")),
    (r"not.pred", "d:=pred, a:pred", assign("!{a}")),
    (r"not.(?P<t>b16|b32|b64)", "d:={t}, a:{t}", assign("{type}(~{a})")),
    (
        r"lop3.b32",
        "d:=b32, a:b32, b:b32, c:b32, table:i",
        assign(CORE + "lop3({a}, {b}, {c}, {table})"),
    ),
    (r"shl.(?P<t>b16|b32|b64)", "d:={t}, a:{t}, b:u32", function("shift_left", "{a}, {b}")),
    (f"shr.{INT}", "d:={t}, a:{t}, b:u32", function("shift_right", "{a}, {b}")),
    (
        r"shf.(?P<way>[lr]).((?P<wrap>wrap)|clamp).b32",
        "d:=b32, a:b32, b:b32, c:u32",
        assign(CORE + "funnel_{way}({a}, {b}, {c}, {is_wrap})"),
    ),
    # Data Movement and Conversion Instructions
    (r"mov.(?P<t>pred|[usb](16|32|64)|f32|f64)", "d:={t}, a:{t}", assign("{a}")),
    (r"prmt.b32", "d:=b32, a:b32, b:b32, c:b32", assign(CORE + "prmt({a}, {b}, {c})")),
    (
        r"shfl.sync.(?P<how>idx|up|down|bfly).b32",
        "d:=b32, a:b32, b:u32, c:u32, mask:u32",
        assign(CORE + "shuffle_{how}({a}, {b}, {c}, {mask})"),
    ),
    (
        r"shfl.sync.(?P<how>idx|up|down|bfly).b32",
        "d|p:=b32|pred, a:b32, b:u32, c:u32, mask:u32",
        assign(CORE + "shuffle_{how}({a}, {b}, {c}, {mask})")
        + " {p} = "
        + CORE
        + "shuffle_inside_{how}({b}, {c});",
    ),
    (
        r"ld(?P<space>.global)(.ca|.cg|.cs)?.nc" + CACHE + "(?P<vec>.v[248])?." + ANY,
        "d:=v{count}.{t}, a:space, hint?policy:u64",
        CORE + "load_constant<{type}, {count}>({d}, {a});",
    ),
    (
        r"ld(.weak)?(?P<space>.global|.const|.shared(::cta|::cluster)?)?"
        + CACHE
        + "(?P<vec>.v[248])?."
        + ANY,
        "d:=v{count}.{t}, a:space, hint?policy:u64",
        CORE + "load<{type}, {count}>({d}, {a});",
    ),
    (
        r"st(.weak)?" + SPACE + CACHE + "(?P<vec>.v[248])?." + ANY,
        "a:space, d:v{count}.{t}, hint?policy:u64",
        CORE + "store<{type}, {count}>({a}, {d});",
    ),
    (
        f"ld{ORDERED}{ANY}",
        "d:=v{count}.{t}, a:space, hint?policy:u64",
        CORE + "load_ordered<{type}, {count}>({d}, {a}, {order});",
    ),
    (
        f"st{ORDERED}{ANY}",
        "a:space, d:v{count}.{t}, hint?policy:u64",
        CORE + "store_ordered<{type}, {count}>({a}, {d}, {order});",
    ),
    (r"discard(.global)?.L2", "a:global, bytes:i", "(void)({a});"),
    (r"applypriority(.global)?.L2::evict_normal", "a:global, bytes:i", "(void)({a});"),
    (r"prefetch(.global)?.L[12](::\w+)?", "a:global", "(void)({a});"),
    (r"prefetchu.L1", "a:global", "(void)({a});"),
    (r"prefetch(.const|.param)?.tensormap", "map:global", CORE + "prefetch_tensormap({map});"),
    (r"isspacep.shared(::cta)?", "d:=pred, a:u64", assign(CORE + "is_shared({a})")),
    (r"cvta.to.shared.(u64|u32)", "d:=u64, a:u64", assign(CORE + "shared_of_generic({a})")),
    (r"cvta.shared.u64", "d:=u64, a:u64", assign(CORE + "generic_of_shared({a})")),
    (r"cvta(.to)?.(global|const|param|local).u64", "d:=u64, a:u64", assign("{a}")),
    (
        r"cvt.(?P<t>[us](8|16|32|64)).(?P<from>[us](8|16|32|64))",
        "d:={t}, a:{from}",
        assign("{type}({a})"),
    ),
    (r"cvt.rn.f32.(?P<from>[us](8|16|32|64))", "d:=f32, a:{from}", assign("float({a})")),
    (
        r"cvt.(?P<round>rni|rzi|rmi|rpi)(.ftz)?.(?P<t>[us](8|16|32|64)).f32",
        "d:={t}, a:f32",
        function("integer_{round}", "{a}"),
    ),
    (
        r"cvt.rn((?P<relu>.relu)|(?P<satfinite>.satfinite))*.(?P<t>b?f16).f32",
        "d:={t}, a:f32",
        assign(CORE + "narrowed<{format}>({a}, {is_relu}, {is_satfinite})"),
    ),
    (
        r"cvt.rn.(?P<t>b?f16).(?P<from>[us](8|16|32|64))",
        "d:={t}, a:{from}",
        assign(CORE + "narrowed<{format}>(float({a}), false, false)"),
    ),
    (r"cvt.f64.f32", "d:=f64, a:f32", assign("{a}")),
    (r"cvt.rn.f32.f64", "d:=f32, a:f64", assign("float({a})")),
    (r"cvt.f32.f16", "d:=f32, a:f16", assign("emulator::float_of_half({a})")),
    (r"cvt.f32.bf16", "d:=f32, a:bf16", assign("emulator::float_of_bf16({a})")),
    (
        r"cvt.rn((?P<relu>.relu)|(?P<satfinite>.satfinite))*.(?P<t>b?f16x2).f32",
        "d:=b32, a:f32, b:f32",
        assign(CORE + "narrowed_pair<{format}>({a}, {b}, {is_relu}, {is_satfinite})"),
    ),
    (r"cvt.rn.satfinite.e4m3x2.f32", "d:=b16, a:f32, b:f32", assign(CORE + "e4m3_pair({a}, {b})")),
    (r"cvt.rn.f16x2.e4m3x2", "d:=b32, a:b16", assign(CORE + "half_pair_of_e4m3({a})")),
    (
        r"mapa.shared::cluster.(u32|u64)",
        "d:=u64, a:u32, rank:u32",
        assign(CORE + "mapa({a}, {rank})"),
    ),
    (r"mapa.u64", "d:=u64, a:u64, rank:u32", assign(CORE + "mapa_generic({a}, {rank})")),
    (r"getctarank.shared::cluster.u32", "d:=u32, a:u32", assign(CORE + "cta_rank_of({a})")),
    # Data Movement and Conversion Instructions: Non-bulk Copy
    (
        r"cp.async.ca.shared(::cta)?.global" + HINT + L2,
        "to:shared, from:global, bytes:i, hint?policy:u64",
        CORE + "cp_async({to}, {from}, {bytes}, {bytes});",
    ),
    (
        r"cp.async.cg.shared(::cta)?.global" + HINT + L2,
        "to:shared, from:global, bytes:i, hint?policy:u64",
        CORE + "cp_async_cg({to}, {from}, {bytes}, {bytes});",
    ),
    (
        r"cp.async.ca.shared(::cta)?.global" + L2,
        "to:shared, from:global, bytes:i, source:u32",
        CORE + "cp_async({to}, {from}, {bytes}, {source});",
    ),
    (
        r"cp.async.cg.shared(::cta)?.global" + L2,
        "to:shared, from:global, bytes:i, source:u32",
        CORE + "cp_async_cg({to}, {from}, {bytes}, {source});",
    ),
    (r"cp.async.commit_group", "", CORE + "cp_async_commit();"),
    (r"cp.async.wait_group", "pending:i", CORE + "cp_async_wait({pending});"),
    (r"cp.async.wait_all", "", CORE + "cp_async_wait_all();"),
    (
        r"cp.async.mbarrier.arrive(?P<noinc>.noinc)?(?P<space>.shared(::cta)?)?.b64",
        "a:space",
        CORE + "cp_async_mbarrier_arrive({a}, {is_noinc});",
    ),
    # Data Movement and Conversion Instructions: Bulk Copy
    (
        r"cp.async.bulk.shared::(cluster|cta).global.mbarrier::complete_tx::bytes"
        r"(?P<multicast>.multicast::cluster)?" + HINT,
        "to:shared, from:global, bytes:u32, barrier:shared, multicast?mask:u16, hint?policy:u64",
        CORE + "bulk_load({to}, {from}, {bytes}, {barrier}{mask});",
    ),
    (
        r"cp.async.bulk.global.shared::cta.bulk_group" + HINT,
        "to:global, from:shared, bytes:u32, hint?policy:u64",
        CORE + "bulk_store({to}, {from}, {bytes});",
    ),
    (
        r"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
        "to:cluster, from:shared, bytes:u32, barrier:cluster",
        CORE + "bulk_send({to}, {from}, {bytes}, {barrier});",
    ),
    (
        (
            r"st.async(.weak)?(.shared::cluster)?.mbarrier::complete_tx::bytes(?P<vec>.v[24])?."
            r"(?P<t>[usb](32|64)|f32|f64)"
        ),
        "to:cluster, d:v{count}.{t}, barrier:cluster",
        CORE + "store_async({to}, {d}, {barrier});",
    ),
    (
        (
            r"cp.reduce.async.bulk.global.shared::cta.bulk_group(?P<hint>.L2::cache_hint)?"
            r".(?P<op>add|min|max|inc|dec|and|or|xor)(.noftz)?.(?P<t>[usb](32|64)|f32|f64|b?f16)"
        ),
        "to:global, from:shared, bytes:u32, hint?policy:u64",
        CORE + "bulk_store({to}, {from}, {bytes}, " + CORE + "reduction<{type}>({change}));",
    ),
    (
        r"cp.async.bulk.prefetch.L2.global" + HINT,
        "a:global, bytes:u32, hint?policy:u64",
        "(void)({a});",
    ),
    (r"cp.async.bulk.commit_group", "", CORE + "bulk_commit();"),
    (r"cp.async.bulk.wait_group", "pending:i", CORE + "bulk_wait({pending}, false);"),
    (r"cp.async.bulk.wait_group.read", "pending:i", CORE + "bulk_wait({pending}, true);"),
    # Data Movement and Conversion Instructions: Tensor Copy
    (
        r"cp.async.bulk.tensor.(?P<rank>[1-5])d.shared::(cluster|cta).global(.tile)?"
        r".mbarrier::complete_tx::bytes(?P<multicast>.multicast::cluster)?" + HINT,
        "to:shared, from:tensor, barrier:shared, multicast?mask:u16, hint?policy:u64",
        CORE + "tensor_load({rank}, {to}, {from}, {barrier}{mask});",
    ),
    (
        r"cp.async.bulk.tensor.(?P<rank>[1-5])d.global.shared::cta(.tile)?.bulk_group" + HINT,
        "to:tensor, from:shared, hint?policy:u64",
        CORE + "tensor_store({rank}, {to}, {from});",
    ),
    (
        r"cp.reduce.async.bulk.tensor.(?P<rank>[1-5])d.global.shared::cta"
        r".(?P<op>add|min|max)(.tile)?.bulk_group" + HINT,
        "to:tensor, from:shared, hint?policy:u64",
        CORE + "tensor_reduce({rank}, {to}, {from}, {changes});",
    ),
    (
        r"cp.async.bulk.prefetch.tensor.(?P<rank>[1-5])d.L2.global(.tile)?" + HINT,
        "from:tensor, hint?policy:u64",
        CORE + "prefetch_tensor({rank}, {from});",
    ),
    (
        r"createpolicy.fractional(.L2::\w+)+.b64",
        "d:=b64, fraction:f32",
        assign("((void)({fraction}), 0)"),
    ),
    (r"createpolicy.fractional(.L2::\w+)+.b64", "d:=b64", assign("0")),
    # Control Flow Instructions
    (r"trap", "", CORE + "trap();"),
    # Parallel Synchronization and Communication Instructions
    (r"(bar|barrier)(.cta)?.sync(.aligned)?", "id:i", CORE + "barrier_sync({id}, {is_aligned});"),
    (
        r"(bar|barrier)(.cta)?.sync(.aligned)?",
        "id:i, threads:i",
        CORE + "barrier_sync({id}, {threads}, {is_aligned});",
    ),
    (
        r"(bar|barrier)(.cta)?.arrive(.aligned)?",
        "id:i, threads:i",
        CORE + "barrier_arrive({id}, {threads}, {is_aligned});",
    ),
    *(
        (
            rf"(bar|barrier)(.cta)?.red.(?P<op>{op})(.aligned)?.{kind}",
            f"d:={kind}, id:i, {threads}p:pred",
            assign(f"{CORE}barrier_count({{id}}, {count}, {{p}}) {test}"),
        )
        for threads, count in (("", "-1"), ("threads:i, ", "{threads}"))
        for op, kind, test in (("popc", "u32", ""), ("or", "pred", "> 0"))
    ),
    *(
        (
            r"(bar|barrier)(.cta)?.red.and(.aligned)?.pred",
            f"d:=pred, id:i, {threads}p:pred",
            assign(f"{CORE}barrier_count({{id}}, {count}, !{{p}}) == 0"),
        )
        for threads, count in (("", "-1"), ("threads:i, ", "{threads}"))
    ),
    (r"bar.warp.sync", "mask:u32", CORE + "warp_sync({mask});"),
    (
        r"barrier.cluster.arrive(?P<relaxed>.release|.relaxed)?(.aligned)?",
        "",
        CORE + "cluster_arrive({is_relaxed}, {is_aligned});",
    ),
    (r"barrier.cluster.wait(.acquire)?(.aligned)?", "", CORE + "cluster_wait({is_aligned});"),
    (r"membar(?P<scope>.cta|.gl|.sys)", "", CORE + "fence({order});"),
    (rf"fence(?P<sem>.sc|.acq_rel|.acquire|.release)?{SCOPE}", "", CORE + "fence({order});"),
    (r"fence.mbarrier_init.release.cluster", "", CORE + "mbarrier_init_fence();"),
    (
        r"fence.proxy.async((?P<shared>.shared::(cta|cluster))|(?P<global>.global))?",
        "",
        CORE + "fence_proxy_async(!{is_global}, !{is_shared});",
    ),
    (r"fence.proxy.alias", "", ";"),
    (
        rf"fence.proxy.tensormap::generic.acquire{SCOPE}",
        "map:global, bytes:i",
        CORE + "acquire_tensor_map({map});",
    ),
    (rf"fence.proxy.tensormap::generic(?P<sem>.release){SCOPE}", "", CORE + "fence({order});"),
    *(
        (
            opcode + ATOMIC.replace("{op}", CHANGES) + r"(?P<t>[usb](32|64)|f32|f64|b?f16(x2)?)",
            f"{result}a:space, b:v{{count}}.{{t}}, hint?policy:u64",
            f"{CORE}atomic_each<{{type}}, {{count}}>({given}{{a}}, {{b}}, {{change}}, {{order}});",
        )
        for opcode, result, given in (("atom", "d:=v{count}.{t}, ", "{d}, "), ("red", "", ""))
    ),
    (
        "atom" + ATOMIC.replace("{op}", "cas") + r"(?P<t>[usb](16|32|64))",
        "d:={t}, a:space, b:{t}, c:{t}",
        assign(CORE + "atomic_cas<{type}>({a}, {b}, {c}, {order})"),
    ),
    (r"activemask.b32", "d:=b32", assign(CORE + "activemask()")),
    (
        r"vote.sync.ballot.b32",
        "d:=b32, a:pred, mask:u32",
        assign(CORE + 'vote("vote.sync.ballot", {a}, {mask})'),
    ),
    (
        r"vote.sync.any.pred",
        "d:=pred, a:pred, mask:u32",
        assign(CORE + 'vote("vote.sync.any", {a}, {mask}) != 0'),
    ),
    (
        r"vote.sync.all.pred",
        "d:=pred, a:pred, mask:u32",
        assign(CORE + 'vote("vote.sync.all", !{a}, {mask}) == 0'),
    ),
    (
        r"redux.sync.(?P<op>add|and|or|xor|min|max).(?P<t>[usb]32)",
        "d:={t}, a:{t}, mask:u32",
        assign(CORE + "redux(::emulator::Reduction::{reduction}, {a}, {mask})"),
    ),
    (r"griddepcontrol.launch_dependents", "", ";"),
    (r"griddepcontrol.wait", "", CORE + "wait_for_launch_before();"),
    (r"elect.sync", "d|p:=u32|pred, mask:u32", "{d} = " + CORE + "elect({mask}, {p});"),
    # Parallel Synchronization and Communication Instructions: mbarrier
    (
        f"mbarrier.init{SPACE}.b64",
        "a:space, count:u32",
        CORE + "mbarrier_init({a}, {count});",
    ),
    (f"mbarrier.inval{SPACE}.b64", "a:space", CORE + "mbarrier_inval({a});"),
    (
        f"mbarrier.expect_tx(.relaxed)?(.cta|.cluster)?{SPACE}.b64",
        "a:space, bytes:u32",
        CORE + "mbarrier_expect_tx({a}, {bytes});",
    ),
    (
        f"mbarrier.complete_tx(.relaxed)?(.cta|.cluster)?{SPACE}.b64",
        "a:space, bytes:u32",
        CORE + "mbarrier_complete_tx({a}, {bytes});",
    ),
    *(
        (
            rf"mbarrier.arrive(?P<drop>_drop)?{how}{MBARRIER}",
            f"{result}a:space, {operands}",
            (
                f"{assigned}{CORE}mbarrier_arrive({{order}}, ::emulator::Arrival::{{arrival}}, "
                f"{bytes}, {{a}}{{arrivals}});"
            ),
        )
        for result, assigned in (("", ""), ("d:=b64, ", "{d} = "))
        for how, operands, bytes in (
            ("(?P<incomplete>.noComplete)?", "?arrivals:u32", "0"),
            (".expect_tx", "bytes:u32", "{bytes}"),
        )
    ),
    *(
        (
            f"mbarrier.(?P<wait>test|try)_wait{parity}{MBARRIER}",
            f"d:=pred, a:space, {what}, ?time:u32",
            assign(
                f"{CORE}mbarrier_wait{name}({{order}}, ::emulator::Poll::{{poll}}, {{a}}, {{state}})"
            ),
        )
        for parity, name, what in (("", "", "state:b64"), (".parity", "_parity", "state:u32"))
    ),
    # ptxas takes the modifiers in any order.
    (
        r"ldmatrix(?=\S*.x[124])" + MATRIX,
        "d:=v{n}.b32, a:space",
        CORE + "ldmatrix({d}, {n}, {is_trans}, {a});",
    ),
    (
        r"stmatrix(?=\S*.x[124])" + MATRIX,
        "a:space, d:v{n}.b32",
        CORE + "stmatrix({a}, {d}, {n}, {is_trans});",
    ),
    (
        r"movmatrix.sync.aligned.m8n8.trans.b16",
        "d:=b32, a:b32",
        assign(CORE + "movmatrix({a})"),
    ),
    (
        r"mma.sync.aligned.m16n8k16.row.col.f32.(?P<t>f16|bf16).(?P=t).f32",
        "d:=v4.f32, a:v4.b32, b:v2.b32, c:v4.f32",
        CORE + "mma_f32({d}, {a}, {b}, {c}, {is_fp16});",
    ),
    (
        r"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
        "d:=v2.b32, a:v4.b32, b:v2.b32, c:v2.b32",
        CORE + "mma_f16({d}, {a}, {b}, {c});",
    ),
    (
        r"mma.sync.aligned.m16n8k8.row.col.f32.(?P<t>f16|bf16).(?P=t).f32",
        "d:=v4.f32, a:v2.b32, b:v1.b32, c:v4.f32",
        CORE + "mma_k8_f32({d}, {a}, {b}, {c}, {is_fp16});",
    ),
    (
        r"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
        "d:=v2.b32, a:v2.b32, b:v1.b32, c:v2.b32",
        CORE + "mma_k8_f16({d}, {a}, {b}, {c});",
    ),
    # Asynchronous Warpgroup Level Matrix Instructions
    (
        r"wgmma.mma_async.sync.aligned.m64n(?P<n>\d+)k16.f32.(?P<t>f16|bf16).(?P=t)",
        "d:+f, a:desc, b:desc, accumulate:pred, scale_a:i, scale_b:i, trans_a:i, trans_b:i",
        CORE
        + "wgmma<{n}>(::emulator::Site::current(), {{.fp16 = {is_fp16}}}, {a}, {b}, {accumulate}, {scale_a}, "
        "{scale_b}, {trans_a}, {trans_b}, {d});",
    ),
    (
        r"wgmma.mma_async.sync.aligned.m64n(?P<n>\d+)k16.f32.(?P<t>f16|bf16).(?P=t)",
        "d:+f, a:fragment, b:desc, accumulate:pred, scale_a:i, scale_b:i, trans_b:i",
        CORE
        + "wgmma<{n}>(::emulator::Site::current(), {{.fp16 = {is_fp16}}}, {a}, {b}, {accumulate}, {scale_a}, "
        "{scale_b}, 0, {trans_b}, {d});",
    ),
    *(
        (
            r"wgmma.mma_async.sync.aligned.m64n(?P<n>\d+)k32.f32.e4m3.e4m3",
            f"d:+f, a:{a}, b:desc, accumulate:pred, scale_a:i, scale_b:i",
            CORE
            + "wgmma<{n}>(::emulator::Site::current(), {{.e4m3 = true}}, {a}, {b}, {accumulate}, {scale_a}, "
            "{scale_b}, 0, 0, {d});",
        )
        for a in ("desc", "fragment")
    ),
    (r"wgmma.fence.sync.aligned", "", CORE + "wgmma_fence();"),
    (r"wgmma.commit_group.sync.aligned", "", CORE + "wgmma_commit();"),
    (r"wgmma.wait_group.sync.aligned", "pending:i", CORE + "wgmma_wait({pending});"),
    # Miscellaneous Instructions
    (r"nanosleep.u32", "time:u32", CORE + "nanosleep({time});"),
    (
        r"setmaxnreg.((?P<more>inc)|dec).sync.aligned.u32",
        "count:i",
        CORE + "setmaxnreg({is_more}, {count});",
    ),
]


# ---------------------------------------------------------------- matching

MATH = {"ex2": "exp2", "lg2": "log2"}
ORDERS = {".sc": "ACQ_REL", ".volatile": "RELAXED"}
SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "lo": "<", "le": "<=", "ls": "<="}
SIGNS.update({"gt": ">", "hi": ">", "ge": ">=", "hs": ">="})
WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
COMPILED = [
    (re.compile(opcode.replace(".", r"\.")), operands, code) for opcode, operands, code in ROWS
]


def modifiers(opcode: str, match: re.Match) -> dict[str, str]:
    """What a row's operands and C++ may name besides the operands."""
    groups = {name: text or "" for name, text in match.groupdict().items()}
    known = dict(groups)
    for name, text in groups.items():
        known["is_" + name] = "true" if text else "false"
    kind = groups.get("t", "")
    known["type"] = TYPES.get(kind, "")
    known["wide"] = WIDE.get(kind, "")
    known["widetype"] = TYPES.get(known["wide"], "")
    known["sign"] = SIGNS.get(groups.get("compare", ""), "")
    known["count"] = groups.get("vec", "").lstrip(".v") or "1"
    known["n"] = groups.get("n") or ""
    known["is_aligned"] = "true" if opcode.startswith("bar.") or ".aligned" in opcode else "false"
    known.update(meanings(opcode, groups))
    known["is_relaxed"] = "true" if groups.get("relaxed") == ".relaxed" else "false"
    known["is_fp16"] = "true" if kind == "f16" else "false"
    return known


def order_of(opcode: str, groups: dict[str, str]) -> str:
    """The order and the scope, with the manual's defaults."""
    order, scope = "RELAXED", "GPU"
    if opcode.startswith(("fence", "membar")):
        order = "ACQ_REL"
    elif opcode.startswith("mbarrier"):
        order, scope = "ACQUIRE" if "_wait" in opcode else "RELEASE", "CTA"
    said, where = groups.get("sem", ""), groups.get("scope", "").lstrip(".").upper()
    order = ORDERS.get(said, said.lstrip(".").upper() or order)
    scope = "SYS" if said == ".volatile" else {"GL": "GPU"}.get(where, where or scope)
    return f"::emulator::Order::{order}, ::emulator::Scope::{scope}"


def meanings(opcode: str, groups: dict[str, str]) -> dict[str, str]:
    """What the modifiers in an opcode are in C++."""
    kind, op = groups.get("t", ""), groups.get("op", "")
    is_narrow = "f16" in kind
    narrow = "BF16" if kind.startswith("b") else "F16"
    is_signed = op in ("min", "max")
    drop, incomplete = "drop" in groups.get("drop", ""), groups.get("incomplete", "")
    return {
        "order": order_of(opcode, groups),
        "format": CORE + narrow,
        "change": f"{CORE}change_{op}" + (f"_{narrow}" if is_narrow and op != "exch" else ""),
        "changes": f"{CORE}change_{op}, {CORE}change_{op}_F16, {CORE}change_{op}_BF16",
        "math": MATH.get(groups.get("of", ""), groups.get("of", "")),
        "signs": "0x80008000" if kind.endswith("x2") else "0x8000",
        "logic_": {"and": "&", "or": "|", "xor": "^"}.get(groups.get("logic", ""), ""),
        "relu_": "_relu" if groups.get("relu") else "",
        "reduction": op.upper() + (f"_{kind.upper()}" if is_signed else ""),
        "arrival": "_".join(["DROP"] * drop + ["NO_COMPLETE"] * bool(incomplete)) or "PLAIN",
        "arrivals": "",
        "poll": groups.get("wait", "").upper(),
    }


def wanted(operands: str, known: dict[str, str], count: int) -> list[tuple[str, str, bool]] | None:
    """Name, kind, and whether it is optional, of the operands of a row for this opcode; None if
    there are not `count`."""
    found = []
    for entry in operands.split(", ") if operands else []:
        condition, _, rest = entry.rpartition("?")
        name, kind = rest.split(":")
        if condition and not known.get(condition):
            continue
        if entry.startswith("?") and len(found) >= count:
            continue
        found.append((name, kind, "?" in entry))
    return found if len(found) == count else None


def written(instruction: Instruction, row: tuple, known: dict[str, str]) -> str | None:
    operands = [operand_of(text) for text in split(instruction.text)]
    kinds = wanted(row[1], known, len(operands))
    if kinds is None:
        return None
    writer = Writer(instruction)
    names = dict(known)
    for entry in row[1].split(", ") if row[1] else []:
        names.setdefault(entry.rpartition("?")[2].split(":")[0], "")
    for operand, (name, kind, is_optional) in zip(operands, kinds):
        if "|" in name:
            if operand.kind != "pair":
                return None
            for part, one, its in zip(operand.parts, name.split("|"), kind.lstrip("=").split("|")):
                names[one] = writer.result(part, its)
            continue
        if operand.kind == "pair":
            return None
        try:
            cpp = writer.operand(operand, kind, known)
        except Mismatch:
            return None
        names[name] = f", {cpp}" if is_optional else cpp
    return writer.finish(row[2].format(**names))


def cpp_of(instruction: Instruction) -> str:
    """The C++ of an instruction. Raises NotKnown."""
    is_known = False
    for row in COMPILED:
        match = row[0].fullmatch(instruction.opcode)
        if match is None:
            continue
        is_known = True
        cpp = written(instruction, row, modifiers(instruction.opcode, match))
        if cpp is not None:
            return cpp
    if is_known:
        raise NotKnown(f"these operands of {instruction}")
    raise NotKnown(f"the instruction {instruction}")
