#include "clocks.h"

#include <algorithm>

namespace emulator {

namespace {

constexpr std::size_t MEMORY = 64;      // joins that are remembered
constexpr std::size_t MOST_STAMPS = 12; // of a clock, before they go into a base of its own
constexpr std::size_t FEW_AGENTS = 4;

bool covers(const Times &a, const Times &b) {
    return a.done[0] >= b.done[0] && a.done[1] >= b.done[1] && a.fenced[0] >= b.fenced[0] &&
           a.fenced[1] >= b.fenced[1];
}

// A vector for a base, which comes back when the base's last owner goes: there are thousands a
// second, of kilobytes each.
std::shared_ptr<std::vector<Times>> make_times(const std::vector<Times> &from) {
    static std::vector<std::vector<Times> *> &unused = *new std::vector<std::vector<Times> *>;
    std::vector<Times> *made;
    if (unused.empty()) {
        made = new std::vector<Times>;
    } else {
        made = unused.back();
        unused.pop_back();
    }
    *made = from;
    return {made, [](std::vector<Times> *old) { unused.push_back(old); }};
}

void raise(std::vector<Times> &times, const Stamp &stamp) {
    if (stamp.agent >= times.size())
        times.resize(stamp.agent + 1);
    times[stamp.agent] = joined(times[stamp.agent], stamp.times);
}

Base with_stamps(const Base &base, const std::vector<Stamp> &stamps) {
    const auto made = make_times(base != nullptr ? *base : std::vector<Times>());
    for (const Stamp &stamp : stamps)
        raise(*made, stamp);
    return made;
}

Base compute_join(const Base &a, const Base &b) {
    const std::vector<Times> &longer = a->size() >= b->size() ? *a : *b;
    const std::vector<Times> &shorter = a->size() >= b->size() ? *b : *a;
    // One loop over all numbers, which compilers vectorise.
    const std::int32_t *x = longer.data()->done, *y = shorter.data()->done;
    const std::size_t count = shorter.size() * sizeof(Times) / sizeof *x;
    std::int32_t x_is_less = 0, y_is_less = longer.size() > shorter.size();
    for (std::size_t i = 0; i < count; ++i) {
        x_is_less |= x[i] < y[i];
        y_is_less |= y[i] < x[i];
    }
    if (!x_is_less || !y_is_less)
        return x_is_less == (a->size() >= b->size()) ? b : a;
    const auto made = make_times(longer);
    std::int32_t *to = made->data()->done;
    for (std::size_t i = 0; i < count; ++i)
        to[i] = std::max(x[i], y[i]);
    return made;
}

// Threads that know the same learn the same: the same two bases are joined again and again.
struct Remembered {
    Base a, b, result;
};

Remembered &memory_of(const void *a, const void *b) {
    static std::vector<Remembered> memory(MEMORY);
    const auto mixed =
        reinterpret_cast<std::uintptr_t>(a) ^ reinterpret_cast<std::uintptr_t>(b) * 3;
    return memory[(mixed >> 4 ^ mixed >> 12) % MEMORY];
}

} // namespace

Times joined(const Times &a, const Times &b) {
    Times made;
    for (int space = 0; space < 2; ++space) {
        made.done[space] = std::max(a.done[space], b.done[space]);
        made.fenced[space] = std::max(a.fenced[space], b.fenced[space]);
    }
    return made;
}

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

Times Clock::of(std::uint32_t agent) const {
    Times known;
    if (base != nullptr && agent < base->size())
        known = (*base)[agent];
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
    if (base != nullptr && stamp.agent < base->size() && covers((*base)[stamp.agent], stamp.times))
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
        std::erase_if(to.stamps, [&](const Stamp &stamp) {
            return stamp.agent < to.base->size() && covers((*to.base)[stamp.agent], stamp.times);
        });
    for (const Stamp &stamp : from.stamps)
        to.add(stamp);
    to.streams = joined(to.streams, from.streams);
    for (const auto &[serial, base] : from.far)
        to.far[serial] = joined(to.far[serial], base);
}

void join_far(Clock &to, std::uint32_t own, const Clock &from, std::uint32_t serial) {
    const Base theirs = from.stamps.empty() ? from.base : with_stamps(from.base, from.stamps);
    to.far[serial] = joined(to.far[serial], theirs);
    to.streams = joined(to.streams, from.streams);
    for (const auto &[number, base] : from.far)
        if (number == own)
            to.base = joined(to.base, base);
        else
            to.far[number] = joined(to.far[number], base);
}

void Gathered::add(const Clock &clock, const Stamp &self, bool weak) {
    sum_.reset();
    if (!weak) {
        if (clock.base != nullptr &&
            std::find(bases_.begin(), bases_.end(), clock.base) == bases_.end())
            bases_.push_back(clock.base);
        for (const Stamp &stamp : clock.stamps)
            add_new(stamp);
        stamps_.push_back(self);
        streams_ = joined(streams_, clock.streams);
        for (const auto &[serial, base] : clock.far)
            far_[serial] = joined(far_[serial], base);
        return;
    }
    const auto of_shared = [](Times times) {
        times.done[int(Space::GLOBAL)] = times.fenced[int(Space::GLOBAL)] = 0;
        return times;
    };
    const auto made = make_times({});
    if (clock.base != nullptr)
        for (const Times &times : *clock.base)
            made->push_back(of_shared(times));
    for (const Stamp &stamp : clock.stamps)
        raise(*made, {stamp.agent, of_shared(stamp.times)});
    bases_.push_back(made);
    stamps_.push_back({self.agent, of_shared(self.times)});
}

// Threads that release together mostly know the same: it is among the first stamps then.
void Gathered::add_new(const Stamp &stamp) {
    const auto end = stamps_.begin() + std::ptrdiff_t(std::min(stamps_.size(), MOST_STAMPS));
    if (std::find(stamps_.begin(), end, stamp) == end)
        stamps_.push_back(stamp);
}

void Gathered::add_to(Clock &clock) const {
    if (sum_ != nullptr) {
        join(clock, *sum_);
        return;
    }
    for (const Base &base : bases_)
        clock.base = joined(clock.base, base);
    clock.stamps.insert(clock.stamps.end(), stamps_.begin(), stamps_.end());
    clock.streams = joined(clock.streams, streams_);
    for (const auto &[serial, base] : far_)
        clock.far[serial] = joined(clock.far[serial], base);
}

const std::shared_ptr<const Clock> &Gathered::sum() {
    if (sum_ != nullptr)
        return sum_;
    auto made = std::make_shared<Clock>();
    for (const Base &base : bases_)
        made->base = joined(made->base, base);
    if (stamps_.size() > FEW_AGENTS || made->base != nullptr)
        made->base = with_stamps(made->base, stamps_);
    else
        made->stamps = stamps_;
    made->streams = streams_;
    made->far = far_;
    bases_.clear();
    if (made->base != nullptr)
        bases_.push_back(made->base);
    stamps_ = made->stamps;
    sum_ = std::move(made);
    return sum_;
}

} // namespace emulator
