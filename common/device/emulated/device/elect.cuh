// The emulator's elect.sync: a collective of the warp's lanes, which orders none of their memory.
#pragma once

#include "device/base.cuh"

#include "emulator/warp.h"

// elect.sync of the whole warp: lane 0's.
DEVICE bool elect_one(EMULATOR_SITE) {
    return int(threadIdx.x) % WARP_THREADS == emulator::warp_elect(emulator::WHOLE_WARP, where);
}
