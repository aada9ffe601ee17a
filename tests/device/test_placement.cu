// Where SMs are: what the latencies say, and that measuring again says the same.
#include "../../emulator/tests/test.h"
#include "device/placement.cuh"

#include <random>

// Four GPCs of 16 SMs in turn, two beside each half: the others' lines take 1400 cycles longer, the
// first GPC is nearer to all, some lines are farther from all, and there is noise.
static void halves_from_latencies() {
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
        EXPECT(other[sm] == (sm % 4 >= 2), "SM %d of GPC %d is in the wrong half", sm, gpc[sm]);
}

static void measured_twice() {
    std::vector<int> place, again;
    EXPECT(place_sms(&place) == 0 && place_sms(&again) == 0, "could not measure");
    EXPECT(place == again, "another measurement says something else");
    std::sort(place.begin(), place.end());
    for (size_t i = 0; i < place.size(); ++i)
        EXPECT(place[i] == int(i), "no SM has place %zu", i);
}

int main() {
    run_case("places: halves of the L2 from latencies with noise", halves_from_latencies);
    run_case("places: measuring again says the same", measured_twice);
    return test_result();
}
