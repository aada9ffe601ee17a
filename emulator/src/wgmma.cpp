// wgmma: what each thread of a warpgroup calls, the multiplication that all of them start, and the
// rules about accumulators that are still being written.
#include "formats/half.h"
#include "machine.h"
#include "matrix_operand.h"
#include "multiply.h"
#include "operations.h"
#include "emulator/tensor_core.h"
#include "emulator/warp.h"

#include <algorithm>
#include <cstring>

namespace emulator {

bool registers_watched = false;

namespace {

// ------------------------------------------------------------------- one thread's accumulators

bool in_flight(const AccumulatorState &state, const AccumulatorRange &range) {
    return range.wgmma >= state.waited;
}

bool overlaps(const AccumulatorRange &range, const char *begin, std::size_t bytes) {
    return begin < range.begin + range.bytes && range.begin < begin + bytes;
}

[[noreturn]] void fail_unfenced(const char *why, Site where) {
    fail(Mistake::HAZARD, format("wgmma without wgmma_fence: %s", why), where, "called wgmma here");
}

// The accumulators of a wgmma that the thread calls: they must be fenced if other code used them,
// and no wgmma of another shape may be writing there.
void check_accumulators(const Thread &thread, const char *acc, std::size_t bytes, Site where) {
    const AccumulatorState &state = thread.accumulators;
    if (!state.fenced)
        fail_unfenced("there has been none since the thread began", where);
    for (const AccumulatorRange &range : state.ranges) {
        if (!overlaps(range, acc, bytes))
            continue;
        if (range.touched)
            fail_unfenced("the accumulators were used by other code since the last one", where);
        if ((range.begin != acc || range.bytes != bytes) && in_flight(state, range))
            fail(Mistake::HAZARD,
                 "wgmma on accumulators of a wgmma of another shape that is still in flight",
                 {note_at(thread, where, "called wgmma here"),
                  note_at(thread, range.site, "called the one in flight here")});
    }
}

// From now on wgmma number `number` writes there. Ranges that overlap it are dropped: they were
// stack memory that is now reused.
// If it adds to accumulators that no earlier wgmma wrote, the thread must have written them.
void claim_registers(AccumulatorState &state, const AccumulatorRange &claimed, bool adds) {
    for (AccumulatorRange &range : state.ranges)
        if (range.begin == claimed.begin && range.bytes == claimed.bytes) {
            range = claimed;
            return;
        }
    std::uint32_t first;
    std::memcpy(&first, claimed.begin, sizeof first);
    if (adds && first == FIBER_POISON)
        fail(Mistake::HAZARD, "wgmma adds to accumulators that the thread has never written",
             claimed.site, "called wgmma here");
    std::erase_if(state.ranges, [&](const AccumulatorRange &range) {
        return overlaps(range, claimed.begin, claimed.bytes);
    });
    state.ranges.push_back(claimed);
}

// The registers that a wgmma reads A from. (PTX ISA: wgmma.fence.)
void claim_a(const Thread &thread, AccumulatorState &state, const WgmmaFragment &a,
             std::uint64_t number, Site where) {
    for (const void *place : a.places) {
        const char *begin = static_cast<const char *>(place);
        if (place == nullptr)
            continue;
        for (const RegisterWrite &write : state.written)
            if (begin < write.begin + write.bytes && write.begin < begin + 4)
                fail(Mistake::HAZARD,
                     "wgmma without wgmma_fence: registers of A were written since the last one",
                     {note_at(thread, where, "called wgmma here"),
                      note_at(thread, write.pc, "wrote them here")});
        claim_registers(state, {begin, 4, number, where, true}, false);
    }
}

// ------------------------------------------------------------------------------ the warpgroup

Warpgroup &warpgroup_of(const Thread &thread, Site where) {
    std::vector<Warpgroup> &warpgroups = thread.cta->warpgroups;
    const std::size_t index = std::size_t(thread.warpgroup());
    if (index >= warpgroups.size())
        fail(Mistake::MISUSE, "wgmma needs whole warpgroups of 128 threads", where,
             "called it here");
    warpgroups[index].cta = thread.cta;
    return warpgroups[index];
}

MatrixOperand a_of(const Cta &cta, const WgmmaArguments &wgmma, Site where) {
    return decode_operand(cta, wgmma.a,
                          {'A', WGMMA_M, wgmma.transposed_a, wgmma.fp16, wgmma.negate_a}, where);
}

MatrixOperand b_of(const Cta &cta, const WgmmaArguments &wgmma, Site where) {
    return decode_operand(cta, wgmma.b,
                          {'B', wgmma.n, wgmma.transposed_b, wgmma.fp16, wgmma.negate_b}, where);
}

// A from registers, to rows of 32 bytes: a thread holds rows 16 (t / 32) + (t % 32) / 4 and that
// plus 8, bytes 4 (t % 4) to that plus 3, and those plus 16. (PTX ISA: wgmma, Register Fragments.)
void gather_registers(const Wgmma &wgmma, void *rows) {
    for (int thread = 0; thread < WARPGROUP_LANES; ++thread)
        for (int i = 0; i < 4; ++i) {
            const int row = thread / WARP_LANES * 16 + thread % WARP_LANES / 4 + i % 2 * 8;
            std::memcpy(static_cast<char *>(rows) + row * 32 + thread % 4 * 4 + i / 2 * 16,
                        &wgmma.a_registers[std::size_t(thread * 4 + i)], 4);
        }
}

void read_registers(const Wgmma &wgmma, float *values) {
    static std::uint16_t bits[WGMMA_M * MMA_K];
    gather_registers(wgmma, bits);
    for (int i = 0; i < WGMMA_M * MMA_K; ++i) {
        const float value = wgmma.fp16 ? float_of_half(bits[i]) : float_of_bf16(bits[i]);
        values[i] = wgmma.negate_a ? -value : value;
    }
}

void read_registers(const Wgmma &wgmma, e4m3_group *rows) {
    static std::uint8_t bytes[WGMMA_M][E4M3_K];
    gather_registers(wgmma, bytes);
    for (int row = 0; row < WGMMA_M; ++row)
        read_row(&rows[row], bytes[row], wgmma.negate_a);
}

Wgmma &slot_of(Warpgroup &group, std::uint64_t number) {
    return group.slots[std::size_t(number - group.first)];
}

const MatrixOperand &accessed(Cta &cta, const MatrixOperand &operand, const Wgmma &slot) {
    access_operand(cta, operand, slot.site);
    return operand;
}

void multiply_e4m3(Cta &cta, Wgmma &slot) {
    static e4m3_group a[WGMMA_M], b[WGMMA_LARGEST_N];
    if (slot.a_in_registers)
        read_registers(slot, a);
    else
        read_operand(cta, accessed(cta, a_of(cta, slot, slot.site), slot), a);
    read_operand(cta, accessed(cta, b_of(cta, slot, slot.site), slot), b);
    multiply_fragments(slot.acc, slot.n, slot.accumulate, a, b);
}

void multiply_16_bits(Cta &cta, Wgmma &slot) {
    static float a[WGMMA_M * MMA_K];         // [row][k]
    static float b[MMA_K * WGMMA_LARGEST_N]; // [k][column]
    if (slot.a_in_registers)
        read_registers(slot, a);
    else
        read_operand(cta, accessed(cta, a_of(cta, slot, slot.site), slot), a, MMA_K, 1);
    read_operand(cta, accessed(cta, b_of(cta, slot, slot.site), slot), b, 1, WGMMA_LARGEST_N);
    multiply_fragments(slot.acc, slot.n, slot.accumulate, a, b);
}

// Makes the wgmma happen; in an operation.
void execute(Warpgroup &group) {
    Wgmma &slot = slot_of(group, group.executed);
    order::acquire_briefly(slot.called); // what its 128 threads did before
    (slot.e4m3 ? multiply_e4m3 : multiply_16_bits)(*group.cta, slot);
    ++group.executed;
    order::release_own(slot.done);
    group.waiting.wake_all();
}

void begin_slot(Wgmma &slot, const Thread &thread, const WgmmaArguments &arguments, Site where) {
    static_cast<WgmmaArguments &>(slot) = arguments;
    slot.site = where;
    if (arguments.a_in_registers)
        slot.a_registers.resize(std::size_t(WARPGROUP_LANES) * 4);
    else
        a_of(*thread.cta, arguments, where);
    b_of(*thread.cta, arguments, where);
}

void check_agreement(const Wgmma &slot, const Thread &thread, const WgmmaArguments &mine,
                     Site where) {
    const char *what = slot.n != mine.n                               ? "the shape"
                       : slot.a != mine.a                             ? "A's descriptor"
                       : slot.b != mine.b                             ? "B's descriptor"
                       : slot.accumulate != mine.accumulate           ? "whether to accumulate"
                       : static_cast<const WgmmaForm &>(slot) != mine ? "the form"
                                                                      : nullptr;
    if (what != nullptr)
        fail(Mistake::MISUSE,
             format("the threads of a warpgroup disagree about %s of a wgmma", what),
             {note_at(thread, where, "called it here"),
              note_at(slot.site, "the first thread of the warpgroup called it here")});
}

void submit_slot(Warpgroup &group, std::uint64_t number, Site where) {
    Wgmma &slot = slot_of(group, number);
    std::uint32_t tile = Operation::NOWHERE;
    if (!slot.a_in_registers) {
        tile = a_of(*group.cta, slot, where).start - SHARED_BASE;
    }
    if (group.agent == order::NO_AGENT)
        group.agent = order::new_agent();
    ++counts.wgmmas;
    counts.multiply_adds +=
        std::uint64_t(WGMMA_M) * std::uint64_t(slot.n) * std::uint64_t(slot.e4m3 ? E4M3_K : MMA_K);
    submit({.kind = OperationKind::MATMUL,
            .cta = group.cta,
            .issuer = current,
            .site = where,
            .name = "wgmma",
            .complete = [&group] { execute(group); },
            .ready = [&group, number] { return group.executed == number; },
            .agent = group.agent,
            .tile = tile});
}

// The thread knows that the first `complete` wgmmas are complete: slots that all threads know of
// are dropped.
void retire(Warpgroup &group, AccumulatorState &state, std::uint64_t complete) {
    for (; state.waited < complete; ++state.waited)
        ++slot_of(group, state.waited).waited_by;
    while (!group.slots.empty() && group.slots.front().waited_by == WARPGROUP_LANES) {
        group.slots.pop_front();
        ++group.first;
    }
}

std::string describe_wait(const Warpgroup &group, int pending) {
    const std::size_t index = std::size_t(group.executed - group.first);
    const int arrived = index < group.slots.size() ? group.slots[index].arrived : 0;
    return format("wgmma_wait<%d>: wgmma %llu of the warpgroup was called by %d of its %d threads",
                  pending, (unsigned long long)group.executed, arrived, WARPGROUP_LANES);
}

} // namespace

namespace {

void issue(float *acc, const WgmmaArguments &arguments, const WgmmaFragment *a, Site where) {
    Thread &self = *current;
    warp_aligned("wgmma", where);
    AccumulatorState &state = self.accumulators;
    Warpgroup &group = warpgroup_of(self, where);
    const int n = arguments.n;
    if (n < 8 || n > WGMMA_LARGEST_N || n % 8 != 0)
        fail(Mistake::MISUSE, format("wgmma: n is %d; it is a multiple of 8 up to 256", n), where,
             "called it here");
    const char *begin = reinterpret_cast<const char *>(acc);
    const std::size_t bytes = sizeof(float) * std::size_t(n) / 2;
    check_accumulators(self, begin, bytes, where);
    const std::uint64_t number = state.issued++;
    claim_registers(state, {begin, bytes, number, where}, arguments.accumulate);
    if (a != nullptr)
        claim_a(self, state, *a, number, where);

    if (number == group.first + group.slots.size())
        group.slots.emplace_back();
    Wgmma &slot = slot_of(group, number);
    if (slot.arrived == 0)
        begin_slot(slot, self, arguments, where);
    check_agreement(slot, self, arguments, where);
    const int lane = self.number % WARPGROUP_LANES;
    slot.acc[lane] = acc;
    if (a != nullptr)
        std::copy(a->values, a->values + 4, slot.a_registers.begin() + lane * 4);
    order::release(slot.called);
    if (++slot.arrived == WARPGROUP_LANES)
        submit_slot(group, number, where);
}

} // namespace

void wgmma(float *acc, int n, std::uint64_t a, std::uint64_t b, bool accumulate, Site where) {
    issue(acc, {{n, accumulate}, a, b}, nullptr, where);
}

void wgmma(float *acc, const WgmmaForm &form, std::uint64_t a, std::uint64_t b, Site where) {
    issue(acc, {form, a, b}, nullptr, where);
}

void wgmma(float *acc, const WgmmaForm &form, const WgmmaFragment &a, std::uint64_t b, Site where) {
    issue(acc, {form, 0, b, true}, &a, where);
}

void wgmma_fence(Site where) {
    warp_aligned("wgmma_fence", where);
    warpgroup_of(*current, where);
    AccumulatorState &state = current->accumulators;
    state.fenced = true;
    state.written.clear();
    for (AccumulatorRange &range : state.ranges)
        range.touched = false;
}

void wgmma_commit(Site where) {
    warp_aligned("wgmma_commit", where);
    warpgroup_of(*current, where);
    AccumulatorState &state = current->accumulators;
    state.groups.push_back(state.issued);
}

void wgmma_wait(int pending, Site where) {
    warp_aligned("wgmma_wait", where);
    AccumulatorState &state = current->accumulators;
    Warpgroup &group = warpgroup_of(*current, where);
    if (state.groups.size() <= std::size_t(pending))
        return;
    const std::size_t last = state.groups.size() - 1 - std::size_t(pending);
    const std::uint64_t complete = state.groups[last];
    wait_until(
        group.waiting, [&group, complete] { return group.executed >= complete; }, where,
        [&group, pending] { return describe_wait(group, pending); });
    for (std::uint64_t number = state.waited; number < complete; ++number)
        order::acquire(slot_of(group, number).done);
    state.groups.erase(state.groups.begin(), state.groups.begin() + long(last) + 1);
    retire(group, state, complete);
}

void accumulators_accessed(Thread &thread, const void *address, std::size_t bytes, bool is_write,
                           std::uintptr_t pc) {
    AccumulatorState &state = thread.accumulators;
    const char *begin = static_cast<const char *>(address);
    if (registers_watched && is_write && state.written.size() < state.MOST_WRITES)
        state.written.push_back({begin, bytes, pc});
    for (AccumulatorRange &range : state.ranges) {
        if (!overlaps(range, begin, bytes) || (range.is_a && !is_write))
            continue;
        if (in_flight(state, range))
            fail(Mistake::HAZARD,
                 format("%s are %s while a wgmma that %s them is in flight: wgmma_wait first",
                        range.is_a ? "registers of A" : "accumulators",
                        is_write ? "written" : "read", range.is_a ? "reads" : "writes"),
                 {note_at(thread, pc, is_write ? "wrote them here" : "read them here"),
                  note_at(thread, range.site, "called the wgmma here")});
        range.touched = !range.is_a;
    }
}

void tensor_core_thread_exits(Thread &thread) {
    const AccumulatorState &state = thread.accumulators;
    if (state.issued == state.waited)
        return;
    const Site site = std::max_element(state.ranges.begin(), state.ranges.end(),
                                       [](const AccumulatorRange &a, const AccumulatorRange &b) {
                                           return a.wgmma < b.wgmma;
                                       })
                          ->site;
    const std::uint64_t committed = state.groups.empty() ? state.waited : state.groups.back();
    if (state.issued > committed)
        fail(Mistake::MISUSE,
             "exit with a wgmma that the thread has never committed (wgmma_commit)",
             {note_at(thread, site, "called wgmma here")});
    fail(Mistake::HAZARD, "exit with a wgmma that the thread has not waited for (wgmma_wait)",
         {note_at(thread, site, "called wgmma here")});
}

} // namespace emulator
