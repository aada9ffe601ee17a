// The emulator has as many registers as anybody wants: only the numbers are checked.
#pragma once

#include "device/base.cuh"

// setmaxnreg.dec.
template <int REGISTERS>
DEVICE void setmaxnreg_dec() {
    static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0,
                  "setmaxnreg takes multiples of 8 from 24 to 256");
}

// setmaxnreg.inc.
template <int REGISTERS>
DEVICE void setmaxnreg_inc() {
    static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0,
                  "setmaxnreg takes multiples of 8 from 24 to 256");
}
