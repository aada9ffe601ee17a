#!/usr/bin/env python3
"""The machine code of the energy run's parts (build/energy/parts.cu.o, made by make) multiplies.

The emulator runs the source and cannot see what ptxas leaves out: a wgmma whose sums nobody reads
is removed, and the part does a fraction of its work in a fraction of the time. Here the kernels'
HGMMA instructions are counted.
"""

import os
import pathlib
import re
import shutil
import struct
import sys

OBJECT = pathlib.Path(__file__).resolve().parent.parent / "build/energy/parts.cu.o"
BLOCKS, BK, MMA_K = 2, 64, 16  # of bench/energy/parts.cu
# Kernel -> columns of the wgmmas with which it multiplies a block by 16 columns of A; none: it does
# not multiply.
ALL = (200,)
COLUMNS = {
    "Whole": ALL,
    "NoStore": ALL,
    "NoDram": ALL,
    "NoLoads": ALL,
    "MultiplyAlone": ALL,
    "MultiplyN104": (104, 96),
    "MultiplyN40": (40,) * 5,
    "MultiplyARegisters": ALL,
    "LoadsPaced": (),
    "LoadsL2": (),
    "LoadsL2Apart": (),
    "Waiting": (),
}
KERNEL = re.compile(r"\.text\.\S*part_kernelINS_\d+([A-Za-z][A-Za-z0-9]*)EEE")

# sm_90's machine code is not documented. These stand in what cuobjdump -sass prints: the operation is
# the lowest 12 bits of an instruction's 128, the columns of an HGMMA are 8 and 8 more for each of
# bits 53 to 57.
INSTRUCTION = struct.Struct("<QQ")
HGMMA = (0x9F0, 0xDF0)  # with A in shared memory, and in registers
CUDA = 190  # e_machine of an ELF file with machine code for a GPU


def elves(data):
    """Where machine code for a GPU begins in an object file of the host's."""
    found = [match.start() for match in re.finditer(b"\x7fELF", data)]
    return [at for at in found if struct.unpack_from("<H", data, at + 18)[0] == CUDA]


def sections(data, elf):
    """(name, content) of each section of the ELF file at `elf`. (System V ABI: ELF-64 headers.)"""
    (table,) = struct.unpack_from("<Q", data, elf + 40)
    size, count, names = struct.unpack_from("<3H", data, elf + 58)
    headers = [
        struct.unpack_from("<2I4Q", data, elf + table + size * index) for index in range(count)
    ]
    strings = elf + headers[names][4]
    for name, _, _, _, offset, length in headers:
        end = data.index(b"\0", strings + name)
        text = data[strings + name : end].decode()
        yield text, data[elf + offset : elf + offset + length]


def columns_of(code):
    """The columns of each HGMMA of a kernel. 8: what is left where ptxas removed one."""
    words = [low for low, _ in INSTRUCTION.iter_unpack(code)]
    return [8 * ((low >> 53 & 31) + 1) for low in words if low & 0xFFF in HGMMA]


def kernels(data):
    """Kernel -> the columns of its HGMMAs."""
    found = {}
    for elf in elves(data):
        for name, content in sections(data, elf):
            match = KERNEL.match(name)
            if match:
                found[match[1]] = columns_of(content)
    return found


def complaint(wanted, found):
    """Why these HGMMAs cannot do the kernel's work; '' if they can."""
    if not wanted:
        return f"{len(found)} HGMMAs in a part that does not multiply" if found else ""
    others = sorted(set(found) - set(wanted))
    if others:
        return f"HGMMAs of {others} columns among those of {wanted}: ptxas removed some"
    steps = len(found) // len(wanted)  # of 16 columns of A, of a block
    whole = steps > 0 and steps % (BLOCKS * BK // MMA_K) == 0  # of each copy of the loop's body
    if not whole or sorted(found) != sorted(wanted * steps):
        return f"{len(found)} HGMMAs are not whole k-tiles of {wanted}: ptxas removed some"
    return ""


def have_nvcc():
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("nvcc") or os.access(f"{home}/bin/nvcc", os.X_OK)


def main():
    if not OBJECT.exists():
        name = "energy: machine code of the parts"
        nvcc = have_nvcc()
        print(f"not ok - {name}: {OBJECT} is missing: make" if nvcc else f"skip - {name}: no nvcc")
        return 1 if nvcc else 0
    found = kernels(OBJECT.read_bytes())
    good = True
    for name in sorted({*COLUMNS, *found}):
        if name not in found:
            why = ": not found"
        elif name not in COLUMNS:
            why = ": how it multiplies is not said in this test"
        else:
            why = complaint(COLUMNS[name], found[name])
            why = f": {why}" if why else ""
        print(f"{'not ok' if why else 'ok'} - energy: {name} multiplies as it says{why}")
        good &= not why
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
