// The emulator checks that a CTA has the registers that its warps ask for.
#pragma once

#include "device/base.cuh"

#include "emulator/runtime.h"

// setmaxnreg.dec.
template <int REGISTERS>
DEVICE void setmaxnreg_dec(EMULATOR_SITE) {
    emulator::setmaxnreg(false, REGISTERS, where);
}

// setmaxnreg.inc.
template <int REGISTERS>
DEVICE void setmaxnreg_inc(EMULATOR_SITE) {
    emulator::setmaxnreg(true, REGISTERS, where);
}
