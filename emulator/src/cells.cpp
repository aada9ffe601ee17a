#include "cells.h"

#include "global_memory.h"
#include "machine.h"

#include <algorithm>
#include <climits>
#include <set>

namespace emulator {
namespace {
using order::Epoch;

constexpr std::size_t CHUNK = 16;            // bytes that are mostly accessed as one
constexpr std::size_t MOST_GLOBAL_READS = 4; // of a cell that are kept

Pages global_pages;
bool has_constants = false;   // whether any read was one of those
const char *output = nullptr; // that the host watches
std::size_t output_bytes = 0;

// ---------------------------------------------------------------------------- places
// Where an access was made, and by which operation: numbers that fit into a cell.
struct AccessPlace {
    Origin where;
    const char *operation;
    const char *commuting;

    bool operator==(const AccessPlace &) const = default;
};
std::vector<AccessPlace> places;

std::uint32_t number_of(const AccessPlace &place) {
    static std::uint32_t recent[256];
    const Origin &where = place.where;
    const std::size_t key =
        where.pc != 0 ? where.pc ^ where.pc >> 7 : where.site.line() * 7 + where.site.column();
    std::uint32_t &guess = recent[key % 256];
    if (guess < places.size() && places[guess] == place)
        return guess;
    const auto found = std::find(places.begin(), places.end(), place);
    guess = std::uint32_t(found - places.begin());
    if (found == places.end())
        places.push_back(place);
    return guess;
}

// ---------------------------------------------------------------------------- one access
struct Running {
    Epoch mine;
    Space space;
    const CellAccess &access;
    Cta *cta;             // of shared memory
    std::uintptr_t begin; // offset or address of the cell
    std::size_t bytes;
    // The last read and the last write that were found to be in order: tiles are accessed by the
    // same ones throughout.
    Epoch good[2] = {};
};

Pages &pages_of(const Running &now) { return now.cta != nullptr ? now.cta->cells : global_pages; }

Epoch epoch_of(const CellAccess &access) {
    const order::Context &context = order::running();
    const bool is_operation = context.who.operation != nullptr;
    Epoch made = order::epoch_now();
    made.place = number_of({is_operation ? Origin(context.who.where) : access.where,
                            context.who.operation, access.commuting});
    made.strength = std::uint8_t(access.strength);
    if (constant_read && !access.is_write) {
        made.strength = std::uint8_t(Strength::CONSTANT);
        has_constants = true;
    }
    made.scope = std::uint8_t(access.scope);
    // A volatile write after a fence is a flag's.
    if (access.strength == Strength::VOLATILE && access.is_write && order::has_fenced())
        made.strength = std::uint8_t(Strength::ATOMIC);
    return made;
}

bool same(const Epoch &a, const Epoch &b) {
    return a.cluster == b.cluster && a.agent == b.agent && a.time == b.time && a.lanes == b.lanes;
}

std::string who(const Epoch &epoch) {
    const char *operation = places[epoch.place].operation;
    const std::string name = order::name_of(epoch);
    return operation != nullptr ? format("a %s of %s", operation, name.c_str()) : name;
}

Note note_of(const Epoch &epoch, bool is_write) {
    const AccessPlace &place = places[epoch.place];
    const std::string did = place.operation != nullptr ? " was issued here"
                            : is_write                 ? " wrote here"
                                                       : " read here";
    return note_at(place.where, who(epoch) + did);
}

std::string name_of_memory(const Running &now) {
    if (now.cta != nullptr)
        return format("offset %zu of the shared memory of CTA %d", std::size_t(now.begin),
                      now.cta->rank);
    const void *address = reinterpret_cast<const void *>(now.begin);
    if (global_place(address, 1) == GlobalPlace::INSIDE)
        return format("offset %td of global memory", global_offset(address));
    return format("%p", address);
}

const Thread *thread_of(const order::Identity &who) {
    return &current_cluster->ctas[who.cta]->threads[who.thread];
}

// What is missing after an operation, which reads or writes `of_source`, its source, for that to be
// over.
std::string missing_after(const Epoch &operation, bool of_source, std::vector<Note> &notes) {
    const std::string_view name = places[operation.place].operation;
    const order::Identity by = order::issuer_of(operation);
    const bool is_copy = name == "cp.async", is_store = name == "TMA store";
    if (current_cluster == nullptr || operation.cluster != order::running().cluster ||
        (!is_copy && !is_store))
        return wait_of(name) + std::string(" is missing, or a barrier after it");
    const Thread &issuer = *thread_of(by);
    const OperationGroups &groups = is_copy ? issuer.copies : issuer.bulk;
    const bool by_other = &issuer != thread_of(order::running().who), read = is_store && of_source;
    if (order::known_of(operation, issuer.context->clock, operation.cluster).done[0] >=
        operation.time)
        return "a barrier after " + groups.wait_name(read) + " is missing";
    if (by_other)
        add_told(issuer, notes);
    return groups.missing(by.group, by_other, read);
}

// Why the running agent does not come after the end of an operation, as far as it is known.
std::string why_unwaited(const Epoch &operation, bool writes, std::vector<Note> &notes) {
    const char *const name = places[operation.place].operation;
    const order::Context &mine = order::running();
    std::string why;
    if (current_cluster != nullptr && operation.cluster == mine.cluster) {
        const Thread &thread = *thread_of(mine.who);
        why = std::string_view(name).starts_with("wgmma")
                  ? why_wgmma_unwaited(operation, thread, notes)
                  : why_copy_unwaited(operation, thread);
    }
    return why.empty() ? missing_after(operation, !writes, notes) : why;
}

// Which of the two came too early, as far as it is known.
std::string explanation(const Running &now, const Epoch &other, bool other_writes, const Cell &cell,
                        std::vector<Note> &notes) {
    const char *operation = places[other.place].operation;
    const char *mine = places[now.mine.place].operation;
    const bool is_known = operation != nullptr && order::knows_issue_of(other);
    if (!is_known && order::is_of_earlier_work(other))
        return current_cluster == nullptr && now.access.where.pc != 0
                   ? "the host has not waited for that (cudaStreamSynchronize)"
                   : "nothing orders the two: the launch before may still run (griddepcontrol.wait "
                     "is missing), or the streams are not ordered";
    if (!is_known && order::is_before(other, now.space))
        return "what orders the two has .cta scope: a peer needs .release.cluster";
    // A reader that is after the write before has waited for that one, and is overtaken.
    const bool is_read = now.access.is_write != other_writes;
    const bool is_overtaken = is_read && other_writes && cell.before.cluster != 0 &&
                              order::is_before(cell.before, now.space);
    if (operation != nullptr && (is_known || (is_read && !is_overtaken)))
        return format("the %s was %snot waited for: %s", operation,
                      is_known ? "issued before, and " : "",
                      why_unwaited(other, other_writes, notes).c_str());
    const char *const early = is_overtaken ? operation : is_read && !other_writes ? mine : nullptr;
    if (early != nullptr)
        return format("the %s overwrites what is still to be read: it did not wait until the "
                      "readers were done",
                      early);
    if (is_overtaken && mine != nullptr)
        return format("the %s may still read what was there: before the write %s and then a "
                      "barrier are missing",
                      mine, wait_of(mine));
    if (operation != nullptr && order::name_of(other) == order::name_of(now.mine))
        return "the earlier one of the same thread was not waited for: has the ring as many "
               "stages?";
    if (operation != nullptr && now.mine.place == other.place)
        return "nothing orders the two: should one thread alone issue it?";
    return std::min(now.mine.strength, other.strength) == std::uint8_t(Strength::VOLATILE)
               ? "nothing orders the two; before a volatile write that is a flag's, a "
                 "__threadfence() is missing"
               : "nothing orders the two";
}

[[noreturn]] void fail_as(Mistake mistake, const std::string &what, std::vector<Note> notes) {
    current = nullptr; // both are named
    fail(mistake, notes, "%s", what.c_str());
}

[[noreturn]] void fail_unordered(const Running &now, const Epoch &other, bool other_writes,
                                 const Cell &cell) {
    const bool has_operation = places[other.place].operation != nullptr ||
                               places[now.mine.place].operation != nullptr ||
                               order::is_of_earlier_work(other);
    const char *did[] = {"reads", "writes"};
    story::begin({now.mine, did[now.access.is_write], places[now.mine.place].where},
                 {other, did[other_writes], places[other.place].where}, now.space);
    std::vector<Note> notes{note_of(now.mine, now.access.is_write), note_of(other, other_writes)};
    std::string both =
        format("%s %s %zu bytes%s at %s, %s %s them", who(now.mine).c_str(),
               now.access.is_write ? "writes" : "reads", now.bytes, now.access.of,
               name_of_memory(now).c_str(), who(other).c_str(), other_writes ? "writes" : "reads");
    // A cause that is known for sure comes first.
    std::string cause;
    for (const Epoch &one : {now.mine, other})
        if (current_cluster != nullptr && cause.empty())
            cause = too_few_bytes(one, notes);
    both = cause.empty() ? both + ", and " + explanation(now, other, other_writes, cell, notes)
                         : cause + ": " + both;
    fail_as(has_operation ? Mistake::HAZARD : Mistake::RACE, both, notes);
}

void fail_unless_allowed_as(const char *name, const std::string &what, std::vector<Note> notes) {
    Thread *interrupted = std::exchange(current, nullptr);
    fail_unless_allowed(name, Mistake::HAZARD, notes, "%s", what.c_str());
    current = interrupted;
}

void fail_unfenced(const Running &now, const Epoch &other, bool other_writes) {
    const char *mine = places[now.mine.place].operation;
    fail_unless_allowed_as(
        "proxy-fence",
        format("a %s %s bytes that a thread %s at %s: each thread that %s them needs a "
               "fence.proxy.async afterwards, before the barrier",
               mine != nullptr ? mine : "copy", now.access.is_write ? "overwrites" : "reads",
               other_writes ? "wrote" : "read", name_of_memory(now).c_str(),
               other_writes ? "writes" : "reads"),
        {note_of(other, other_writes), note_of(now.mine, now.access.is_write)});
}

// The write of this kilobyte that is nearest to bytes which nobody wrote.
Epoch write_beside(const Running &now) {
    const Page &page = pages_of(now)[now.begin / Page::BYTES];
    const auto at = std::ptrdiff_t(now.begin % Page::BYTES >> page.shift);
    const auto cells = std::ssize(page.cells);
    for (std::ptrdiff_t away = 1; away < cells; ++away)
        for (const std::ptrdiff_t beside : {at - away, at + away})
            if (beside >= 0 && beside < cells && page.cells[beside].write.cluster != 0)
                return page.cells[beside].write;
    return {};
}

void fail_unwritten(const Running &now) {
    static std::set<std::uint32_t> said; // places
    if (!said.insert(now.mine.place).second)
        return;
    const std::string reads = format("%s reads %zu bytes%s at %s, ", who(now.mine).c_str(),
                                     now.bytes, now.access.of, name_of_memory(now).c_str());
    // The load in flight that will bring these bytes.
    const Operation *load =
        now.cta != nullptr ? pending_write(*now.cta, std::uint32_t(now.begin)) : nullptr;
    if (load != nullptr)
        story::begin({now.mine, "reads", places[now.mine.place].where},
                     {{now.mine.cluster, load->context->self.agent, INT_MAX}});
    std::vector<Note> notes{note_of(now.mine, false)};
    if (load != nullptr) {
        notes.push_back(note_at(*load->issuer, load->site, "started it here"));
        const std::string cause = too_few_bytes(*load, notes);
        fail_as(Mistake::HAZARD,
                (cause.empty() ? "" : cause + ": ") + reads +
                    format("where a %s has not landed yet", load->name) +
                    (cause.empty() ? ": " + missing_wait(*load) : ""),
                notes);
    }
    if (const Epoch beside = write_beside(now); beside.cluster != 0) {
        notes.push_back(note_of(beside, true));
        notes.back().text.insert(0, "beside them ");
    }
    fail_unless_allowed_as("uninitialised",
                           reads + "which were not written yet: a barrier after the write is "
                                   "missing, or the write",
                           notes);
}

// Atomics, and volatile accesses of flags, do not race with each other.
bool are_strong(const Running &now, const Epoch &other) {
    const auto mine = Strength(now.mine.strength), theirs = Strength(other.strength);
    const bool one = mine == Strength::ATOMIC || theirs == Strength::ATOMIC;
    const bool both = (mine == Strength::ATOMIC || mine == Strength::VOLATILE) &&
                      (theirs == Strength::ATOMIC || theirs == Strength::VOLATILE);
    return one && both && order::in_scope(other, now.access.scope);
}

// Lanes of a warp write one place by one instruction: one write wins. (CUDA C++ Programming Guide:
// SIMT Architecture.) Approximate: the same line in another iteration counts, too.
bool is_same_store(const Running &now, const Epoch &other) {
    return now.access.is_write && !now.mine.async && now.mine.place == other.place &&
           now.mine.cluster == other.cluster &&
           now.mine.agent / WARP_LANES == other.agent / WARP_LANES &&
           places[other.place].operation == nullptr;
}

// An arrival of .cta scope on a peer's barrier may say that a stage has been read, and be written
// again. What was written is read after one of .cluster scope, of which clocks say Space::GLOBAL.
Space space_of(const Running &now, const Epoch &other, bool other_writes) {
    const bool is_of_peer = other_writes && !now.access.is_write &&
                            other.cluster == now.mine.cluster && other.cta != now.mine.cta;
    return is_of_peer ? Space::GLOBAL : now.space;
}

// Changes that may come in any order. (red)
bool are_same_change(const Running &now, const Epoch &other) {
    return now.access.commuting != nullptr && now.access.commuting == places[other.place].commuting;
}

void check_after(Running &now, const Epoch &other, bool other_writes, const Cell &cell) {
    Epoch &good = now.good[other_writes];
    if (same(good, other) && good.async == other.async)
        return;
    if (!order::is_before(other, space_of(now, other, other_writes))) {
        if (!are_strong(now, other) && other_writes && order::awaits_fence(other))
            return fail_unless_allowed_as(
                "acquire-fence",
                format("%s is accessed after an atomic says that it was written, and that "
                       "atomic is relaxed: a __threadfence() after it is missing",
                       name_of_memory(now).c_str()),
                {note_of(now.mine, now.access.is_write), note_of(other, other_writes)});
        if (!are_strong(now, other) && !(other_writes && is_same_store(now, other)))
            fail_unordered(now, other, other_writes, cell);
        if (are_strong(now, other) && !(other_writes && are_same_change(now, other)))
            proof::fails(proof::ATOMICS, "the run has chosen the order of atomics",
                         places[now.mine.place].where);
        return;
    }
    if (now.mine.async && !now.access.of_map && order::is_unfenced(other, now.space))
        fail_unfenced(now, other, other_writes);
    good = other;
}

bool was_allocated(const Running &now) {
    return now.cta != nullptr || is_device_memory(reinterpret_cast<const void *>(now.begin));
}

// Whether the read is one of these, with the lanes of its warp.
bool joins(Epoch &known, const Epoch &mine) {
    if (known.cluster != mine.cluster || known.time != mine.time || known.place != mine.place ||
        known.agent != mine.agent || known.strength != mine.strength)
        return false;
    known.lanes |= mine.lanes;
    return true;
}

// As lanes of its warp, which mostly read the same bytes at the same time.
Epoch as_lane(Epoch epoch) {
    if (places[epoch.place].operation == nullptr) {
        epoch.lanes = 1u << epoch.agent % WARP_LANES;
        epoch.agent -= epoch.agent % WARP_LANES;
    }
    return epoch;
}

void add_read(Cell &cell, const Running &now) {
    const Epoch mine = as_lane(now.mine);
    if (cell.read.cluster == 0)
        cell.read = mine;
    if (joins(cell.read, mine))
        return;
    std::vector<Epoch> &more = cell.more;
    if (!more.empty() && (joins(more.back(), mine) || joins(more.front(), mine)))
        return;
    if (now.space == Space::SHARED || more.size() < MOST_GLOBAL_READS)
        more.push_back(mine);
}

// A constant read and a write of one launch, in either order.
void check_constant(const Running &now, const Epoch &other, bool other_writes) {
    const Epoch &read = other_writes ? now.mine : other;
    if (other.cluster == 0 || read.strength != std::uint8_t(Strength::CONSTANT) ||
        order::is_of_earlier_work(other))
        return;
    fail_as(Mistake::HAZARD,
            format("ld.global.nc (__ldg) reads %zu bytes at %s, which the same launch writes",
                   now.bytes, name_of_memory(now).c_str()),
            {note_of(now.mine, now.access.is_write), note_of(other, other_writes)});
}

// A write. A launch writes its output once: else it does work twice, if the values are the same, or
// depends on the order of the two.
void check_output(const Running &now, const Epoch &before) {
    const std::size_t offset = now.begin - std::uintptr_t(output);
    if (now.space == Space::GLOBAL && offset < output_bytes &&
        now.access.strength != Strength::ATOMIC && before.cluster != 0 &&
        !order::is_of_earlier_work(before))
        fail(Mistake::HAZARD, {note_of(now.mine, true), note_of(before, true)},
             "the launch writes the output at offset %zu twice", offset);
}

void touch(Cell &cell, Running &now) {
    if (now.access.is_write && !now.mine.async)
        check_output(now, cell.write);
    const bool joins = are_same_change(now, cell.write);
    for (std::size_t i = 0; i < cell.sum.size() && !joins; ++i)
        check_after(now, cell.sum[i], true, cell);
    if (cell.write.cluster != 0)
        check_after(now, cell.write, true, cell);
    else if (!now.access.later && (!now.access.is_write || now.access.reads_too) && !matrix_read &&
             current_cluster != nullptr && was_allocated(now))
        fail_unwritten(now);
    if (now.access.is_write && now.mine.async) // that nothing orders the two comes first
        check_output(now, cell.write);
    if (now.access.later)
        return;
    if (!now.access.is_write) {
        if (has_constants)
            check_constant(now, cell.write, true);
        add_read(cell, now);
        return;
    }
    if (has_constants)
        check_constant(now, cell.read, false);
    if (cell.read.cluster != 0)
        check_after(now, cell.read, false, cell);
    for (const Epoch &read : cell.more)
        check_after(now, read, false, cell);
    if (!same(cell.write, now.mine))
        cell.before = cell.write;
    if (!joins || order::is_of_earlier_work(cell.write))
        cell.sum.clear();
    cell.write = now.mine;
    if (now.access.commuting != nullptr)
        return cell.sum.push_back(now.mine); // a later one may come before these reads
    cell.read = Epoch{};
    cell.more.clear();
}

// ---------------------------------------------------------------------------- cells by size
// A page's cells become smaller; each has the accesses of the one that it is a part of.
void split(Page &page, int shift) {
    std::vector<Cell> parts(Page::BYTES >> shift);
    for (std::size_t i = 0; i < parts.size(); ++i)
        parts[i] = page.cells[i << shift >> page.shift];
    page.cells = std::move(parts);
    page.shift = shift;
}

// The largest cells at whose edges an access begins and ends.
int shift_for(std::uintptr_t begin, std::uintptr_t end) {
    for (const int shift : {10, 4, 2, 1})
        if ((begin | end) % (std::uintptr_t(1) << shift) == 0)
            return shift;
    return 0;
}

// Bytes [begin, end), which are of that page.
void touch_page(Page &page, std::uintptr_t begin, std::uintptr_t end, Running &now) {
    if (const int needed = shift_for(begin, end); needed < page.shift)
        split(page, needed);
    for (now.begin = begin; now.begin < end; now.begin += std::uintptr_t(1) << page.shift)
        touch(page.cells[now.begin % Page::BYTES >> page.shift], now);
}

// From now.begin on.
void touch_pages(Running &now) {
    Pages &pages = pages_of(now);
    const std::uintptr_t end = now.begin + now.bytes;
    for (std::uintptr_t at = now.begin; at < end;) {
        const std::uintptr_t number = at / Page::BYTES;
        const std::uintptr_t stop = std::min(end, (number + 1) * Page::BYTES);
        touch_page(pages[number], at, stop, now);
        at = stop;
    }
}
} // namespace

void access_shared(Cta &cta, std::uint32_t offset, std::size_t bytes, const CellAccess &access) {
    Running now{epoch_of(access), Space::SHARED, access, &cta, offset, bytes};
    touch_pages(now);
}

void access_shared_chunks(Cta &cta, const std::vector<std::uint32_t> &offsets,
                          const CellAccess &access) {
    Running now{epoch_of(access), Space::SHARED, access, &cta, 0, CHUNK};
    for (const std::uint32_t offset : offsets) {
        now.begin = offset;
        touch_pages(now);
    }
}

void access_global(const void *address, std::size_t bytes, const CellAccess &access) {
    const auto begin = std::uintptr_t(address);
    Running now{epoch_of(access), Space::GLOBAL, access, nullptr, begin, bytes};
    touch_pages(now);
}
} // namespace emulator

void emulator_watch_output(const void *begin, size_t bytes) {
    emulator::output = static_cast<const char *>(begin);
    emulator::output_bytes = bytes;
}
