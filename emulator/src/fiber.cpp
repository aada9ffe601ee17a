// makecontext() starts a function on each stack, once; switches are jumps, which need no system
// call. A jump to another stack fails the check that _FORTIFY_SOURCE adds to longjmp(): rules.mk
// turns it off.
#include "fiber.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

namespace emulator {

namespace {

// At the end of each stack, not poisoned: the frame of start(), which is never left. It is smaller,
// but not larger than this and what the functions between it and the kernel take.
constexpr std::size_t FIRST_FRAME = 128;

// The mapping: for each stack a page without access, then the stack above it.
struct Stacks {
    char *begin = nullptr;
    int count = 0;
    std::size_t guard = 0;      // bytes of a page
    std::size_t stride = 0;     // from one stack to the next
    std::vector<Fiber> started; // of the first stacks: in start()
};

Stacks stacks;
Fiber starter;
void (*first_function)() = nullptr;

[[noreturn]] void give_up(const char *doing) {
    std::fprintf(stderr, "cannot %s: %s\n", doing, std::strerror(errno));
    std::exit(1);
}

// Fibers on this stack continue here, one after the other.
void start() {
    if (_setjmp(stacks.started.back().registers) == 0)
        _longjmp(starter.registers, 1);
    first_function();
}

void prepare_next_stack() {
    char *const guard = stacks.begin + stacks.started.size() * stacks.stride;
    if (mprotect(guard, stacks.guard, PROT_NONE) != 0)
        give_up("protect the page below a stack");
    stacks.started.emplace_back();
    static ucontext_t context;
    if (getcontext(&context) != 0)
        give_up("prepare a fiber");
    context.uc_stack.ss_sp = guard + stacks.guard;
    context.uc_stack.ss_size = FIBER_STACK;
    context.uc_link = nullptr;
    makecontext(&context, start, 0);
    if (_setjmp(starter.registers) == 0)
        setcontext(&context);
}

} // namespace

void fiber_stacks_reserve(int count) {
    if (count <= stacks.count)
        return;
    if (stacks.begin != nullptr && munmap(stacks.begin, stacks.count * stacks.stride) != 0)
        give_up("unmap the stacks of the emulated threads");
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t stride = page + FIBER_STACK;
    void *mapping = mmap(nullptr, count * stride, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        give_up("map the stacks of the emulated threads");
    stacks = {static_cast<char *>(mapping), count, page, stride, {}};
}

const char *fiber_stack_end(int index) { return stacks.begin + (index + 1) * stacks.stride; }

int fiber_stack_of(const void *address) {
    const std::size_t offset = static_cast<const char *>(address) - stacks.begin;
    if (offset >= stacks.count * stacks.stride || offset % stacks.stride < stacks.guard)
        return -1;
    return static_cast<int>(offset / stacks.stride);
}

void fiber_create(Fiber &fiber, int index, void (*entry)()) {
    while (stacks.started.size() <= static_cast<std::size_t>(index))
        prepare_next_stack();
    first_function = entry;
    fiber = stacks.started[index];
    char *end = const_cast<char *>(fiber_stack_end(index));
    std::fill(reinterpret_cast<std::uint32_t *>(end - FIBER_POISONED),
              reinterpret_cast<std::uint32_t *>(end - FIRST_FRAME), FIBER_POISON);
}

void fiber_switch(Fiber &from, Fiber &to) {
    if (_setjmp(from.registers) == 0)
        _longjmp(to.registers, 1);
}

} // namespace emulator
