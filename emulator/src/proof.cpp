#include "proof.h"

#include "explore.h"
#include "machine.h"
#include "emulator/runtime.h"
#include "emulator/emulator.h"

#include <algorithm>
#include <map>

namespace emulator::proof {

// They outlive main(). Of places that poll, whether a poll in vain was seen to be repeated.
static auto &failures = *new std::map<Condition, std::pair<const char *, Origin>>;
static auto &polled = *new std::map<std::pair<const char *, unsigned>, bool>;

void fails(Condition condition, const char *why, const Origin &where) {
    failures.try_emplace(condition, why, where);
    explore::fails(condition, why, where);
}

void polls(const Poll &poll, Site where, bool succeeds) {
    const bool again = current->failed_poll == poll;
    if (!again)
        does_something_else();
    polled[{where.file_name(), where.line()}] |= again;
    current->failed_poll = succeeds ? Poll{} : poll;
    current->polls_at = where;
}

void does_something_else() {
    if (std::exchange(current->failed_poll, Poll{}) != Poll{})
        fails(CHOICES, "a thread that polled in vain does something else", current->polls_at);
}

} // namespace emulator::proof

const char *emulator_proof(void) {
    using namespace emulator;
    using namespace emulator::proof;
    static std::string text;
    text = "all orders are equivalent: proved by one run";
    text += failures.contains(SUMS) ? ", up to the order of floating-point additions" : "";
    const char *before = ", if polls that never failed are waits: ";
    for (const auto &[place, again] : polled)
        if (!again)
            text += std::exchange(before, ", ") + format("%s:%u", place.first, place.second);
    if (explore::is_forked())
        return "not proved for all orders: the run is one of those explored";
    bool all = false;
    const std::string orders = explore::result(&all);
    const auto first = failures.upper_bound(SUMS);
    if (first != failures.end() && first->first == ATOMICS && all) {
        text = orders;
    } else if (first != failures.end()) {
        const auto &[why, where] = first->second;
        const Note place = note_at(where, "");
        text = format("not proved for all orders: condition %d fails: %s",
                      std::min(first->first, CHOICES), why);
        text += place.line > 0 ? format(", at %s:%d", place.file.c_str(), place.line) : "";
        const char *how = translated_program ? "--explore 10000" : "EMULATOR_EXPLORE=1000";
        if (first->first == ATOMICS && orders.empty())
            text += format("; %s tries all orders of the atomics", how);
        text += orders.empty() ? "" : "; " + orders;
    }
    return text.c_str();
}
