#include "accesses.h"
#include "global_memory.h"
#include "machine.h"
#include "operations.h"

#include <csignal>
#include <utility>

#include <ucontext.h>
#include <unistd.h>

namespace emulator {

namespace {

// The return address of a call there would be one byte further.
std::uintptr_t code_of(const void *context) {
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
bool is_below_stack(const char *address) {
    const long page = sysconf(_SC_PAGESIZE);
    return fiber_stack_of(address) < 0 && fiber_stack_of(address + page) >= 0;
}

std::string what_is_wrong(const siginfo_t *info) {
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

void on_fault(int signal, siginfo_t *info, void *context) {
    if (const Operation *operation = operation_in_progress()) {
        const std::string did = format("started the %s that made it", operation->name);
        fail(Mistake::ADDRESS, what_is_wrong(info),
             {note_at(*operation->issuer, operation->site, did.c_str())});
    }
    if (current != nullptr)
        fail(Mistake::ADDRESS, what_is_wrong(info), code_of(context), "did it here");
    std::signal(signal, SIG_DFL); // the access is repeated, and ends the program
}

} // namespace

void report_faults() {
    static char stack[256 * 1024]; // room for a report
    static bool begun = false;
    if (std::exchange(begun, true))
        return;
    stack_t alternate{};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaltstack(&alternate, nullptr);
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

} // namespace emulator
