// The emulator's arrivals on a counter in global memory. Its CTAs run one after the other.
#pragma once

#include "device/base.cuh"

#include "emulator/atomics.h"

// atom.acq_rel.gpu...add.
DEVICE int count_arrival(int *counter, EMULATOR_SITE) {
    return emulator::atomic_change(
        counter, [](int old) { return old + 1; }, emulator::Order::ACQ_REL, emulator::Scope::GPU,
        where);
}
