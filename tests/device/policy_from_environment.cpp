// Linked to the kernels' tests on the emulator: before main() it takes the policy, and for random
// its seed, from the environment: EMULATOR_POLICY=lazy, EMULATOR_POLICY=random EMULATOR_SEED=3.
#include "emulator/emulator.h"

#include <cstdio>
#include <cstdlib>

namespace {

struct FromEnvironment {
    FromEnvironment() {
        const char *policy = std::getenv("EMULATOR_POLICY");
        const char *seed = std::getenv("EMULATOR_SEED");
        if (policy == nullptr)
            return;
        if (!emulator_choose_policy(policy,
                                    std::strtoull(seed != nullptr ? seed : "1", nullptr, 10))) {
            std::fprintf(stderr, "EMULATOR_POLICY: there is no policy '%s'\n", policy);
            std::exit(2);
        }
    }
} from_environment;

} // namespace
