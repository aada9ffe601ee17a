// A policy of the L2, for the emulator, which has none.
#pragma once

#include "device/tma.cuh"

DEVICE uint64_t evict_normal_policy() { return 0; }
