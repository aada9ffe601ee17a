// The emulator's mbarriers: their counts, phases and byte counts, the order they carry, and whether
// they were initialised and announced before they are used.
#pragma once

#include "device/shared_memory.cuh"

#include "emulator/mbarrier.h"

// Marks the barrier as initialised; the line that calls gives it its name in reports.
DEVICE void mbarrier_init(uint64_t *barrier, int arrivals, EMULATOR_SITE) {
    emulator::mbarrier_init({barrier, where}, arrivals, where);
}

// Without it, another thread's use of the barrier is a LIFETIME error.
DEVICE void mbarrier_init_fence(EMULATOR_SITE) { emulator::mbarrier_init_fence(where); }

// An arrival; one more than the phase expects is a mistake that is reported.
DEVICE void mbarrier_arrive(uint64_t *barrier, EMULATOR_SITE) {
    emulator::mbarrier_arrive({barrier, where}, 0, where);
}

// The announcement happens first, then the arrival, as in PTX.
DEVICE void mbarrier_arrive_expect_tx(uint64_t *barrier, int bytes, EMULATOR_SITE) {
    emulator::mbarrier_arrive({barrier, where}, bytes, where);
}

// The thread waits until the phase has completed; a deadlock's report names it until then.
DEVICE void mbarrier_wait(uint64_t *barrier, int parity, EMULATOR_SITE) {
    emulator::mbarrier_wait_parity({barrier, where}, parity, where);
}

// LIFETIME if the peer has exited, or if no cluster barrier says that it has started.
DEVICE void mbarrier_arrive_cluster(uint64_t *barrier, int cta_rank, EMULATOR_SITE) {
    emulator::mbarrier_arrive({barrier, cta_rank, where}, 0, where);
}
