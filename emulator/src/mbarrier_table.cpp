#include "mbarrier_table.h"

#include "strictness.h"

namespace emulator {

namespace {

std::vector<Barriers> tables; // by the CTA's slot

// The 64 bits in shared memory: from the top 2 of mark, 1 of phase, 20 each of expected and pending
// arrivals, 21 of bytes.
std::uint64_t packed(const Barrier &barrier) {
    return std::uint64_t(2) << 62 | (barrier.phase & 1) << 61 |
           static_cast<std::uint64_t>(barrier.expected) << 41 |
           static_cast<std::uint64_t>(barrier.pending) << 21 |
           (static_cast<std::uint64_t>(barrier.bytes) & 0x1fffff);
}

std::uint64_t *word_of(MbarrierRef place) {
    return reinterpret_cast<std::uint64_t *>(
        place.cta->shared.generic(place.offset, sizeof(std::uint64_t)));
}

// The name that a line gives its barriers; read from the source file once.
const BarrierName &name_at(Site where) {
    static std::map<std::pair<const char *, unsigned>, BarrierName> known;
    const auto [found, is_new] = known.try_emplace({where.file_name(), where.line()});
    if (is_new)
        found->second =
            barrier_name_in(source_text(where.file_name(), static_cast<int>(where.line())));
    return found->second;
}

std::string short_name(const Barrier &barrier) {
    if (barrier.name.name.empty())
        return format("the mbarrier at shared address 0x%x", SHARED_BASE + barrier.place.offset);
    return barrier.name.indexed ? format("%s[%d]", barrier.name.name.c_str(), barrier.name.index)
                                : barrier.name.name;
}

std::string with_cta(std::string name, const Cta &cta) {
    if (cta.cluster != nullptr && cta.cluster->ctas.size() > 1)
        name += format(" of CTA %d", cta.rank);
    return name;
}

[[noreturn]] void fail_not_initialised(MbarrierRef place, Site where) {
    Note note = current != nullptr ? note_at(*current, where, "used it") : note_at(where, "used");
    fail(Mistake::LIFETIME, mbarrier_name(place) + " is used and was never initialised", {note});
}

} // namespace

Barriers &barriers_of(const Cta &cta) {
    const std::size_t rank = static_cast<std::size_t>(cta.rank);
    if (rank >= tables.size())
        tables.resize(rank + 1);
    return tables[rank];
}

Barrier *find_barrier(MbarrierRef place) {
    Barriers &table = barriers_of(*place.cta);
    const auto found = table.by_offset.find(place.offset);
    return found == table.by_offset.end() ? nullptr : found->second.get();
}

void store_barrier(const Barrier &barrier) { *word_of(barrier.place) = packed(barrier); }

void name_barrier(Barrier &barrier) {
    const Site where = barrier.init_site;
    barrier.name = name_at(where);
    if (barrier.name.index < 0)
        barrier.name.index =
            barriers_of(*barrier.place.cta).made_at[{where.file_name(), where.line()}]++;
}

std::string state_of(const Barrier &barrier) {
    std::string text = with_cta(short_name(barrier), *barrier.place.cta);
    text += format(", phase %llu (parity %d): %d of %d arrivals missing",
                   static_cast<unsigned long long>(barrier.phase), int(barrier.phase & 1),
                   barrier.pending, barrier.expected);
    if (barrier.bytes < 0)
        text += format(", %d bytes landed that were not announced", -barrier.bytes);
    else if (barrier.announced > 0)
        text += format(", %d of %d bytes missing", barrier.bytes, barrier.announced);
    return text;
}

std::vector<Note> notes_of(const Barrier &barrier, Site where, const char *did) {
    std::vector<Note> notes;
    if (current != nullptr)
        notes.push_back(note_at(*current, where, did));
    else
        notes.push_back(note_at(where, did));
    notes.push_back(note_at(barrier.init_site, "the barrier was initialised here"));
    return notes;
}

Barrier &whole_barrier(MbarrierRef place, Site where) {
    Barrier *barrier = find_barrier(place);
    if (barrier == nullptr)
        fail_not_initialised(place, where);
    if (*word_of(place) != packed(*barrier))
        fail(Mistake::LIFETIME, mbarrier_name(place) + " is used after its bytes were overwritten",
             notes_of(*barrier, where, "used it"));
    return *barrier;
}

void check_fenced(const Barrier &barrier, Site where, const char *did) {
    if (barrier.init.async || !order::is_unfenced(barrier.init, Space::SHARED))
        return;
    const char *why = barrier.by_ptx || translated_program
                          ? " is initialised but not yet fenced for the async proxy "
                            "(fence.mbarrier_init or fence.proxy.async)"
                          : " is initialised but not yet fenced (fence.mbarrier_init, which the "
                            "emulator always requires)";
    fail_unless_allowed("barrier-fence", Mistake::LIFETIME, mbarrier_name(barrier.place) + why,
                        notes_of(barrier, where, did));
}

namespace {

// The initialisation has to come before a thread's use.
void check_initialised_before(const Barrier &barrier, Site where) {
    const bool is_relaxed = barrier.init.async && current->cluster_waits > barrier.ready_in;
    if (order::is_before(barrier.init, Space::SHARED) || is_relaxed)
        return;
    fail(Mistake::LIFETIME,
         mbarrier_name(barrier.place) + " is used, and nothing orders its initialisation before",
         notes_of(barrier, where, "used it"));
}

} // namespace

Barrier &usable_barrier(MbarrierRef place, Site where) {
    Barrier &barrier = whole_barrier(place, where);
    if (current == barrier.initialiser)
        return barrier;
    if (!barrier.by_ptx && !translated_program)
        check_fenced(barrier, where, "used it");
    check_initialised_before(barrier, where);
    return barrier;
}

std::string mbarrier_name(MbarrierRef place) {
    const Barrier *barrier = find_barrier(place);
    const std::string name = barrier != nullptr ? short_name(*barrier)
                                                : format("the mbarrier at shared address 0x%x",
                                                         SHARED_BASE + place.offset);
    return with_cta(name, *place.cta);
}

void mbarriers_forget(const Cta &cta) { barriers_of(cta) = {}; }

} // namespace emulator
