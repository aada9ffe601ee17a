#!/usr/bin/env python3
"""The program of the energy run is built wherever there is nvcc, and the machine code of its parts
(build/energy/parts.o) multiplies.

The emulator runs the source and cannot see what ptxas leaves out: a wgmma whose sums nobody reads
is removed, and the part does a fraction of its work in a fraction of the time. Here the kernels'
HGMMA instructions are counted.
"""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCKS, BK, MMA_K = 2, 64, 16  # of bench/energy/parts.cu
# By its enum Multiply, the columns of the wgmmas with which a kernel multiplies a block by 16 columns
# of A; none: it does not multiply.
COLUMNS = {"0": (), "1": (200,), "40": (40,) * 5, "104": (104, 96), "200": (200,)}
KERNELS = 11
KERNEL = re.compile(r"\.text\.\S*part_kernelILNS_5LoadsE(\d)ELNS_8MultiplyE(\d+)EEE")

# sm_90's machine code is not documented. These stand in what cuobjdump -sass prints: the operation is
# the lowest 12 bits of an instruction's 128, the columns of an HGMMA are 8 and 8 more for each of
# bits 53 to 57.
INSTRUCTION = struct.Struct("<QQ")
HGMMA = (0x9F0, 0xDF0)  # with A in shared memory, and in registers
CUDA = 190  # e_machine of an ELF file with machine code for a GPU


def sections(data, elf):
    """(name, content) of each section of the ELF file at `elf`. (System V ABI: ELF-64 headers.)"""
    (table,) = struct.unpack_from("<Q", data, elf + 40)
    size, count, names = struct.unpack_from("<3H", data, elf + 58)
    headers = [struct.unpack_from("<2I4Q", data, elf + table + size * i) for i in range(count)]
    strings = elf + headers[names][4]
    for name, _, _, _, offset, length in headers:
        end = data.index(b"\0", strings + name)
        yield data[strings + name : end].decode(), data[elf + offset : elf + offset + length]


def columns_of(code):
    """The columns of each HGMMA of a kernel. 8: what is left where ptxas removed one."""
    words = [low for low, _ in INSTRUCTION.iter_unpack(code)]
    return [8 * ((low >> 53 & 31) + 1) for low in words if low & 0xFFF in HGMMA]


def kernels(data):
    """Kernel, as its loads and how it multiplies, -> the columns of its HGMMAs, of an object file of the
    host's with GPU code in it."""
    starts = [match.start() for match in re.finditer(b"\x7fELF", data)]
    elves = [at for at in starts if struct.unpack_from("<H", data, at + 18)[0] == CUDA]
    named = ((KERNEL.match(name), code) for elf in elves for name, code in sections(data, elf))
    return {match.groups(): columns_of(code) for match, code in named if match}


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


def main():
    built = "energy: its program is built from today's sources"
    nvcc = f"{os.environ.get('CUDA_HOME', '/usr/local/cuda')}/bin/nvcc"
    if not shutil.which("nvcc") and not os.access(nvcc, os.X_OK):
        print(f"skip - {built}: no nvcc")
        return 0
    made = subprocess.run(
        ["make", "--no-print-directory", "build/energy/parts"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    if made.returncode:
        why = [line for line in made.stderr.splitlines() if "rror" in line]
        print(f"not ok - {built}: {why[0] if why else made.stderr[-200:]}")
        return 1
    print(f"ok - {built}")
    found = kernels((ROOT / "build/energy/parts.o").read_bytes())
    why = {key: complaint(COLUMNS[key[1]], columns) for key, columns in found.items()}
    if len(found) != KERNELS:
        why[("all",)] = f"{len(found)} kernels, not {KERNELS}"
    for key in sorted(why):
        case = f"energy: part_kernel<{', '.join(key)}> multiplies as it says"
        print(f"not ok - {case}: {why[key]}" if why[key] else f"ok - {case}")
    return 1 if any(why.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
