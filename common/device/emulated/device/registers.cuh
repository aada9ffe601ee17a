// The emulator has unlimited registers: only the numbers are checked.
#pragma once

#include "device/base.cuh"

#include "emulator/warp.h"

// setmaxnreg.dec.
template <int REGISTERS>
DEVICE void setmaxnreg_dec(EMULATOR_SITE) {
    static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0,
                  "setmaxnreg takes multiples of 8 from 24 to 256");
    emulator::warp_aligned("setmaxnreg.dec", where);
}

// setmaxnreg.inc.
template <int REGISTERS>
DEVICE void setmaxnreg_inc(EMULATOR_SITE) {
    static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0,
                  "setmaxnreg takes multiples of 8 from 24 to 256");
    emulator::warp_aligned("setmaxnreg.inc", where);
}
