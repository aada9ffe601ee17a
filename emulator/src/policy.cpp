#include "policy.h"

#include "emulator/emulator.h"

#include <cstring>
#include <iterator>

namespace emulator {

namespace {

// lazy completes loads before the reads of the same memory, so that memory which was handed back
// too early is overwritten before it is read.
constexpr Policy FIXED[] = {{.name = "eager", .at_once = true},
                            {.name = "lazy", .kinds_in_order = true}};
constexpr const char *RANDOM = "random";

std::uint64_t generator = 0;

// The next number of the generator: SplitMix64, which takes any seed.
std::uint64_t next_random() {
    std::uint64_t z = generator += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

// The preferences span four orders of magnitude: most bugs need one kind of event to be late for
// long while others are quick.
Policy draw_policy(std::uint64_t seed) {
    generator = seed;
    const unsigned completes[] = {0, 1024, 64, 4};
    const unsigned yields[] = {0, 64, 4};
    const unsigned changes[] = {0, 256, 16};
    Policy drawn{.name = RANDOM, .random = true, .seed = seed};
    for (unsigned &rate : drawn.completes)
        rate = completes[random_below(4)];
    drawn.yields = yields[random_below(3)];
    drawn.changes_cta = changes[random_below(3)];
    drawn.favoured_cta = int(random_below(3)) - 1;
    drawn.operation = Pick(random_below(3));
    drawn.thread = Pick(random_below(3));
    drawn.kinds_in_order = random_below(2) == 0;
    return drawn;
}

} // namespace

constinit Policy chosen_policy = FIXED[0];

unsigned random_below(unsigned limit) { return unsigned((next_random() >> 32) * limit >> 32); }

bool once_in(unsigned times) { return times != 0 && random_below(times) == 0; }

} // namespace emulator

const char *const *emulator_policies(void) {
    static const char *const names[] = {emulator::FIXED[0].name, emulator::FIXED[1].name,
                                        emulator::RANDOM, nullptr};
    return names;
}

size_t emulator_fixed_policies(void) { return std::size(emulator::FIXED); }

bool emulator_choose_policy(const char *name, uint64_t seed) {
    using namespace emulator;
    for (const Policy &fixed : FIXED)
        if (std::strcmp(name, fixed.name) == 0) {
            chosen_policy = fixed;
            return true;
        }
    if (std::strcmp(name, RANDOM) != 0)
        return false;
    chosen_policy = draw_policy(seed);
    return true;
}
