// setmaxnreg: whether a CTA's registers suffice, and whether whole warpgroups change their counts.
// (PTX ISA: setmaxnreg.) How many registers a launch has is ptxas's choice. Here it is the most its
// block and __launch_bounds__ leave to it, so that what is reported fails with any choice.
#include "machine.h"
#include "emulator/warp.h"

namespace emulator {

namespace {

constexpr int REGISTERS = 65536; // of a multiprocessor
constexpr int FEWEST = 24, MOST = 256, STEP = 8;

int pool = REGISTERS;

} // namespace

void set_register_pool(int threads, int ctas) {
    const int lanes = (threads + WARP_LANES - 1) / WARP_LANES * WARP_LANES;
    const int each = REGISTERS / lanes / std::max(ctas, 1) / STEP * STEP;
    pool = std::min(each, MOST) * lanes;
}

void setmaxnreg(bool more, int registers, Site where) {
    const char *const what = more ? "setmaxnreg.inc" : "setmaxnreg.dec";
    if (registers < FEWEST || registers > MOST || registers % STEP != 0)
        reject(where, "%s to %d registers: multiples of 8 from 24 to 256", what, registers);
    warp_aligned(what, where);
    if (current->lane() != 0)
        return;
    RegisterCount &warp = current->cta->warps[std::size_t(current->warp())].registers;
    warp = {registers, warp.changes + 1, where};
}

void check_register_changes(const Cta &cta) {
    constexpr std::size_t GROUP = WARPGROUP_LANES / WARP_LANES;
    for (std::size_t i = 0; i < cta.warps.size(); ++i) {
        const RegisterCount &first = cta.warps[i / GROUP * GROUP].registers;
        const RegisterCount &warp = cta.warps[i].registers;
        if (warp.changes != first.changes || warp.count != first.count)
            fail(Mistake::MISUSE,
                 {note_at((warp.changes > first.changes ? warp : first).site, "executed here")},
                 "setmaxnreg is for whole warpgroups: warp %zu of CTA %d executed it %d "
                 "times, last for %d registers, warp %zu %d times, last for %d",
                 i / GROUP * GROUP, cta.rank, first.changes, first.count, i, warp.changes,
                 warp.count);
    }
    // What the warps that never asked were launched with is not in the pool.
    int asked = 0, held = 0;
    const Warp *most = &cta.warps.front();
    for (const Warp &warp : cta.warps) {
        asked += warp.registers.changes > 0;
        held += warp.registers.count;
        if (warp.registers.count > most->registers.count)
            most = &warp;
    }
    const int had = pool / int(cta.warps.size()) * asked;
    if (held * WARP_LANES > had)
        fail(Mistake::DEADLOCK, most->registers.site, "called it here",
             "setmaxnreg.inc to %d registers waits for ever: the warps of CTA %d that changed "
             "theirs would hold %d, had at most %d, and never gave enough back (setmaxnreg.dec)",
             most->registers.count, cta.rank, held * WARP_LANES, had);
}

} // namespace emulator
