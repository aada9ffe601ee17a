// Tells ThreadSanitizer what the emulator knows: each thread and each operation is one of its
// fibers, and what one releases another acquires. Reports two accesses without order between them
// in the emulator's own words.
#include "races.h"

#include "global_memory.h"
#include "launch_order.h"
#include "machine.h"
#include "emulator/report.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <sanitizer/tsan_interface.h>

// Parts of ThreadSanitizer's interface that its header leaves out.
extern "C" {
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void __tsan_read_range_pc(void *address, unsigned long bytes, void *pc);
void __tsan_write_range_pc(void *address, unsigned long bytes, void *pc);
void __tsan_java_alloc(unsigned long address, unsigned long bytes);
void __tsan_java_free(unsigned long address, unsigned long bytes);
void __sanitizer_set_report_fd(void *descriptor);
int __tsan_get_report_data(void *report, const char **description, int *count, int *stacks,
                           int *accesses, int *locations, int *mutexes, int *threads,
                           int *unique_threads, void **sleep_trace, unsigned long trace_size);
int __tsan_get_report_mop(void *report, unsigned long index, int *thread, void **address, int *size,
                          int *is_write, int *is_atomic, void **trace, unsigned long trace_size);
int __tsan_get_report_thread(void *report, unsigned long index, int *thread, unsigned long *os_id,
                             int *running, const char **name, int *parent, void **trace,
                             unsigned long trace_size);
void __tsan_on_report(void *report);
const char *__tsan_default_options();
}

namespace emulator::races {

// races_library.cpp's: a call, so that the linker takes its functions and not ThreadSanitizer's.
void use_own_library();

struct Context {
    void *fiber;
    Identity identity;
    int set; // of two, which clusters take in turn; tell_clusters_apart()
};

namespace {

Context host{nullptr, {-1, -1}, 0};
Context *now = nullptr;
void *newborn = nullptr; // a fiber that acquires nothing: those made in it inherit no order
std::deque<Context> contexts;
// Making a fiber takes a millisecond, so that one which is no longer used is used again, but only
// for the same thread, or the same operation of it: a report may still be about what it did before.
using Key = std::tuple<int, int, const char *, const char *, unsigned, int>;
std::map<Key, std::vector<Context *>> unused;
bool clusters_apart = false;

Key key_of(const Identity &who, int set) {
    return {who.thread, who.cta, who.operation, who.where.file_name(), who.where.line(), set};
}

std::string text_of(const Identity &who) {
    const std::string thread = format("thread %d of CTA %d", who.thread, who.cta);
    if (who.operation == nullptr)
        return thread;
    const char *file = who.where.file_name();
    const char *slash = std::strrchr(file, '/');
    return format("%s issued at %s:%u by %s", who.operation, slash != nullptr ? slash + 1 : file,
                  who.where.line(), thread.c_str());
}

unsigned long number_of(const void *address) { return reinterpret_cast<unsigned long>(address); }

// The report is ours. Without a null device it is printed twice.
void silence() {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        __sanitizer_set_report_fd(reinterpret_cast<void *>(static_cast<long>(nowhere)));
}

void start() {
    use_own_library();
    host.fiber = __tsan_get_current_fiber();
    now = &host;
    newborn = __tsan_create_fiber(0);
    silence();
}

void switch_to(void *fiber) { __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync); }

// Sites replace the return addresses of accesses that the emulator makes: numbers below any machine
// code.
constexpr std::uintptr_t FIRST_SITE = 0x1000, MOST_SITES = 0x8000;
std::vector<std::source_location> sites;

void *code_for(std::source_location where, void *caller) {
    if (where.line() == 0)
        where = running()->identity.where;
    if (where.line() == 0 || sites.size() == MOST_SITES)
        return caller;
    std::size_t i = 0;
    while (i < sites.size() &&
           (sites[i].line() != where.line() || sites[i].file_name() != where.file_name()))
        ++i;
    if (i == sites.size())
        sites.push_back(where);
    return reinterpret_cast<void *>(FIRST_SITE + i);
}

// Ends the program if ThreadSanitizer has found a race.
void fail_if_reported();

// ---------------------------------------------------------------------------- carriers

constexpr std::size_t CARRIER_BYTES = 8; // one cell of ThreadSanitizer's

// Never destroyed: tokens may outlive it.
std::vector<void *> &free_carriers = *new std::vector<void *>;

void *take_carrier() {
    if (free_carriers.empty()) {
        constexpr std::size_t AT_ONCE = 4096;
        char *cells = static_cast<char *>(std::aligned_alloc(64, AT_ONCE * CARRIER_BYTES));
        if (cells == nullptr)
            std::abort();
        for (std::size_t i = AT_ONCE; i-- > 0;)
            free_carriers.push_back(cells + i * CARRIER_BYTES);
    }
    void *carrier = free_carriers.back();
    free_carriers.pop_back();
    return carrier;
}

void give_carrier_back(void *carrier) {
    __tsan_java_free(number_of(carrier), CARRIER_BYTES); // and what it carried
    launch_order::forget(carrier);
    free_carriers.push_back(carrier);
}

} // namespace

Token Token::make() {
    Token token;
    token.carrier_ = std::shared_ptr<void>(take_carrier(), give_carrier_back);
    return token;
}

void release(void *carrier) {
    launch_order::release(carrier);
    __tsan_release(carrier);
}

void acquire(void *carrier) {
    launch_order::acquire(carrier);
    if (carrier != nullptr)
        __tsan_acquire(carrier);
}

void read(const void *address, std::size_t bytes, std::source_location where) {
    __tsan_read_range_pc(const_cast<void *>(address), bytes,
                         code_for(where, __builtin_return_address(0)));
    fail_if_reported();
}

void write(const void *address, std::size_t bytes, std::source_location where) {
    __tsan_write_range_pc(const_cast<void *>(address), bytes,
                          code_for(where, __builtin_return_address(0)));
    fail_if_reported();
}

// As if a heap gave the bytes out anew. The second call drops what ThreadSanitizer notes about the
// block, which is no block of a heap; it concerns no accesses.
void forget(const void *address, std::size_t bytes) {
    const unsigned long begin = number_of(address) / 8 * 8;
    const unsigned long end = (number_of(address) + bytes + 7) / 8 * 8;
    if (bytes == 0)
        return;
    __tsan_java_alloc(begin, end - begin);
    __tsan_java_free(begin, 8);
}

Unwatched::Unwatched() {
    AnnotateIgnoreReadsBegin("", 0);
    AnnotateIgnoreWritesBegin("", 0);
    AnnotateIgnoreSyncBegin("", 0);
}

Unwatched::~Unwatched() {
    AnnotateIgnoreSyncEnd("", 0);
    AnnotateIgnoreWritesEnd("", 0);
    AnnotateIgnoreReadsEnd("", 0);
}

Context *create(const Identity &identity) {
    Context *before = running();
    const bool second = clusters_apart && identity.operation == nullptr;
    const int set = second ? current_cluster->index % 2 : 0;
    std::vector<Context *> &old = unused[key_of(identity, set)];
    if (!old.empty()) {
        Context *context = old.back();
        old.pop_back();
        return context;
    }
    switch_to(newborn);
    Context &made = contexts.emplace_back(Context{__tsan_create_fiber(0), identity, set});
    switch_to(before->fiber);
    // ThreadSanitizer keeps few characters: the number finds the name.
    __tsan_set_fiber_name(made.fiber, std::to_string(contexts.size() - 1).c_str());
    return &made;
}

void destroy(Context *context) {
    unused[key_of(context->identity, context->set)].push_back(context);
}

void tell_clusters_apart() { clusters_apart = true; }

Context *running() {
    if (now == nullptr)
        start();
    return now;
}

void enter(Context *context) {
    fail_if_reported();
    now = context;
    switch_to(context->fiber);
}

bool detecting() { return true; }

// ---------------------------------------------------------------------------- reports

namespace {

constexpr unsigned long DEPTH = 32; // of the calls that lead to an access
constexpr long HOST = -1;

// Copied as it is: ThreadSanitizer holds locks while it reports, and freeing memory may wait for
// them.
struct Access {
    long context; // or HOST
    bool is_write;
    int bytes;
    void *address;
    void *trace[DEPTH];
};

Access reported[2]; // the later one first
bool has_reported = false;

long context_of(void *report, int thread, int threads) {
    for (int i = 0; i < threads; ++i) {
        int number, running, parent;
        unsigned long os_id;
        const char *name = nullptr;
        void *trace[1];
        __tsan_get_report_thread(report, static_cast<unsigned long>(i), &number, &os_id, &running,
                                 &name, &parent, trace, 1);
        if (number == thread && name != nullptr && name[0] >= '0' && name[0] <= '9')
            return std::strtol(name, nullptr, 10);
    }
    return HOST;
}

// The innermost line of the kernel that led to an access.
Place place_in(void *const *trace) {
    std::vector<std::uintptr_t> pcs;
    for (unsigned long i = 0; i < DEPTH && trace[i] != nullptr; ++i)
        pcs.push_back(reinterpret_cast<std::uintptr_t>(trace[i]));
    if (pcs.empty())
        return {};
    if (pcs[0] >= FIRST_SITE && pcs[0] - FIRST_SITE < sites.size()) {
        const std::source_location &site = sites[pcs[0] - FIRST_SITE];
        return {site.file_name(), static_cast<int>(site.line())};
    }
    for (const Place &place : places_of(pcs))
        if (place.line > 0 && !is_ours(place.file))
            return place;
    return {};
}

Access access_of(void *report, int index, int threads) {
    Access access{};
    int thread, is_write, is_atomic;
    __tsan_get_report_mop(report, static_cast<unsigned long>(index), &thread, &access.address,
                          &access.bytes, &is_write, &is_atomic, access.trace, DEPTH);
    access.context = context_of(report, thread, threads);
    access.is_write = is_write;
    return access;
}

std::string name_of_memory(const void *address) {
    if (current_cluster != nullptr)
        for (const std::unique_ptr<Cta> &cta : current_cluster->ctas)
            if (cta->shared.contains(address))
                return format("offset %u of the shared memory of CTA %d",
                              cta->shared.offset_of(address), cta->rank);
    if (fiber_stack_of(address) >= 0)
        return "a thread's local memory";
    if (global_place(address, 1) == GlobalPlace::INSIDE)
        return format("offset %td of global memory", global_offset(address));
    return format("%p", address);
}

std::string who_did(const Access &access) {
    const std::string who = access.context == HOST
                                ? "the host"
                                : text_of(contexts[std::size_t(access.context)].identity);
    return who + (access.is_write ? " writes" : " reads");
}

Note note_of(const Access &access) {
    const Place place = place_in(access.trace);
    if (place.line == 0)
        return {who_did(access) + " (place unknown)", "", 0};
    return {who_did(access), place.file, place.line};
}

void fail_if_reported() {
    if (!has_reported)
        return;
    const Unwatched library;
    const auto &[late, early] = reported;
    const std::string what =
        format("%s %d bytes at %s, %s them, and nothing orders the two", who_did(late).c_str(),
               late.bytes, name_of_memory(late.address).c_str(), who_did(early).c_str());
    current = nullptr; // both are named
    fail(Mistake::RACE, what, {note_of(late), note_of(early)});
}

} // namespace

} // namespace emulator::races

void __tsan_on_report(void *report) {
    using namespace emulator::races;
    const char *description;
    int count, stacks, accesses, locations, mutexes, threads, unique_threads;
    void *sleep_trace[1];
    __tsan_get_report_data(report, &description, &count, &stacks, &accesses, &locations, &mutexes,
                           &threads, &unique_threads, sleep_trace, 1);
    if (accesses < 2 || has_reported)
        return;
    for (int i = 0; i < 2; ++i)
        reported[i] = access_of(report, i, threads);
    has_reported = true;
}

const char *__tsan_default_options() {
    return "report_bugs=1:report_thread_leaks=0:exitcode=1:history_size=4";
}
