// wgmma: what each thread of a warpgroup calls, the multiplication that all of them start, and the
// rules about accumulators that are still being written.
#include "machine.h"
#include "emulator/together.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

namespace emulator {
bool registers_watched = false;

namespace {
// ------------------------------------------------------------------- one thread's accumulators
template <typename Range>
bool overlaps(const Range &range, const char *begin, std::size_t bytes) {
    return begin < range.begin + range.bytes && range.begin < begin + bytes;
}

// The accumulators of a wgmma that the thread calls: they must be fenced if other code used them,
// and no wgmma of another shape may be writing there.
void check_accumulators(const Thread &thread, const AccumulatorRange &claimed) {
    const AccumulatorState &state = thread.accumulators;
    if (!state.fenced)
        fail(Mistake::HAZARD, claimed.site, "called wgmma here",
             "wgmma without wgmma.fence: there has been none since the thread began");
    for (const AccumulatorRange &range : state.ranges) {
        if (!overlaps(range, claimed.begin, claimed.bytes))
            continue;
        if (range.touched)
            fail(Mistake::HAZARD, claimed.site, "called wgmma here",
                 "wgmma without wgmma.fence: the accumulators were used by other code since the "
                 "last one");
        const bool is_same = range.begin == claimed.begin && range.bytes == claimed.bytes;
        if (!is_same && thread.wgmmas.in_flight(range.group))
            fail(Mistake::HAZARD,
                 {note_at(thread, claimed.site, "called wgmma here"),
                  note_at(thread, range.site, "called the one in flight here")},
                 "wgmma with n = %zu on accumulators that overlap those of one in flight, "
                 "with n = %zu",
                 claimed.bytes / 2, range.bytes / 2);
    }
}

// From now on the wgmma uses these. Ranges that overlap it are dropped: those of its accumulators,
// or stack memory that is now reused.
void claim_registers(AccumulatorState &state, const AccumulatorRange &claimed) {
    std::erase_if(state.ranges, [&](const AccumulatorRange &range) {
        return overlaps(range, claimed.begin, claimed.bytes);
    });
    state.ranges.push_back(claimed);
}

// The registers that a wgmma reads A from. (PTX ISA: wgmma.fence.)
void claim_a(const Thread &thread, AccumulatorState &state, const WgmmaFragment &a,
             std::uint64_t group, Site where) {
    for (const void *place : a.places) {
        const char *begin = static_cast<const char *>(place);
        if (place == nullptr)
            continue;
        for (const RegisterWrite &write : state.written)
            if (overlaps(write, begin, 4))
                fail(Mistake::HAZARD,
                     {note_at(thread, where, "called wgmma here"),
                      note_at(thread, write.pc, "wrote them here")},
                     "wgmma without wgmma.fence: registers of A were written since the last one");
        claim_registers(state, {begin, 4, group, where, true});
    }
}

// ------------------------------------------------------------------------------ the operands
// An operand has K_BYTES of K for each row of A or column of B, in 16-byte chunks. Lines of chunks
// are rows (of A, or columns of B) if the operand is K-major, with 2 chunks each, and the 16
// columns of K if it is MN-major (transposed), with one chunk for 8 rows. The parts of eight lines
// and of `span` bytes of each are contiguous, and swizzled. (PTX ISA: wgmma, Matrix Descriptor
// Format; Strides; Canonical Layouts.)

constexpr std::uint32_t GROUP_LINES = 8;
constexpr std::uint32_t COLUMNS = 16;
constexpr std::uint32_t CHUNK_ELEMENTS = 8;
constexpr int SWIZZLES[] = {0, 3, 2, 1}; // the upper two bits, as in CUtensorMapSwizzle

struct Descriptor {
    char name; // 'A' or 'B'
    std::uint64_t bits;
    Site where;

    std::uint32_t field(int first, int size) const {
        return std::uint32_t(bits >> first) & ((1u << size) - 1);
    }
    [[noreturn]] void reject(const std::string &why) const {
        fail(Mistake::MISUSE, where, "called wgmma here",
             "wgmma: the descriptor of %c, 0x%016llx, %s", name, (unsigned long long)bits,
             why.c_str());
    }
};

// A swizzle's pattern repeats from the address that is a multiple of its size: the operand begins
// in the pattern's first line, and the chunks that lie side by side there stay in it.
void check_start(const Descriptor &descriptor, std::uint32_t start, std::uint32_t span,
                 std::uint32_t side_by_side, bool transposed) {
    const std::uint32_t pattern = GROUP_LINES * span;
    if (start % pattern + side_by_side * SWIZZLE_CHUNK > span)
        descriptor.reject(format(
            "starts at 0x%x: its %s are not in the first row of a swizzle pattern of %u "
            "bytes%s",
            start, transposed ? "rows" : "32 bytes of K", pattern, hint_on_alignment().c_str()));
}

// The offsets in the current CTA's shared memory of an operand's 16-byte chunks, line after line:
// of A ('A') with `rows` rows, or of B with as many columns. Fails with MISUSE if it is not such an
// operand, with its swizzle pattern's alignment, inside of that memory.
std::vector<std::uint32_t> chunks_of_operand(char name, std::uint64_t bits, bool transposed,
                                             std::uint32_t rows, Site where) {
    const Descriptor descriptor{name, bits, where};
    const std::uint32_t start = descriptor.field(0, 14) << 4;
    const int swizzle = SWIZZLES[bits >> 62];
    if (descriptor.field(49, 3) != 0)
        descriptor.reject("has a base offset, which is not modelled");

    const std::uint32_t lines = transposed ? COLUMNS : rows;
    const std::uint32_t chunks = (transposed ? rows : COLUMNS) / CHUNK_ELEMENTS; // of a line
    const std::uint32_t in_span = 1u << (transposed ? swizzle : swizzle != 0);   // chunks
    // Bytes from a span to the next one in a line, and from eight lines to the next eight.
    std::uint32_t chunk_jump = descriptor.field(16, 14) << 4;
    std::uint32_t line_jump = descriptor.field(32, 14) << 4;
    if (transposed && swizzle == 0)
        std::swap(chunk_jump, line_jump);

    const std::uint32_t span = swizzle_span(swizzle), pattern = GROUP_LINES * span;
    const std::uint32_t in_pattern = swizzle != 0 ? start % pattern : 0;
    if (swizzle != 0)
        check_start(descriptor, start, span, std::min(chunks, in_span), transposed);
    const std::uint64_t last_line = (lines - 1) / GROUP_LINES, last_span = (chunks - 1) / in_span;
    const std::uint64_t end =
        start - in_pattern + last_line * line_jump + last_span * chunk_jump + pattern;
    if (start < SHARED_BASE || end > SHARED_BASE + current->cta->shared.size())
        descriptor.reject(
            format("spans shared addresses 0x%x to 0x%llx, outside of the CTA's memory", start,
                   (unsigned long long)end));

    std::vector<std::uint32_t> offsets;
    offsets.reserve(lines * chunks);
    for (std::uint32_t line = 0; line < lines; ++line)
        for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
            const std::uint32_t group = line / GROUP_LINES * line_jump + line % GROUP_LINES * span;
            const std::uint32_t part = chunk / in_span * chunk_jump;
            const std::uint32_t address = start + group + part + chunk % in_span * SWIZZLE_CHUNK;
            offsets.push_back(swizzle_address(address, swizzle) - SHARED_BASE);
        }
    return offsets;
}

// ------------------------------------------------------------------------------ the warpgroup
// The current thread's, which executes `what`, an .aligned instruction.
Warpgroup &own_warpgroup(const char *what, Site where) {
    warp_aligned(what, where);
    std::vector<Warpgroup> &warpgroups = current->cta->warpgroups;
    const std::size_t index = std::size_t(current->warpgroup());
    if (index >= warpgroups.size())
        reject(where, "wgmma needs whole warpgroups of 128 threads");
    return warpgroups[index];
}

// The wgmma that happens reads an operand.
void read_chunks(Cta &cta, const std::vector<std::uint32_t> &chunks, std::uint8_t *to, Site where,
                 const char *of) {
    access_shared_chunks(cta, chunks, {.is_write = false, .where = where, .of = of});
    for (const std::uint32_t offset : chunks) {
        std::memcpy(to, cta.shared.generic(offset, SWIZZLE_CHUNK), SWIZZLE_CHUNK);
        to += SWIZZLE_CHUNK;
    }
}

// "wgmma 3 of warpgroup 1": a trace tells of its call and of its end.
std::string trace_name(std::uint64_t number, const Thread &thread) {
    return format("wgmma %llu of warpgroup %d", (unsigned long long)number, thread.warpgroup());
}

// Multiplies. Sums that lie apart are in a row in the meantime.
void multiply_slot(Wgmma &slot, std::uint8_t *b) {
    static float rows[WARPGROUP_LANES][WGMMA_LARGEST_N / 2];
    for (int lane = 0; lane < WARPGROUP_LANES; ++lane)
        for (std::size_t i = 0; i < slot.apart[lane].size(); ++i) {
            slot.sums[lane] = rows[lane];
            rows[lane][i] = *slot.apart[lane][i];
        }
    multiply(slot.form, slot.sums, slot.a.data(), b);
    for (int lane = 0; lane < WARPGROUP_LANES; ++lane)
        for (std::size_t i = 0; i < slot.apart[lane].size(); ++i)
            *slot.apart[lane][i] = rows[lane][i];
}

// Makes the wgmma happen.
void execute(const Operation &operation, Warpgroup &group) {
    Cta &cta = *operation.cta;
    static std::uint8_t b[WGMMA_LARGEST_N * K_BYTES];
    Wgmma &slot = group.slot(group.executed);
    order::acquire(slot.called); // what its 128 threads did before
    if (!slot.a_chunks.empty())
        read_chunks(cta, slot.a_chunks, slot.a.data(), slot.site, " of A");
    read_chunks(cta, slot.b_chunks, b, slot.site, " of B");
    multiply_slot(slot, b);
    if (trace::is_on)
        trace::did("", trace_name(group.executed, *operation.issuer), operation.site);
    Thread *const threads =
        &cta.threads[std::size_t(operation.issuer->warpgroup()) * WARPGROUP_LANES];
    for (int lane = 0; lane < WARPGROUP_LANES; ++lane)
        threads[lane].wgmmas.take(slot.groups[lane], &OperationGroup::written);
    group.slots.pop_front();
    ++group.executed;
}

// The slot of a wgmma, which the first thread to call it makes.
Wgmma &slot_for(Warpgroup &group, std::uint64_t number, const WgmmaForm &form, std::uint64_t a,
                std::uint64_t b, bool a_in_registers, Site where) {
    if (number < group.executed + group.slots.size())
        return group.slot(number);
    Wgmma made{form, a, b, where};
    made.a.resize(WGMMA_M * K_BYTES);
    if (!a_in_registers)
        made.a_chunks = chunks_of_operand('A', a, form.transposed_a, WGMMA_M, where);
    made.b_chunks = chunks_of_operand('B', b, form.transposed_b, std::uint32_t(form.n), where);
    return group.slots.emplace_back(std::move(made));
}

void check_agreement(const Wgmma &slot, const WgmmaForm &form, std::uint64_t a, std::uint64_t b,
                     Site where) {
    const char *what = slot.form.n != form.n                     ? "the shape"
                       : slot.a_descriptor != a                  ? "A's descriptor"
                       : slot.b_descriptor != b                  ? "B's descriptor"
                       : slot.form.accumulate != form.accumulate ? "whether to accumulate"
                       : slot.form != form                       ? "the form"
                                                                 : nullptr;
    if (what != nullptr)
        fail(Mistake::MISUSE,
             {note_at(*current, where, "called it here"),
              note_at(slot.site, "the first thread of the warpgroup called it here")},
             "the threads of a warpgroup disagree about %s of a wgmma", what);
}

// Each warp reads all of B and its own rows of A, when it comes: it has to be after the writes of
// both. One lane of it is asked, about a few parts. (PTX ISA: mbarrier.try_wait: what it makes
// visible to the executing thread; wgmma.mma_async: .sync.)
void check_tiles(Cta &cta, const Wgmma &slot, int lane, Site where) {
    if (lane % WARP_LANES != 0)
        return;
    std::vector<std::uint32_t> some = {slot.b_chunks.front(), slot.b_chunks.back()};
    if (!slot.a_chunks.empty() && !slot.form.transposed_a)
        some.push_back(slot.a_chunks[std::size_t(lane)]);
    access_shared_chunks(cta, some, {.is_write = false, .where = where, .later = true});
}

// "wgmma m64n256k16".
const char *name_of(const WgmmaForm &form) {
    static std::set<std::string> names;
    return names.insert(format("wgmma m64n%dk%d", form.n, K_BYTES / form.bytes)).first->c_str();
}

void submit_slot(Warpgroup &group, std::uint64_t number, Site where) {
    const Wgmma &slot = group.slot(number);
    ++counts.wgmmas;
    counts.multiply_adds += std::uint64_t(WGMMA_M) * std::uint64_t(slot.form.n) *
                            std::uint64_t(K_BYTES / slot.form.bytes);
    submit({.kind = OperationKind::MATMUL,
            .site = where,
            .name = name_of(slot.form),
            .complete = [&group](const Operation &operation) { execute(operation, group); },
            .ready = [&group, number] { return group.executed == number; },
            .agent = group.agent,
            .tile = slot.a_chunks.empty() ? Operation::NOWHERE : slot.a_chunks.front()});
}
} // namespace

void wgmma(float *acc, const WgmmaForm &form, std::uint64_t a, std::uint64_t b, Site where,
           float *const *apart, const WgmmaFragment *registers) {
    Thread &self = *current;
    Warpgroup &group = own_warpgroup("wgmma", where);
    AccumulatorState &state = self.accumulators;
    if (group.agent == order::NO_AGENT)
        group.agent = order::new_agent();
    if (form.n < 8 || form.n > WGMMA_LARGEST_N || form.n % 8 != 0)
        reject(where, "wgmma: n is %d; it is a multiple of 8 up to 256", form.n);
    const std::uint64_t number = self.wgmmas.started, own = self.wgmmas.join(where);
    const std::span<float *const> places(apart != nullptr ? apart : &acc,
                                         apart != nullptr ? std::size_t(form.n) / 2 : 1);
    const std::size_t bytes = sizeof(float) * std::size_t(form.n) / 2 / places.size();
    for (const float *place : places) {
        const AccumulatorRange claimed{reinterpret_cast<const char *>(place), bytes, own, where};
        check_accumulators(self, claimed);
        claim_registers(state, claimed);
    }
    if (registers != nullptr)
        claim_a(self, state, *registers, own, where);

    Wgmma &slot = slot_for(group, number, form, a, b, registers != nullptr, where);
    check_agreement(slot, form, a, b, where);
    if (trace::is_on)
        trace::did(std::string("starts ") + name_of(form), trace_name(number, self), where);
    const int lane = self.number % WARPGROUP_LANES;
    check_tiles(*self.cta, slot, lane, where);
    slot.sums[lane] = acc;
    if (apart != nullptr)
        slot.apart[lane].assign(places.begin(), places.end());
    slot.groups[lane] = own;
    if (registers != nullptr)
        place_registers(&slot.a[std::size_t(lane / WARP_LANES * 16 * K_BYTES)], lane % WARP_LANES,
                        registers->values);
    if (story::is_recorded)
        story::record_issue(name_of(form), where,
                            {order::running().cluster, group.agent, int(number + 1)});
    order::release(slot.called);
    if (++slot.arrived == WARPGROUP_LANES)
        submit_slot(group, number, where);
}

void wgmma_fence(Site where) {
    own_warpgroup("wgmma.fence", where);
    AccumulatorState &state = current->accumulators;
    state.fenced = true;
    state.written.clear();
    for (AccumulatorRange &range : state.ranges)
        range.touched = false;
}

void wgmma_commit(Site where) {
    own_warpgroup("wgmma.commit_group", where);
    current->wgmmas.commit();
}

void wgmma_wait(int pending, Site where) {
    own_warpgroup("wgmma.wait_group", where);
    current->wgmmas.wait(pending, &OperationGroup::written, where,
                         "wgmmas have not ended, which all 128 threads have to call");
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
        if (thread.wgmmas.in_flight(range.group))
            fail(Mistake::HAZARD,
                 {note_at(thread, pc, is_write ? "wrote them here" : "read them here"),
                  note_at(thread, range.site, "called the wgmma here")},
                 "%s are %s while a wgmma that %s them is in flight: %s",
                 range.is_a ? "registers of A" : "accumulators", is_write ? "written" : "read",
                 range.is_a ? "reads" : "writes", thread.wgmmas.missing(range.group).c_str());
        range.touched = !range.is_a;
    }
}

std::string why_wgmma_unwaited(const order::Epoch &wgmma, const Thread &thread,
                               std::vector<Note> &notes) {
    const std::vector<Warpgroup> &groups = thread.cta->warpgroups;
    const auto own = std::size_t(thread.warpgroup());
    if (own < groups.size() && groups[own].agent == wgmma.agent)
        return thread.wgmmas.missing(thread.wgmmas.group_of(std::uint64_t(wgmma.time - 1)));
    const auto known = [](const Thread &one) { return order::known_time(*one.context); };
    const order::Identity by = order::issuer_of(wgmma);
    const auto first = current_cluster->ctas[by.cta]->threads.begin() +
                       by.thread / WARPGROUP_LANES * WARPGROUP_LANES;
    const auto teller = std::ranges::max_element(first, first + WARPGROUP_LANES, {}, known);
    return add_told(*teller, notes) ? "no wgmma.wait_group comes before others are told of it"
                                    : "nothing tells others when it has ended";
}
} // namespace emulator
