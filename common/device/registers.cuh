// setmaxnreg: moves registers from warpgroups that need few to warpgroups that need many.
#pragma once

#include "device/base.cuh"

// Gives registers back, down to `REGISTERS` per thread (24 to 256, a multiple of 8). All threads of
// the warpgroup call it. The kernel needs __launch_bounds__, so that its registers at launch are
// known, or ptxas ignores it with C7508. (PTX ISA: setmaxnreg.)
template <int REGISTERS>
DEVICE void setmaxnreg_dec() {
    static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0,
                  "setmaxnreg takes multiples of 8 from 24 to 256");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// Waits until the CTA's pool has enough registers, then takes them, up to `REGISTERS` per thread.
template <int REGISTERS>
DEVICE void setmaxnreg_inc() {
    static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0,
                  "setmaxnreg takes multiples of 8 from 24 to 256");
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
