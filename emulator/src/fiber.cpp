#include "fiber.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#if !defined(EMULATOR_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define EMULATOR_UCONTEXT
#endif

#ifdef EMULATOR_UCONTEXT
#include <deque>

#include <ucontext.h>
#endif

namespace emulator {

namespace {

// The mapping: for each stack a page without access, then the stack above it.
struct Stacks {
    char *begin = nullptr;
    int count = 0;
    int guarded = 0;        // of them, those used so far: their pages below have no access rights
    std::size_t guard = 0;  // bytes of a page
    std::size_t stride = 0; // from one stack to the next
};

Stacks stacks;

[[noreturn]] void give_up(const char *doing) {
    std::fprintf(stderr, "cannot %s: %s\n", doing, std::strerror(errno));
    std::exit(1);
}

void unmap_stacks() {
    if (stacks.begin != nullptr && munmap(stacks.begin, stacks.count * stacks.stride) != 0)
        give_up("unmap the stacks of the emulated threads");
    stacks = Stacks{};
}

} // namespace

void fiber_stacks_reserve(int count) {
    if (count <= stacks.count)
        return;
    unmap_stacks();
    const long page = sysconf(_SC_PAGESIZE);
    if (page <= 0)
        give_up("get the size of a page");
    Stacks made;
    made.count = count;
    made.guard = static_cast<std::size_t>(page);
    made.stride = made.guard + FIBER_STACK;
    void *mapping = mmap(nullptr, count * made.stride, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        give_up("map the stacks of the emulated threads");
    made.begin = static_cast<char *>(mapping);
    stacks = made;
}

const char *fiber_stack_begin(int index) {
    return stacks.begin + index * stacks.stride + stacks.guard;
}

const char *fiber_stack_end(int index) { return fiber_stack_begin(index) + FIBER_STACK; }

namespace {

void guard_and_poison(int index) {
    for (; stacks.guarded <= index; ++stacks.guarded)
        if (mprotect(stacks.begin + stacks.guarded * stacks.stride, stacks.guard, PROT_NONE) != 0)
            give_up("protect the page below a stack");
    char *end = const_cast<char *>(fiber_stack_end(index));
    std::fill(reinterpret_cast<std::uint32_t *>(end - FIBER_POISONED),
              reinterpret_cast<std::uint32_t *>(end), FIBER_POISON);
}

} // namespace

int fiber_stack_of(const void *address) {
    const std::size_t offset = static_cast<const char *>(address) - stacks.begin;
    if (offset >= stacks.count * stacks.stride || offset % stacks.stride < stacks.guard)
        return -1;
    return static_cast<int>(offset / stacks.stride);
}

#ifdef EMULATOR_UCONTEXT

namespace {

// One per stack, and one for each fiber that was not made here: the one that runs main().
std::deque<ucontext_t> contexts;
std::deque<ucontext_t> found;

ucontext_t *context_of(const Fiber &fiber) {
    return static_cast<ucontext_t *>(fiber.stack_pointer);
}

} // namespace

void fiber_create(Fiber &fiber, int index, void (*entry)()) {
    guard_and_poison(index);
    while (contexts.size() <= static_cast<std::size_t>(index))
        contexts.emplace_back(); // a deque: a ucontext_t points into itself and must not move
    ucontext_t *context = &contexts[index];
    if (getcontext(context) != 0)
        give_up("prepare a fiber");
    context->uc_stack.ss_sp = const_cast<char *>(fiber_stack_begin(index));
    context->uc_stack.ss_size = FIBER_STACK;
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    fiber.stack_pointer = context;
}

void fiber_switch(Fiber &from, Fiber &to) {
    if (from.stack_pointer == nullptr)
        from.stack_pointer = &found.emplace_back();
    if (swapcontext(context_of(from), context_of(to)) != 0)
        give_up("switch to a fiber");
}

#else

// emulator_fiber_switch(void **save, void *to): pushes the registers that a function must keep,
// stores the stack pointer in *save, takes `to` as the stack pointer and pops the registers that an
// earlier switch pushed there. What it does not save, its caller expects to lose.
extern "C" void emulator_fiber_switch(void **save, void *to);

#if defined(__x86_64__)

asm(R"(
    .text
    .p2align 4
    .globl emulator_fiber_switch
    .hidden emulator_fiber_switch
    .type emulator_fiber_switch, @function
emulator_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emulator_fiber_switch, . - emulator_fiber_switch
)");

namespace {

constexpr int SAVED_WORDS = 6; // popped before the return address

// The words that the first switch pops. A function starts with its stack pointer 8 bytes below a
// multiple of 16: on a return address, here 0, where a debugger stops.
void *first_frame(char *stack_end, void (*entry)()) {
    std::uintptr_t *top = reinterpret_cast<std::uintptr_t *>(stack_end);
    top[-1] = 0;
    top[-2] = reinterpret_cast<std::uintptr_t>(entry);
    for (int word = 0; word < SAVED_WORDS; ++word)
        top[-3 - word] = 0;
    return top - 2 - SAVED_WORDS;
}

} // namespace

#else

asm(R"(
    .text
    .p2align 4
    .globl emulator_fiber_switch
    .hidden emulator_fiber_switch
    .type emulator_fiber_switch, %function
emulator_fiber_switch:
    sub sp, sp, #160
    stp x29, x30, [sp]
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x29, x30, [sp]
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size emulator_fiber_switch, . - emulator_fiber_switch
)");

namespace {

constexpr int SAVED_WORDS = 20;
constexpr int LINK_REGISTER = 1; // the word of x30, where the switch returns to

void *first_frame(char *stack_end, void (*entry)()) {
    std::uintptr_t *frame = reinterpret_cast<std::uintptr_t *>(stack_end) - SAVED_WORDS;
    for (int word = 0; word < SAVED_WORDS; ++word)
        frame[word] = 0;
    frame[LINK_REGISTER] = reinterpret_cast<std::uintptr_t>(entry);
    return frame;
}

} // namespace

#endif

void fiber_create(Fiber &fiber, int index, void (*entry)()) {
    guard_and_poison(index);
    fiber.stack_pointer = first_frame(const_cast<char *>(fiber_stack_end(index)), entry);
}

void fiber_switch(Fiber &from, Fiber &to) {
    emulator_fiber_switch(&from.stack_pointer, to.stack_pointer);
}

#endif

} // namespace emulator
