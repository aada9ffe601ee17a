#include "policy.h"

namespace emulator {

namespace {

using Kinds = std::vector<OperationKind>;

Policy fixed(const char *name, const Kinds &at_once, Pick pick, bool kinds_in_order) {
    Policy made;
    made.name = name;
    for (const OperationKind kind : at_once)
        made.at_once[static_cast<int>(kind)] = true;
    made.operation = pick;
    made.thread = pick;
    made.kinds_in_order = kinds_in_order;
    return made;
}

// lazy completes loads before the reads of the same memory, so that memory which was handed back
// too early is overwritten before it is read.
std::vector<Policy> make_fixed_policies() {
    const Kinds all = {OperationKind::LOAD, OperationKind::COPY, OperationKind::MATMUL,
                       OperationKind::STORE_READ, OperationKind::STORE_WRITE};
    return {fixed("eager", all, Pick::OLDEST, false), fixed("lazy", {}, Pick::OLDEST, true)};
}

const std::vector<Policy> &fixed_policies() {
    static const std::vector<Policy> made = make_fixed_policies();
    return made;
}

std::uint64_t generator = 0;

// The next number of the generator: SplitMix64, which takes any seed.
std::uint64_t next_random() {
    std::uint64_t z = generator += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

Pick any_pick() {
    const Pick picks[] = {Pick::OLDEST, Pick::NEWEST, Pick::ANY};
    return picks[random_below(3)];
}

// The preferences span four orders of magnitude: most bugs need one kind of event to be late for
// long while others are quick.
Policy draw_policy() {
    const unsigned completes[] = {0, 1024, 64, 4};
    const unsigned yields[] = {0, 64, 4};
    const unsigned changes[] = {0, 256, 16};
    Policy drawn;
    drawn.name = "random";
    drawn.random = true;
    for (unsigned &rate : drawn.completes)
        rate = completes[random_below(4)];
    drawn.yields = yields[random_below(3)];
    drawn.changes_cta = changes[random_below(3)];
    drawn.favoured_cta = static_cast<int>(random_below(3)) - 1;
    drawn.operation = any_pick();
    drawn.thread = any_pick();
    drawn.kinds_in_order = random_below(2) == 0;
    return drawn;
}

void choose(const Policy &policy) {
    static Policy chosen;
    chosen = policy;
    chosen_policy = &chosen;
}

} // namespace

constinit const Policy *chosen_policy = nullptr;

const Policy &first_policy() { return fixed_policies().front(); }

const std::vector<std::string> &fixed_policy_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> collected;
        for (const Policy &policy : fixed_policies())
            collected.push_back(policy.name);
        return collected;
    }();
    return names;
}

bool choose_policy(const std::string &name, std::uint64_t seed) {
    if (name == "random") {
        generator = seed;
        Policy drawn = draw_policy();
        drawn.name += " with seed " + std::to_string(seed);
        choose(drawn);
        return true;
    }
    for (const Policy &policy : fixed_policies()) {
        if (policy.name == name) {
            choose(policy);
            return true;
        }
    }
    return false;
}

unsigned random_below(unsigned limit) {
    return static_cast<unsigned>((next_random() >> 32) * limit >> 32);
}

bool once_in(unsigned times) { return times != 0 && random_below(times) == 0; }

} // namespace emulator
