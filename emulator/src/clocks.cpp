#include "order.h"

#include <algorithm>
#include <utility>

namespace emulator {
namespace {
constexpr std::size_t MEMORY = 256;     // joins that are remembered
constexpr std::size_t MOST_STAMPS = 12; // of a clock, before they go into a base of its own
constexpr std::size_t FEW_AGENTS = 4;

// A vector for a base, which comes back when the base's last owner goes: there are thousands a
// second, of kilobytes each.
std::shared_ptr<std::vector<Times>> make_times(const std::vector<Times> &from) {
    static std::vector<std::vector<Times> *> &unused = *new std::vector<std::vector<Times> *>;
    std::vector<Times> *const made = unused.empty() ? new std::vector<Times> : unused.back();
    if (!unused.empty())
        unused.pop_back();
    *made = from;
    return {made, [](std::vector<Times> *old) { unused.push_back(old); }};
}

Times joined(const Times &a, const Times &b) {
    Times made;
    for (int space = 0; space < 2; ++space) {
        made.done[space] = std::max(a.done[space], b.done[space]);
        made.fenced[space] = std::max(a.fenced[space], b.fenced[space]);
    }
    return made;
}

bool has(const Base &base, const Stamp &stamp) {
    const Times known = times_of(base, stamp.agent);
    return joined(known, stamp.times) == known;
}

Base compute_join(const Base &a, const Base &b) {
    const bool a_is_longer = a->size() >= b->size();
    const auto made = make_times(a_is_longer ? *a : *b);
    const std::vector<Times> &shorter = a_is_longer ? *b : *a;
    for (std::size_t i = 0; i < shorter.size(); ++i)
        (*made)[i] = joined((*made)[i], shorter[i]);
    return *made == *a ? a : *made == *b ? b : Base(made);
}

// Threads that know the same learn the same: the same two bases are joined again and again.
struct Remembered {
    Base a, b, result;
};

Remembered &memory_of(const void *a, const void *b) {
    static std::vector<Remembered> memory(MEMORY);
    const auto mixed = std::uintptr_t(a) ^ std::uintptr_t(b) * 3;
    return memory[(mixed >> 4 ^ mixed >> 12) % MEMORY];
}

Base fenced(const Base &base, Space space) {
    if (base == nullptr)
        return base;
    static Remembered known[2];
    Remembered &last = known[int(space)];
    if (last.a == base)
        return last.result;
    const auto made = make_times(*base);
    for (Times &times : *made)
        times.fenced[int(space)] = times.done[int(space)];
    last = {base, nullptr, made};
    return last.result;
}

// What is known of other things than agents of the own cluster.
void join_others(Clock &to, const Clock &from) {
    to.streams = joined(to.streams, from.streams);
    for (const auto &[serial, base] : from.far)
        to.far[serial] = joined(to.far[serial], base);
}
} // namespace

Base joined(const Base &a, const Base &b) {
    if (a == b || b == nullptr)
        return a;
    if (a == nullptr)
        return b;
    Remembered &known = memory_of(a.get(), b.get());
    if (known.a != a || known.b != b)
        known = {a, b, compute_join(a, b)};
    return known.result;
}

std::shared_ptr<std::vector<Times>> with_stamps(const Base &base,
                                                const std::vector<Stamp> &stamps) {
    const auto made = make_times(base != nullptr ? *base : std::vector<Times>());
    for (const auto &[agent, times] : stamps) {
        if (agent >= made->size())
            made->resize(agent + 1);
        (*made)[agent] = joined((*made)[agent], times);
    }
    return made;
}

void fence(Clock &clock, Space space) {
    clock.base = fenced(clock.base, space);
    for (Stamp &stamp : clock.stamps)
        stamp.times.fenced[int(space)] = stamp.times.done[int(space)];
    for (auto &[serial, base] : clock.far)
        base = fenced(base, space);
}

Times Clock::of(std::uint32_t agent) const {
    Times known = times_of(base, agent);
    for (const Stamp &stamp : stamps)
        if (stamp.agent == agent)
            known = joined(known, stamp.times);
    return known;
}

void Clock::add(const Stamp &stamp) {
    for (Stamp &known : stamps)
        if (known.agent == stamp.agent) {
            known.times = joined(known.times, stamp.times);
            return;
        }
    if (has(base, stamp))
        return;
    stamps.push_back(stamp);
    if (stamps.size() <= MOST_STAMPS)
        return;
    base = with_stamps(base, stamps);
    stamps.clear();
}

void join(Clock &to, const Clock &from) {
    const Base before = to.base;
    to.base = joined(to.base, from.base);
    if (to.base != before)
        std::erase_if(to.stamps, [&](const Stamp &stamp) { return has(to.base, stamp); });
    for (const Stamp &stamp : from.stamps)
        to.add(stamp);
    join_others(to, from);
}

void join_far(Clock &to, std::uint32_t own, const Clock &from, std::uint32_t serial) {
    const Base theirs = from.stamps.empty() ? from.base : with_stamps(from.base, from.stamps);
    to.far[serial] = joined(to.far[serial], theirs);
    join_others(to, from);
    if (const auto about_own = to.far.extract(own))
        to.base = joined(to.base, about_own.mapped());
}

void Gathered::add(const Clock &clock, const Stamp &self) {
    if (clock.base != nullptr && std::ranges::find(bases_, clock.base) == bases_.end())
        bases_.push_back(clock.base);
    std::vector<Stamp> &all = sum_.stamps;
    for (const Stamp &stamp : clock.stamps) {
        // Threads that release together mostly know the same: it is among the first stamps then.
        const auto end = all.begin() + std::ptrdiff_t(std::min(all.size(), MOST_STAMPS));
        if (std::find(all.begin(), end, stamp) == end)
            all.push_back(stamp);
    }
    all.push_back(self);
    join_others(sum_, clock);
}

void Gathered::add_of_shared(const Clock &clock, const Stamp &self) {
    std::vector<Stamp> stamps = clock.stamps;
    stamps.push_back(self);
    const auto made = with_stamps(clock.base, stamps);
    for (Times &times : *made)
        times.done[int(Space::GLOBAL)] = times.fenced[int(Space::GLOBAL)] = 0;
    bases_.push_back(made);
}

const Clock &Gathered::sum() {
    for (const Base &base : std::exchange(bases_, {}))
        sum_.base = joined(sum_.base, base);
    if (sum_.stamps.size() > FEW_AGENTS || (sum_.base != nullptr && !sum_.stamps.empty()))
        sum_.base = with_stamps(sum_.base, std::exchange(sum_.stamps, {}));
    return sum_;
}
} // namespace emulator
