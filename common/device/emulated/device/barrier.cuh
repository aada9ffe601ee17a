// The emulator's Barrier: as common/device/barrier.cuh has it, on the emulator's mbarriers. A token
// is the phase's number; waiting with one whose phase is long past is reported.
#pragma once

#include "device/mbarrier.cuh"

struct Barrier {
    using Token = uint64_t;

    uint64_t word;

    DEVICE void init(int arrivals, EMULATOR_SITE) { mbarrier_init(&word, arrivals, where); }

    DEVICE Token arrive(EMULATOR_SITE) {
        return emulator::mbarrier_arrive({&word, where}, 0, where);
    }

    DEVICE Token arrive_tx(int bytes, EMULATOR_SITE) {
        return emulator::mbarrier_arrive({&word, where}, bytes, where);
    }

    DEVICE void wait(Token token, EMULATOR_SITE) {
        emulator::mbarrier_wait_token({&word, where}, token, where);
    }
};
