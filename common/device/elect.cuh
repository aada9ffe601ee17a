// elect.sync: one lane of a warp, which the compiler knows to be one.
#pragma once

#include "device/base.cuh"

// True in one lane of the warp, always the same one. All lanes call it. Around code that a single
// thread executes because of its threadIdx ptxas puts a loop over all lanes for every TMA
// instruction; after this it does not. (PTX ISA: elect.sync.)
DEVICE bool elect_one() {
    uint32_t elected;
    asm volatile("{\n"
                 ".reg .pred one;\n"
                 "elect.sync _|one, 0xffffffff;\n"
                 "selp.u32 %0, 1, 0, one;\n"
                 "}"
                 : "=r"(elected));
    return elected;
}
