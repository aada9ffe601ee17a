// The emulator's elect.sync: lane 0, once all lanes of the warp have come.
#pragma once

#include "device/base.cuh"

#include "emulator/warp.h"

DEVICE bool elect_one(EMULATOR_SITE) {
    emulator::warp_sync(0xffffffffu, where);
    return threadIdx.x % WARP_THREADS == 0;
}
