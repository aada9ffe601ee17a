// A ring of stages in shared memory: where a role is in it, and the parity of its pass.
#pragma once

#include "device/base.cuh"

template <int STAGES>
struct Ring {
    int stage = 0;
    int phase = 0; // the parity of this pass over the ring

    // Goes to the next stage. Compared, not divided: a remainder is five instructions one after the
    // other, which the k-tiles of a small tile feel.
    DEVICE void next() {
        stage = stage + 1 < STAGES ? stage + 1 : 0;
        phase ^= stage == 0;
    }

    // Skips this many k-tiles: those of another consumer's tile.
    DEVICE void skip(int k_tiles) {
        phase ^= (stage + k_tiles) / STAGES % 2;
        stage = (stage + k_tiles) % STAGES;
    }
};
