"""Inline PTX as C++ for the emulator: every asm statement becomes calls of emulator/ptx.h.

    translate(text) -> str    the text for g++, line by line

A statement that is not understood becomes a call of unknown(), which names it with file and line: an
error only where it is executed, as nvcc does not look at what a program never uses.

An asm statement becomes a statement expression: references to its outputs, copies of its inputs,
then a block with the PTX scopes, registers, labels and instructions as C++ ones. Each instruction
is on the line that it has in the file, so that reports name it. instructions.txt says what each one
is; nothing is left out.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass, field

from .cxx import Asm, Operand, asm_statements, edited, tokens_of, without_comments
from .instructions import CORE, REGISTERS, NotKnown, cpp_of, shortened

CONSTRAINTS = {"=": "hrlfd", "+": "hrlfd", "": "hrlfdni0123456789"}
NAME = r"[A-Za-z_$%][\w$]*"
# %%, %= and the like, and operands by name.
ESCAPE = re.compile(r"%=|%(?P<escaped>[%{}|])|%\[(?P<name>\w+)\]|.", re.DOTALL)
STATEMENT = re.compile(
    rf"[\s;]*(?:(?P<brace>[{{}}])|(?P<label>{NAME})\s*:(?!:)|(?P<directive>\.[^;]*)"
    r"|(?P<instruction>[^;\s][^;]*))"
)
INSTRUCTION = re.compile(rf"(?:@(!?)\s*(%\d+|{NAME})\s+)?([a-z][\w.:]*)\s*(.*)")


@dataclass
class Scope:
    """A PTX scope: its C++ lines so far, and the labels that it declares."""

    begin: int  # where in Block.out its opening brace is
    labels: list[str] = field(default_factory=list)
    registers: dict[str, str] = field(default_factory=dict)  # PTX name: C++ name


def cpp_name(prefix: str, name: str) -> str:
    return prefix + re.sub(r"\W", lambda m: f"_{ord(m.group()):x}_", name)


def statements_of(asm: Asm) -> Iterator[tuple[str, str, int]]:
    """The template's braces, labels, directives and instructions: kind, text, line. Operands are
    %0, %1, ..."""
    numbers = {operand.name: str(i) for i, operand in enumerate(asm.outputs + asm.inputs)}
    text, lines = "", []
    for found in ESCAPE.finditer(without_comments(asm.text)):
        piece = found["escaped"] or ("" if found.group() == "%=" else found.group())
        if found["name"]:
            piece = "%" + numbers.get(found["name"], found["name"])
        text += piece
        lines += [asm.lines[found.start()]] * len(piece)
    for found in STATEMENT.finditer(text):
        kind = found.lastgroup
        yield kind, " ".join(found[kind].split()), lines[found.start(kind)]


class Block:
    """Writes the C++ of one asm statement."""

    def __init__(self, asm: Asm) -> None:
        self.asm = asm
        self.line = asm.first.line
        self.newlines = asm.last.line - self.line  # that the C++ must have
        self.operands = asm.outputs + asm.inputs
        self.problems = list(asm.problems)
        self.out: list[str] = []
        self.written = 0  # newlines so far
        self.scopes: list[Scope] = []
        self.labels: set[str] = set()
        self.jumps: set[str] = set()

    def go_to(self, line: int) -> None:
        wanted = min(line - self.line, self.newlines)
        if wanted > self.written:
            self.out.append("\n" * (wanted - self.written))
            self.written = wanted

    # ------------------------------------------------------------ operands

    def bind(self, number: int, operand: Operand) -> str:
        """The C++ that makes an operand ptx_0, ptx_1, ..."""
        match = re.fullmatch(r"([=+]?)(&?)([a-zC]|\d)", operand.constraint)
        mode, letter = (match.group(1), match.group(3)) if match else ("?", "")
        is_output = number < len(self.asm.outputs)
        if letter not in CONSTRAINTS.get(mode, "") or is_output != (mode in ("=", "+")):
            self.problems.append((operand.line, f'the constraint "{operand.constraint}"'))
            return ""
        name = f"ptx_{number}"
        expression = translate(operand.expression, operand.line, self.asm.first.file)
        if is_output:
            return f"[[maybe_unused]] auto &{name} = ({expression}); "
        if letter.isdigit():
            return f"auto &{name} = ptx_{letter}; {CORE}put({name}, ({expression})); "
        if letter == "r" and "wgmma.mma_async" in self.asm.text:  # A: see Writer.matrix
            return f"[[maybe_unused]] const decltype({expression}) {name} = ({expression}); "
        return f"[[maybe_unused]] auto {name} = ({expression}); "  # which some programs write

    def resolve(self, text: str) -> str | None:
        """The C++ of a register or an operand."""
        if re.fullmatch(r"%\d+", text):
            index = int(text[1:])
            if index >= len(self.operands):
                raise NotKnown(f"the operand {text}: there are {len(self.operands)}")
            return f"ptx_{index}"
        names = ChainMap(*(scope.registers for scope in reversed(self.scopes)))
        return names.get(text)

    # ------------------------------------------------------------ statements

    def open(self) -> None:
        self.scopes.append(Scope(len(self.out)))
        self.out.append("{ ")

    def close(self) -> None:
        scope = self.scopes.pop()
        if scope.labels:
            self.out[scope.begin] += f"__label__ {', '.join(scope.labels)}; "
        self.out.append("} ")

    def brace(self, text: str) -> None:
        if text == "{":
            self.open()
        elif len(self.scopes) == 1:
            raise NotKnown("a `}` that closes nothing")
        else:
            self.close()

    def label(self, name: str) -> None:
        label = cpp_name("ptx_l_", name)
        self.labels.add(name)
        self.scopes[-1].labels.append(label)
        self.out.append(f"{label}: __attribute__((unused)); ")

    def directive(self, text: str) -> None:
        match = re.fullmatch(rf"\.reg \.(\w+) ((?:{NAME}(?:<\d+>)?(?: ?, ?|$))+)", text)
        kind = REGISTERS.get(match.group(1)) if match else None
        if match is None or kind is None:
            raise NotKnown(f"the directive `{shortened(text)}`")
        names: list[str] = []
        for name, count in re.findall(rf"({NAME})(?:<(\d+)>)?", match.group(2)):
            names += [f"{name}{i}" for i in range(int(count))] if count else [name]
        made = {name: cpp_name("ptx_r_", name) for name in names}
        self.scopes[-1].registers.update(made)
        self.out.append(f"[[maybe_unused]] {kind} {', '.join(made.values())}; ")

    def instruction(self, text: str) -> None:
        match = INSTRUCTION.fullmatch(text)
        if match is None:
            raise NotKnown(f"`{shortened(text)}`")
        inverted, guard, opcode, operands = match.groups()
        condition = ""
        if guard is not None:
            register = self.resolve(guard)
            if register is None:
                raise NotKnown(f"the register `{guard}`, which is not declared in the statement")
            sign = "!" if inverted else ""
            condition = f"if ({sign}{CORE}get<bool>({register})) "
        if opcode in ("bra", "bra.uni") and re.fullmatch(NAME, operands):
            self.jumps.add(operands)
            self.out.append(f"{condition}goto {cpp_name('ptx_l_', operands)}; ")
            return
        cpp = cpp_of(opcode, operands, self.resolve)
        self.out.append(f"{condition}{{ {cpp} }} ")

    # ------------------------------------------------------------ all of it

    def read(self) -> None:
        self.out.append("({ ")
        for number, operand in enumerate(self.operands):
            self.out.append(self.bind(number, operand))
        self.open()
        for kind, text, line in statements_of(self.asm):
            self.go_to(line)
            try:
                getattr(self, kind)(text)
            except NotKnown as error:
                self.problems.append((line, str(error)))
        if len(self.scopes) > 1:
            self.problems.append((self.line, "a `{` that is not closed"))
        for target in sorted(self.jumps - self.labels) if not self.problems else ():
            self.problems.append((self.line, f"a jump to the label `{target}`, which is not there"))
        while self.scopes:
            self.close()
        self.out.append("})")

    def cpp(self) -> str:
        if not self.asm.text.strip() and not self.problems:
            # It keeps the compiler from moving its operands, and touches none: g++ knows none of
            # their constraints.
            named = "".join(f"(void)({one.expression}); " for one in self.operands)
            self.out = [f'({{ {named}asm volatile("" ::: "memory"); }})']
        else:
            self.read()
        if self.problems:
            why = json.dumps("; ".join(what for _, what in self.problems))
            place = f"{json.dumps(self.asm.first.file)}, {self.problems[0][0]}"
            self.out, self.written = [f"{CORE}unknown({place}, {why})"], 0
        self.go_to(self.asm.last.line)
        return "".join(self.out)


def translate(text: str, line: int = 1, file: str = "") -> str:
    """Preprocessed CUDA C++, which begins in that line, with its asm as C++, each line where it was.
    The C++ needs emulator/ptx.h."""
    statements = asm_statements(tokens_of(text, line, file))
    return edited(text, [(one.first.begin, one.last.end, Block(one).cpp()) for one in statements])
