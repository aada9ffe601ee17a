// Where a role is in a ring of stages, and in which pass over it.
#pragma once

#include "device/base.cuh"

// Producer and consumers have one each, and go over the same stages in the same order.
template <int STAGES>
struct Ring {
    int stage = 0;
    int phase = 0; // the parity of this pass: what a wait for the stage's barrier takes

    // Goes to the next stage. Compared, not divided: a remainder is five instructions in a row.
    DEVICE void next() {
        stage = stage + 1 < STAGES ? stage + 1 : 0;
        phase ^= stage == 0;
    }

    // Skips this many stages: k-tiles that another consumer multiplies.
    DEVICE void skip(int k_tiles) {
        phase ^= (stage + k_tiles) / STAGES % 2;
        stage = (stage + k_tiles) % STAGES;
    }

    // The stage before this one.
    DEVICE int before() const { return stage > 0 ? stage - 1 : STAGES - 1; }
};
