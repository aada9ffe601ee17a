// The emulator's arrivals on a counter in global memory. Its CTAs run one after the other.
#pragma once

#include "device/base.cuh"

#include "emulator/runtime.h"

// atom.acq_rel.gpu...add.
DEVICE int count_arrival(int *counter, EMULATOR_SITE) {
    return emulator::count_arrival(counter, where);
}
