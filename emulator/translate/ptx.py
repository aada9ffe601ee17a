"""Inline PTX as C++ for the emulator: every asm statement becomes calls of emulator/ptx.h.

    translate(text, name) -> str    the file's text for g++, line by line

A statement that is not understood becomes a call of unknown(), which names it with file and line: an
error only where it is executed, as nvcc does not look at what a program never uses.

An asm statement becomes a statement expression: references to its outputs, copies of its inputs,
then a block with the PTX scopes, registers, labels and instructions as C++ ones. Each instruction
is on the line that it has in the file, so that reports name it. The table of instructions.py says
what each one is; nothing is left out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from .cxx import Asm, Operand, asm_statements, string_macros
from .instructions import Argument, Instruction, NotKnown, cpp_of, register_type

CORE = "::emulator::ptx::"
CONSTRAINTS = {"=": "hrlfd", "+": "hrlfd", "": "hrlfdni0123456789"}
NAME = r"[A-Za-z_$%][\w$]*"
ARGUMENT = "\x02"  # around the number of an operand
PERCENT = "\x01"  # %%


class Unknown(Exception):
    """Constructs that the translator does not know: (file, line, what) of each."""

    def __init__(self, problems: list[tuple[str, int, str]]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{file}:{line}: {what}" for file, line, what in problems))


@dataclass
class Scope:
    """A PTX scope: its C++ lines so far, and the labels that it declares."""

    begin: int  # where in Block.out its opening brace is
    labels: list[str] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)  # PTX name: C++ name


def cpp_name(prefix: str, name: str) -> str:
    return prefix + re.sub(r"\W", lambda m: f"_{ord(m.group()):x}_", name)


# ---------------------------------------------------------------- the template's text


def without_comments(text: str) -> str:
    """Comments as spaces of the same length."""

    def blank(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    return re.sub(r"//[^\n]*|/\*.*?\*/", blank, text, flags=re.DOTALL)


def marked(asm: Asm) -> tuple[str, list[int]]:
    """The template with its operands as marked numbers and `%%` as one mark, and each character's
    line."""
    names = {operand.name: i for i, operand in enumerate(asm.outputs + asm.inputs)}
    text, lines, at = "", [], 0
    pattern = re.compile(r"%%|%=|%[{}|]|%(\d+)|%\[(\w+)\]")
    source = without_comments(asm.text)
    while at < len(source):
        match = pattern.match(source, at)
        piece, width = source[at], 1
        if match is not None:
            piece, width = match.group(), len(match.group())
            if piece == "%%":
                piece = PERCENT
            elif piece == "%=":
                piece = ""
            elif match.group(1) is not None:
                piece = f"{ARGUMENT}{match.group(1)}{ARGUMENT}"
            elif match.group(2) is not None:
                piece = f"{ARGUMENT}{names.get(match.group(2), match.group(2))}{ARGUMENT}"
            else:
                piece = piece[1]
        text += piece
        lines += [asm.lines[at]] * len(piece)
        at += width
    return text.replace(PERCENT, "%"), lines


@dataclass
class Statement:
    """One of PTX: a brace, a label, a directive or an instruction, without its semicolon."""

    text: str
    line: int


def statements_of(asm: Asm) -> list[Statement]:
    text, lines = marked(asm)
    found, at = [], 0
    while at < len(text):
        if text[at].isspace() or text[at] == ";":
            at += 1
            continue
        label = re.match(NAME + r"(?=\s*:(?!:))", text[at:])
        if text[at] in "{}":
            end, piece = at + 1, text[at]
        elif label is not None:
            end = text.index(":", at) + 1
            piece = label.group() + ":"
        else:
            end = text.find(";", at)
            end = end if end >= 0 else len(text)
            piece = " ".join(text[at:end].split())
        found.append(Statement(piece, lines[at]))
        at = end
    return found


# ---------------------------------------------------------------- one asm statement


class Block:
    """Writes the C++ of one asm statement."""

    def __init__(self, asm: Asm, newlines: int) -> None:
        self.asm = asm
        self.newlines = newlines  # that the C++ must have
        self.problems = list(asm.problems)
        self.out: list[str] = []
        self.written = 0  # newlines so far
        self.scopes: list[Scope] = []

    def problem(self, line: int, what: str) -> None:
        self.problems.append((line, with_operands(what)))

    def go_to(self, line: int) -> None:
        wanted = min(line - self.asm.line, self.newlines)
        end = " \\\n" if self.asm.in_macro else "\n"
        if wanted > self.written:
            self.out.append(end * (wanted - self.written))
            self.written = wanted

    # ------------------------------------------------------------ operands

    def bind(self, number: int, operand: Operand, is_output: bool) -> str:
        match = re.fullmatch(r"([=+]?)(&?)([a-zC]|\d)", operand.constraint)
        mode, letter = (match.group(1), match.group(3)) if match else ("?", "")
        if letter not in CONSTRAINTS.get(mode, "") or is_output != (mode in ("=", "+")):
            self.problem(operand.line, f'the constraint "{operand.constraint}"')
            return ""
        name = f"ptx_{number}"
        if is_output:
            return f"[[maybe_unused]] auto &{name} = ({operand.expression}); "
        value = f"{CORE}input({operand.expression})"
        if letter.isdigit():
            return f"auto &{name} = ptx_{letter}; {CORE}put({name}, {value}); "
        if letter == "r" and "wgmma.mma_async" in self.asm.text:  # A: see EMULATOR_PLACE
            expression = operand.expression
            return f"[[maybe_unused]] const decltype({expression}) {name} = ({expression}); "
        return f"[[maybe_unused]] const auto {name} = {value}; "

    def argument(self, text: str) -> Argument:
        """A register, an operand or an immediate, as C++."""
        number = re.fullmatch(f"{ARGUMENT}(\\w+){ARGUMENT}", text)
        operands = self.asm.outputs + self.asm.inputs
        if number is not None:
            index = int(number.group(1)) if number.group(1).isdigit() else len(operands)
            if index >= len(operands):
                raise NotKnown(f"the operand %{number.group(1)}: there are {len(operands)}")
            is_constant = operands[index].constraint in ("n", "i")
            return Argument("constant" if is_constant else "register", f"ptx_{index}")
        return Argument("name", text)

    def register(self, name: str) -> str | None:
        for scope in reversed(self.scopes):
            if name in scope.registers:
                return scope.registers[name]
        return None

    # ------------------------------------------------------------ statements

    def open(self) -> None:
        self.scopes.append(Scope(len(self.out)))
        self.out.append("{ ")

    def close(self) -> None:
        scope = self.scopes.pop()
        labels = ", ".join(scope.labels)
        if labels:
            self.out[scope.begin] += f"__label__ {labels}; "
        self.out.append("} ")

    def label(self, name: str) -> str:
        return cpp_name("ptx_l_", name)

    def declare(self, statement: Statement) -> None:
        match = re.fullmatch(r"\.reg\s+(?:\.v[24]\s+)?\.(\w+)\s+(.*)", statement.text)
        kind = register_type(match.group(1)) if match and ".v" not in statement.text else None
        if match is None or kind is None:
            self.problem(statement.line, f"the directive `{shown(statement.text)}`")
            return
        names: list[str] = []
        for part in match.group(2).split(","):
            many = re.fullmatch(rf"({NAME})<(\d+)>", part.strip())
            if many is not None:
                names += [f"{many.group(1)}{i}" for i in range(int(many.group(2)))]
            elif re.fullmatch(NAME, part.strip()):
                names.append(part.strip())
            else:
                self.problem(statement.line, f"the directive `{shown(statement.text)}`")
        for name in names:
            self.scopes[-1].registers[name] = cpp_name("ptx_r_", name)
        declared = ", ".join(cpp_name("ptx_r_", name) for name in names)
        self.out.append(f"[[maybe_unused]] {kind} {declared}; ")

    def instruction(self, statement: Statement) -> None:
        match = re.fullmatch(
            rf"(?:@(!?)\s*({NAME}|{ARGUMENT}\w+{ARGUMENT})\s+)?([a-z][\w.:]*)\s*(.*)",
            statement.text,
        )
        if match is None:
            raise NotKnown(f"`{shown(statement.text)}`")
        inverted, guard, opcode, operands = match.groups()
        condition = ""
        if guard is not None:
            condition = self.read(guard, "bool")
            condition = f"if ({'!' if inverted else ''}{condition}) "
        if opcode in ("bra", "bra.uni"):
            target = operands.strip()
            if not re.fullmatch(NAME, target):
                raise NotKnown(f"`{shown(statement.text)}`")
            self.out.append(f"{condition}goto {self.label(target)}; ")
            return
        instruction = Instruction(opcode, operands, shown(operands), self.resolve)
        self.out.append(f"{condition}{{ {cpp_of(instruction)} }} ")

    def resolve(self, text: str) -> Argument:
        argument = self.argument(text)
        if argument.kind == "name":
            register = self.register(text)
            if register is not None:
                return Argument("register", register)
        return argument

    def read(self, text: str, kind: str) -> str:
        argument = self.resolve(text)
        if argument.kind == "name":
            raise NotKnown(f"the register `{text}`, which is not declared in the statement")
        return f"{CORE}get<{kind}>({argument.cpp})"

    def statement(self, statement: Statement) -> None:
        text = statement.text
        self.go_to(statement.line)
        if text == "{":
            self.open()
        elif text == "}":
            if len(self.scopes) == 1:
                raise NotKnown("a `}` that closes nothing")
            self.close()
        elif text.endswith(":") and re.fullmatch(NAME + ":", text):
            self.scopes[-1].labels.append(self.label(text[:-1]))
            self.out.append(f"{self.label(text[:-1])}: __attribute__((unused)); ")
        elif text.startswith(".reg"):
            self.declare(statement)
        elif text.startswith("."):
            raise NotKnown(f"the directive `{shown(text)}`")
        else:
            self.instruction(statement)

    def cpp(self) -> str:
        self.out.append("({ ")
        for number, operand in enumerate(self.asm.outputs):
            self.out.append(self.bind(number, operand, True))
        for number, operand in enumerate(self.asm.inputs, len(self.asm.outputs)):
            self.out.append(self.bind(number, operand, False))
        self.open()
        for statement in statements_of(self.asm):
            try:
                self.statement(statement)
            except NotKnown as error:
                self.problem(statement.line, str(error))
        if len(self.scopes) > 1:
            self.problem(self.asm.line, "a `{` that is not closed")
        self.check_labels()
        while self.scopes:
            self.close()
        self.go_to(self.asm.line + self.newlines)
        self.out.append("})")
        return "".join(self.out)

    def fence(self) -> str:
        """Of an empty statement, which keeps the compiler from moving its operands, and touches
        none: g++ knows none of their constraints."""
        self.out.append('asm volatile("" ::: "memory")')
        self.go_to(self.asm.line + self.newlines)
        return "".join(self.out)

    def refusal(self) -> str:
        """Of a statement that is not known."""
        line = self.problems[0][0]
        why = "; ".join(what for _, what in self.problems)
        self.out = [f"{CORE}unknown({json.dumps(self.asm.file)}, {line}, {json.dumps(why)})"]
        self.written = 0
        self.go_to(self.asm.line + self.newlines)
        return "".join(self.out)

    def check_labels(self) -> None:
        if self.problems:
            return
        code = "".join(self.out)
        for target in set(re.findall(r"goto (\w+);", code)):
            if f"{target}: " not in code:
                name = target.replace("ptx_l_", "")
                self.problem(self.asm.line, f"a jump to the label `{name}`, which is not there")


def with_operands(text: str) -> str:
    """Marked operands as %0, %1, ..."""
    return re.sub(f"{ARGUMENT}(\\w+){ARGUMENT}", r"%\1", text)


def shown(text: str) -> str:
    """A statement's text as its author wrote it, shortened."""
    text = with_operands(text)
    return text if len(text) <= 100 else text[:97] + "..."


# ---------------------------------------------------------------- the file


def block_of(asm: Asm, newlines: int) -> str:
    block = Block(asm, newlines)
    cpp = block.fence() if not asm.text.strip() and not asm.problems else block.cpp()
    return block.refusal() if block.problems else cpp


def cpp_of_asm(asm: Asm, newlines: int) -> str:
    """A statement; if it is one of several by how macros are defined, the compiler chooses."""
    variants = asm.variants or [asm]
    if len(variants) == 1:
        return block_of(variants[0], newlines)
    chosen = []
    for variant in variants:
        is_so = " && ".join(f"{CORE}same_text({n}, {v})" for n, v in variant.macros.items())
        chosen.append(f"if constexpr ({is_so}) {{ {block_of(variant, 0)}; }}")
    end = " \\\n" if asm.in_macro else "\n"
    return "({ " + " else ".join(chosen) + end * newlines + " })"


def translate(text: str, name: str, macros: dict[str, list[str]] | None = None) -> str:
    """The text of the file `name` with its asm as C++, each line where it was. The C++ needs
    emulator/ptx.h. `macros`: those of other files that are strings."""
    macros = {**(macros or {}), **string_macros(text)}
    pieces, at = [], 0
    for asm in asm_statements(text, name, macros):
        newlines = text.count("\n", asm.begin, asm.end)
        pieces += [text[at : asm.begin], cpp_of_asm(asm, newlines)]
        at = asm.end
    return "".join(pieces) + text[at:]
