#include "emulator/translated_runtime.h"

#include "fiber.h"
#include "machine.h"
#include "policy.h"
#include "strictness.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

namespace emulator {

bool translated_program = false;

namespace {

constexpr std::size_t STATIC_SHARED = 48 * 1024; // that a kernel may have

KernelBounds *described = nullptr;
std::size_t most_shared = 0; // static and dynamic, of this launch's kernel

// The offsets of __shared__ variables, by their types, in this launch. And its __grid_constant__
// parameters: their bytes, by how far below the end of a thread's stack they are in all threads.
std::map<const void *, std::size_t> places;
std::map<std::ptrdiff_t, std::size_t> constants;

} // namespace

bool policy_from_environment() {
    const char *policy = std::getenv("EMULATOR_POLICY");
    const char *seed = std::getenv("EMULATOR_SEED");
    if (policy != nullptr &&
        !emulator_choose_policy(policy, std::strtoull(seed != nullptr ? seed : "1", nullptr, 10))) {
        std::fprintf(stderr, "EMULATOR_POLICY: there is no policy '%s'\n", policy);
        std::exit(2);
    }
    return true;
}

bool begin_translated_program() {
    translated_program = true;
    static_shared_capacity = STATIC_SHARED;
    if (std::getenv("EMULATOR_PROOF") != nullptr)
        std::atexit([] { std::fprintf(stderr, "emulator proof: %s\n", emulator_proof()); });
    return policy_from_environment();
}

void *static_shared(const void *type, std::size_t bytes, std::size_t alignment, Site where) {
    // What is aligned is the shared address. (PTX ISA: Alignment.)
    const SharedMemory &shared = current->cta->shared;
    const std::size_t base = SHARED_BASE + shared.offset_of(shared.static_part());
    const std::size_t free =
        (base + static_shared_used + alignment - 1) / alignment * alignment - base;
    const std::size_t place = places.try_emplace(type, free).first->second;
    const std::size_t end = place + bytes, dynamic = shared.dynamic_size();
    std::string too_much;
    if (end > STATIC_SHARED)
        too_much = format("the kernel has %zu bytes of static shared memory, and may have %zu", end,
                          STATIC_SHARED);
    else if (end + dynamic > most_shared)
        too_much = format("the kernel has %zu bytes of static and %zu of dynamic shared memory, "
                          "and may have %zu: the launch fails",
                          end, dynamic, most_shared);
    if (!too_much.empty())
        fail(Mistake::MISUSE, where, "came to the declaration that is too much", "%s",
             too_much.c_str());
    static_shared_used = std::max(static_shared_used, end);
    return shared.static_part() + place;
}

static bool is_allowed(const std::string &name) {
    const char *allowed = translated_program ? std::getenv("EMULATOR_ALLOW") : nullptr;
    const std::string names = std::string(",") + (allowed != nullptr ? allowed : "") + ",";
    return names.find("," + name + ",") != std::string::npos || names == ",all,";
}

bool declare_dynamic_shared(std::size_t alignment) {
    constexpr std::size_t LEAST = 16, MOST = 1024;
    static std::size_t largest = LEAST;
    largest = std::max(largest, alignment);
    dynamic_shared_begin = largest < MOST ? largest : 0;
    return true;
}

static std::ptrdiff_t below_end(const void *local) {
    return fiber_stack_end(fiber_stack_of(local)) - static_cast<const char *>(local);
}

void grid_constant(const void *parameter, std::size_t bytes) {
    constants.try_emplace(below_end(parameter), bytes);
}

bool is_local(const void *address) {
    if (fiber_stack_of(address) < 0)
        return false;
    const std::ptrdiff_t place = below_end(address);
    const auto constant = constants.lower_bound(place);
    return constant == constants.end() ||
           constant->first - place >= std::ptrdiff_t(constant->second);
}

void forget_static_shared(std::size_t most) {
    most_shared = most;
    if (is_allowed("shared-alignment"))
        dynamic_shared_begin = 0;
    constants.clear();
    places.clear();
    static_shared_used = 0;
}

bool describes_kernel(dim3 cluster, int threads, int ctas, int) {
    if (described == nullptr)
        return false;
    *described = {cluster, threads, ctas};
    return true;
}

KernelBounds bounds_of_kernel(void (*call)(const void *context), const void *context) {
    KernelBounds bounds;
    described = &bounds;
    call(context);
    described = nullptr;
    return bounds;
}

std::string hint_on_alignment() {
    if (dynamic_shared_begin == 0)
        return "";
    return format(
        " (dynamic shared memory is aligned to %zu bytes, as the program declares it: on a "
        "GPU more is luck [shared-alignment])",
        dynamic_shared_begin);
}

void fail_unless_allowed(const char *name, Mistake mistake, const std::vector<Note> &notes,
                         const char *what, ...) {
    std::va_list arguments;
    va_start(arguments, what);
    const std::string text = printed(what, arguments);
    va_end(arguments);
    if (!is_allowed(name))
        fail(mistake, notes, translated_program ? "%s [%s]" : "%s", text.c_str(), name);
    static std::set<std::tuple<std::string, std::string, int>> said;
    proof::fails(proof::RACES, "a report is allowed", Site{});
    if (said.insert({name, notes.front().file, notes.front().line}).second)
        warn(mistake, format("%s [%s, allowed]", text.c_str(), name), notes);
}

} // namespace emulator
