// The emulator's named barriers: whole warps, one count per phase, else MISUSE.
#pragma once

#include "device/base.cuh"

#include "emulator/barriers.h"

// bar.sync.
DEVICE void named_barrier_sync(int id, int threads, EMULATOR_SITE) {
    emulator::named_barrier_sync(id, threads, where);
}
