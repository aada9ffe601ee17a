#include "policy.h"

#include "emulator/emulator.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace emulator {
namespace {
// lazy completes loads before the reads of the same memory, so that memory which was handed back
// too early is overwritten before it is read. What the random policy prefers is drawn.
constexpr Policy POLICIES[] = {{.name = "eager", .at_once = true},
                               {.name = "lazy", .kinds_in_order = true},
                               {.name = "random", .random = true}};

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
Policy draw_policy(Policy drawn, std::uint64_t seed) {
    generator = drawn.seed = seed;
    const unsigned completes[] = {0, 1024, 64, 4};
    const unsigned yields[] = {0, 64, 4};
    const unsigned changes[] = {0, 256, 16};
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

constinit Policy chosen_policy = POLICIES[0];

unsigned random_below(unsigned limit) { return unsigned((next_random() >> 32) * limit >> 32); }

bool once_in(unsigned times) { return times != 0 && random_below(times) == 0; }
} // namespace emulator

const char *const *emulator_policies(void) {
    using emulator::POLICIES;
    static const char *const names[] = {POLICIES[0].name, POLICIES[1].name, POLICIES[2].name,
                                        nullptr};
    return names;
}

size_t emulator_fixed_policies(void) { return std::size(emulator::POLICIES) - 1; }

bool emulator_choose_policy(const char *name, uint64_t seed) {
    using namespace emulator;
    const Policy *found = std::ranges::find(POLICIES, std::string_view(name), &Policy::name);
    if (found == std::end(POLICIES))
        return false;
    chosen_policy = found->random ? draw_policy(*found, seed) : *found;
    return true;
}
