// The emulator's L2 has no halves: half of the CTAs count as beside each.
#pragma once

#include "device/launch.cuh"

#include <vector>

// Nothing is measured.
inline int l2_halves(std::vector<int> *half, int ctas, int, size_t) {
    half->resize(ctas);
    for (int cta = 0; cta < ctas; ++cta)
        (*half)[cta] = 2 * cta / ctas;
    return 0;
}
