#include "emulator/report.h"

#include "global_memory.h"
#include "machine.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>
#include <unordered_map>
#include <utility>

#include <link.h>
#include <ucontext.h>
#include <unistd.h>

extern "C" const char __executable_start[]; // the linker defines it

namespace emulator {
namespace {
const char *report_prefix = "emulator";
std::string report_options;

// By Mistake.
constexpr const char *WORDS[] = {"deadlock", "hazard", "race", "lifetime", "misuse", "address"};

// Who runs, for the end of the first line.
std::string who_runs() {
    if (current == nullptr)
        return "";
    std::string who = ": " + name_of(*current);
    if (const Cluster &cluster = *current->cta->cluster; cluster.count > 1)
        who += format(", cluster %d of %d", cluster.index, cluster.count);
    return who;
}

std::string line_of(const char *indentation, const Place &place) {
    if (place.file.empty())
        return "";
    const std::string text = source_text(place.file, place.line);
    return indentation + place.file + (place.line > 0 ? format(":%d", place.line) : "") +
           (text.empty() ? "" : "  " + text) + "\n";
}

std::string lines_of(const Note &note) {
    return "  " + note.text + "\n" + line_of("    ", {note.file, note.line}) +
           line_of("      called from ", note.caller);
}

void print(const std::string &text) {
    std::fflush(stdout);
    std::fputs(text.c_str(), stderr);
}
} // namespace

std::string name_of(const Thread &thread) {
    return format("thread %d of CTA %d (warp %d, lane %d)", thread.number, thread.cta->rank,
                  thread.warp(), thread.lane());
}

Note note_at(const Thread &thread, const Origin &where, const char *did) {
    return note_at(where, name_of(thread) + " " + did);
}

std::string source_text(const std::string &file, int line) {
    std::ifstream source(file);
    std::string text;
    for (int i = 0; i < line; ++i)
        if (!std::getline(source, text))
            return "";
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string::npos ? "" : text.substr(first);
}

void warn(Mistake mistake, const std::string &what, const std::vector<Note> &notes) {
    std::string report =
        format("%s: %s: ", report_prefix, WORDS[int(mistake)]) + what + who_runs() + "\n";
    for (const Note &note : notes)
        report += lines_of(note);
    report += format("  under the policy %s", policy().name);
    if (policy().random)
        report += format(" with seed %llu", static_cast<unsigned long long>(policy().seed));
    if (proof::is_explored) {
        report += ", EMULATOR_ORDER=" + proof::order();
        setenv("EMULATOR_ORDER", proof::order().c_str(), 1); // for what repeats the run
    }
    report += report_options.empty() ? "\n" : ", at " + report_options + "\n";
    print(report);
}

void say(const char *kind, const std::string &what) {
    print(format("%s: %s: ", report_prefix, kind) + what + "\n");
}

void give_up(const char *what, ...) {
    std::va_list arguments;
    va_start(arguments, what);
    print(printed(what, arguments) + "\n");
    _exit(2);
}

void fail(Mistake mistake, const std::vector<Note> &notes, const char *what, ...) {
    std::va_list arguments;
    va_start(arguments, what);
    warn(mistake, printed(what, arguments), notes);
    print(story::text(WORDS[int(mistake)], notes));
    _exit(1);
}

void fail(Mistake mistake, const Origin &where, const char *did, const char *what, ...) {
    std::va_list arguments;
    va_start(arguments, what);
    fail(mistake, {note_at(*current, where, did)}, "%s", printed(what, arguments).c_str());
}

void reject(const Origin &where, const char *what, ...) {
    std::va_list arguments;
    va_start(arguments, what);
    fail(Mistake::MISUSE, where, "called it here", "%s", printed(what, arguments).c_str());
}

std::string printed(const char *format, std::va_list arguments) {
    char *made = nullptr;
    const int length = vasprintf(&made, format, arguments);
    const std::string text(made, length > 0 ? std::size_t(length) : 0);
    std::free(made);
    return text;
}

std::string format(const char *format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    const std::string text = printed(format, arguments);
    va_end(arguments);
    return text;
}

// ---------------------------------------------------------------------------- places
// From machine code to lines of source, by addr2line.

// The offset of the program in memory from its file's addresses: 0 unless it is
// position-independent.
static std::uintptr_t load_base() {
    const auto *program = reinterpret_cast<const ElfW(Ehdr) *>(__executable_start);
    return program->e_type == ET_DYN ? std::uintptr_t(program) : 0;
}

// "file:12 (discriminator 3)" or "??:0". A path inside the working directory is relative to it, as
// the compiler was given it.
static Place parse_place(const std::string &line) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string::npos || line.starts_with("??"))
        return {};
    char here[PATH_MAX];
    const std::string folder = getcwd(here, sizeof here) != nullptr ? here + std::string("/") : "";
    const std::size_t begin = line.starts_with(folder) ? folder.size() : 0;
    return {line.substr(begin, colon - begin), std::atoi(line.c_str() + colon + 1)};
}

// Neither the emulator's, nor of common/, nor the system's; nor the line that is known.
static bool is_kernel_source(const Place &place, int known = 0) {
    for (const char *folder : {"common/", "emulator/include/", "emulator/src/"})
        if (place.file.find(folder) != std::string::npos)
            return false;
    return place.line > 0 && place.line != known && !place.file.starts_with("/usr/include") &&
           !place.file.starts_with("/usr/lib");
}

// Asks for some of them. addr2line -a -i prints for each address the address, then a line for each
// inlined call, the innermost first.
static void ask(std::span<const std::uintptr_t> pcs, int known, std::vector<Place> &places) {
    std::string command = format("addr2line -a -i -e /proc/%d/exe 2>/dev/null", int(getpid()));
    const std::uintptr_t base = load_base();
    for (const std::uintptr_t pc : pcs) // the byte before the return address belongs to the call
        command += format(" 0x%llx", static_cast<unsigned long long>(pc - 1 - base));
    FILE *const answer = popen(command.c_str(), "r");
    if (answer == nullptr)
        return;
    for (char line[PATH_MAX]; std::fgets(line, sizeof line, answer) != nullptr;) {
        if (std::string_view(line).starts_with("0x")) {
            places.emplace_back();
            continue;
        }
        const Place place = parse_place(line);
        Place &best = places.back();
        if (best.file.empty() || (is_kernel_source(place, known) && !is_kernel_source(best, known)))
            best = place;
    }
    pclose(answer);
}

std::vector<Place> places_of(const std::vector<std::uintptr_t> &pcs, int known) {
    constexpr std::size_t MOST_AT_ONCE = 4096; // on one command line
    std::vector<Place> places;
    for (std::size_t first = 0; first < pcs.size(); first += MOST_AT_ONCE) {
        const std::size_t count = std::min(MOST_AT_ONCE, pcs.size() - first);
        ask(std::span(pcs).subspan(first, count), known, places);
        places.resize(first + count);
    }
    return places;
}

Note note_at(const Origin &where, const std::string &text) {
    // What is allowed comes again. Never destroyed: the proof is said at the exit.
    static auto &places = *new std::unordered_map<std::uintptr_t, Place>;
    const std::uintptr_t pc = where.pc != 0 ? where.pc : where.site.pc;
    const Place site{where.site.file_name(), where.pc != 0 ? 0 : int(where.site.line())};
    const auto [found, is_new] = places.try_emplace(pc);
    if (is_new && pc != 0)
        found->second = places_of({pc}, site.line).front();
    const Place &user = found->second; // that line, or the one that called a helper's line
    if (where.pc != 0)
        return {text, user.file, user.line};
    const bool is_helper = translated_program || !is_kernel_source(site);
    return {text, site.file, site.line, is_helper && is_kernel_source(user) ? user : Place{}};
}

// ---------------------------------------------------------------------------- faults
// The return address of a call there would be one byte further.
static std::uintptr_t code_of(const void *context) {
    [[maybe_unused]] const ucontext_t *state = static_cast<const ucontext_t *>(context);
#if defined(__x86_64__)
    return static_cast<std::uintptr_t>(state->uc_mcontext.gregs[REG_RIP]) + 1;
#elif defined(__aarch64__)
    return state->uc_mcontext.pc + 1;
#else
    return 1;
#endif
}

// Whether the address lies in the page below a thread's stack.
static bool is_below_stack(const char *address) {
    const long page = sysconf(_SC_PAGESIZE);
    return fiber_stack_of(address) < 0 && fiber_stack_of(address + page) >= 0;
}

static std::string what_is_wrong(const siginfo_t *info) {
    const void *address = info->si_addr;
    if (address == nullptr && info->si_code == SI_KERNEL)
        return "an access of a vector that is not aligned to its size";
    if (is_below_stack(static_cast<const char *>(address)))
        return format(
            "a thread's local variables and calls need more than the %zu KiB of its stack",
            FIBER_STACK / 1024);
    if (global_place(address, 1) == GlobalPlace::FREED)
        return format("an access to %p, which was freed", address);
    return format("an access to %p, which is no memory of the kernel's", address);
}

static void on_fault(int signal, siginfo_t *info, void *context) {
    if (const Operation *operation = operation_in_progress()) {
        const std::string did = format("started the %s that made it", operation->name);
        fail(Mistake::ADDRESS, {note_at(*operation->issuer, operation->site, did.c_str())}, "%s",
             what_is_wrong(info).c_str());
    }
    if (current != nullptr)
        fail(Mistake::ADDRESS, code_of(context), "did it here", "%s", what_is_wrong(info).c_str());
    std::signal(signal, SIG_DFL); // the access is repeated, and ends the program
}

void report_faults() {
    static char stack[256 * 1024]; // room for a report
    static bool begun = false;
    if (std::exchange(begun, true))
        return;
    const stack_t alternate{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaltstack(&alternate, nullptr);
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}
} // namespace emulator

void emulator_report_prefix(const char *prefix) { emulator::report_prefix = prefix; }

void emulator_report_options(const char *options) { emulator::report_options = options; }
