#include "clocks.h"

#include <algorithm>

namespace emulator {

namespace {

constexpr std::size_t MEMORY = 64;     // joins that are remembered
constexpr std::size_t MOST_STAMPS = 12; // of a clock, before they go into a base of its own
constexpr std::size_t FEW_AGENTS = 4;

bool covers(const Times &a, const Times &b) {
    return a.done[0] >= b.done[0] && a.done[1] >= b.done[1] && a.fenced[0] >= b.fenced[0] &&
           a.fenced[1] >= b.fenced[1];
}

void raise(std::vector<Times> &times, const Stamp &stamp) {
    if (stamp.agent >= times.size())
        times.resize(stamp.agent + 1);
    times[stamp.agent] = joined(times[stamp.agent], stamp.times);
}

Base with_stamps(const Base &base, const std::vector<Stamp> &stamps) {
    auto made = std::make_shared<std::vector<Times>>();
    if (base != nullptr)
        *made = *base;
    for (const Stamp &stamp : stamps)
        raise(*made, stamp);
    return made;
}

Base compute_join(const Base &a, const Base &b) {
    const std::vector<Times> &longer = a->size() >= b->size() ? *a : *b;
    const std::vector<Times> &shorter = a->size() >= b->size() ? *b : *a;
    bool is_longer = true, is_shorter = longer.size() == shorter.size();
    auto made = std::make_shared<std::vector<Times>>(longer);
    for (std::size_t i = 0; i < shorter.size(); ++i) {
        (*made)[i] = joined(longer[i], shorter[i]);
        is_longer &= (*made)[i] == longer[i];
        is_shorter &= (*made)[i] == shorter[i];
    }
    if (is_longer)
        return a->size() >= b->size() ? a : b;
    if (is_shorter)
        return a->size() >= b->size() ? b : a;
    return made;
}

// Threads that know the same learn the same: the same two bases are joined again and again.
struct Remembered {
    Base a, b, result;
};

Remembered &memory_of(const void *a, const void *b) {
    static std::vector<Remembered> memory(MEMORY);
    const auto mixed = reinterpret_cast<std::uintptr_t>(a) ^ reinterpret_cast<std::uintptr_t>(b) * 3;
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
    auto made = std::make_shared<std::vector<Times>>(*base);
    for (Times &times : *made)
        times.fenced[int(space)] = times.done[int(space)];
    last = {base, nullptr, std::move(made)};
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
        stamps_.insert(stamps_.end(), clock.stamps.begin(), clock.stamps.end());
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
    auto made = std::make_shared<std::vector<Times>>();
    if (clock.base != nullptr)
        for (const Times &times : *clock.base)
            made->push_back(of_shared(times));
    for (const Stamp &stamp : clock.stamps)
        raise(*made, {stamp.agent, of_shared(stamp.times)});
    bases_.push_back(std::move(made));
    stamps_.push_back({self.agent, of_shared(self.times)});
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
