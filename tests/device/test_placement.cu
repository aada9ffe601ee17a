// Where SMs are: what the latencies say, and that measuring again says the same.
#include "device/placement.cuh"

#include <cstdio>
#include <random>

// Four GPCs of 16 SMs in turn, two beside each half: the others' lines take 1400 cycles longer, the
// first GPC is nearer to all, some lines are farther from all, and there is noise.
static int halves_from_latencies() {
    constexpr int SMS = 64;
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, 300);
    std::vector<int> took(SMS * PROBED_LINES), gpc(SMS);
    for (int sm = 0; sm < SMS; ++sm) {
        gpc[sm] = sm % 4;
        for (int line = 0; line < PROBED_LINES; ++line)
            took[sm * PROBED_LINES + line] =
                int(2500 + 1400 * ((gpc[sm] / 2 + line * 7 / 3) % 2) - 500 * (gpc[sm] == 0) +
                    20 * (line % 8) + noise(random));
    }
    const std::vector<bool> other = other_half(took, gpc);
    for (int sm = 0; sm < SMS; ++sm)
        if (other[sm] != (sm % 4 >= 2))
            return printf("SM %d of GPC %d is in the wrong half\n", sm, gpc[sm]);
    return 0;
}

static int measured_twice() {
    std::vector<int> place, again;
    if (place_sms(&place) || place_sms(&again))
        return printf("could not measure\n");
    std::vector<int> sorted = place;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
        if (sorted[i] != int(i))
            return printf("no SM has place %zu\n", i);
    return place == again ? 0 : printf("another measurement says something else\n");
}

int main() { return halves_from_latencies() || measured_twice(); }
