// makecontext() starts a function on each stack, once; a switch needs no system call. A longjmp()
// to another stack fails the check that _FORTIFY_SOURCE adds: rules.mk turns it off.
#include "machine.h"

#include <algorithm>
#include <utility>
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
bool is_new_stack = false;
ucontext_t maker; // of a new stack
void (*first_function)() = nullptr;

// Fibers on this stack continue here, one after the other.
void start() {
    Fiber &own = stacks.started.back();
#ifdef __x86_64__
    fiber_switch(own, own); // saves it, with the address that it returns to
#else
    (void)_setjmp(own.registers);
#endif
    if (std::exchange(is_new_stack, false))
        setcontext(&maker);
    first_function();
}

void prepare_next_stack() {
    char *const guard = stacks.begin + stacks.started.size() * stacks.stride;
    if (mprotect(guard, stacks.guard, PROT_NONE) != 0)
        give_up("cannot protect the page below a stack: %m");
    stacks.started.emplace_back();
    is_new_stack = true;
    static ucontext_t context;
    if (getcontext(&context) != 0)
        give_up("cannot prepare a fiber: %m");
    context.uc_stack.ss_sp = guard + stacks.guard;
    context.uc_stack.ss_size = FIBER_STACK;
    context.uc_link = nullptr;
    makecontext(&context, start, 0);
    if (swapcontext(&maker, &context) != 0)
        give_up("cannot start a fiber: %m");
}
} // namespace

void fiber_stacks_reserve(int count) {
    if (count <= stacks.count)
        return;
    if (stacks.begin != nullptr && munmap(stacks.begin, stacks.count * stacks.stride) != 0)
        give_up("cannot unmap the stacks of the emulated threads: %m");
    const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE));
    const std::size_t stride = page + FIBER_STACK;
    void *mapping = mmap(nullptr, count * stride, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        give_up("cannot map the stacks of the emulated threads: %m");
    stacks = {static_cast<char *>(mapping), count, page, stride, {}};
}

const char *fiber_stack_end(int index) { return stacks.begin + (index + 1) * stacks.stride; }

int fiber_stack_of(const void *address) {
    const std::size_t offset = static_cast<const char *>(address) - stacks.begin;
    if (offset >= stacks.count * stacks.stride || offset % stacks.stride < stacks.guard)
        return -1;
    return int(offset / stacks.stride);
}

void fiber_create(Fiber &fiber, int index, void (*entry)()) {
    while (stacks.started.size() <= std::size_t(index))
        prepare_next_stack();
    first_function = entry;
    fiber = stacks.started[index];
    char *end = const_cast<char *>(fiber_stack_end(index));
    std::fill(reinterpret_cast<std::uint32_t *>(end - FIBER_POISONED),
              reinterpret_cast<std::uint32_t *>(end - FIRST_FRAME), FIBER_POISON);
}

#ifdef __x86_64__

// Unlike longjmp(), it ends with a return, which the processor predicts by the call before: fibers
// mostly continue where others stopped. Saved are the registers that a function must keep.
asm(R"(
    .text
    .p2align 4
    .globl emulator_fiber_switch
    .hidden emulator_fiber_switch
    .type emulator_fiber_switch, @function
emulator_fiber_switch:
    popq (%rdi)
    movq %rsp, 8(%rdi)
    movq %rbp, 16(%rdi)
    movq %rbx, 24(%rdi)
    movq %r12, 32(%rdi)
    movq %r13, 40(%rdi)
    movq %r14, 48(%rdi)
    movq %r15, 56(%rdi)
    movq 8(%rsi), %rsp
    movq 16(%rsi), %rbp
    movq 24(%rsi), %rbx
    movq 32(%rsi), %r12
    movq 40(%rsi), %r13
    movq 48(%rsi), %r14
    movq 56(%rsi), %r15
    pushq (%rsi)
    ret
    .size emulator_fiber_switch, . - emulator_fiber_switch
)");
extern "C" void emulator_fiber_switch(void *from, const void *to);

void fiber_switch(Fiber &from, Fiber &to) { emulator_fiber_switch(&from, &to); }

#else

void fiber_switch(Fiber &from, Fiber &to) {
    if (_setjmp(from.registers) == 0)
        _longjmp(to.registers, 1);
}

#endif
} // namespace emulator
