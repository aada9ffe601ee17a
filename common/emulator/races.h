// What a race detector has to know: who runs, and which event comes before which. There are two
// implementations, chosen when a program is linked: races_tsan.cpp tells ThreadSanitizer, which
// watches the kernel's own accesses; races_off.cpp does nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>

namespace emulator::races {

struct Context; // a thread, or an operation, as the detector sees it

// A thing that carries order from who releases it to who acquires it later. Any address will do;
// for those without one there is Token.
void release(void *carrier);
void acquire(void *carrier);

// An address of its own, good as a carrier. Copies share it; with the last one the order goes.
class Token {
public:
    // A fresh one.
    static Token make();
    void *carrier() const { return carrier_.get(); }

private:
    std::shared_ptr<void> carrier_;
};

// Accesses that the emulator makes on behalf of the current context: the detector cannot see them.
// where: the line of the kernel, for reports; an operation's own, if none is given.
void read(const void *address, std::size_t bytes, std::source_location where = {});
void write(const void *address, std::size_t bytes, std::source_location where = {});

// While one of these lives, what the emulator lets the C library read and write is not taken for
// the kernel's. It must not outlive its context's turn.
class Unwatched {
public:
    Unwatched();
    ~Unwatched();
    Unwatched(const Unwatched &) = delete;
};

// These bytes hold other variables from now on: accesses so far meet none that come later.
void forget(const void *address, std::size_t bytes);

// Whom a context stands for: a thread, or an operation that it issued. Reports show it as a text.
struct Identity {
    int thread;                      // in its CTA
    int cta;                         // in its cluster
    const char *operation = nullptr; // "TMA load"; nullptr for the thread itself
    std::source_location where{};    // of an operation's issue
};

// A new context. It inherits no order.
Context *create(const Identity &identity);
void destroy(Context *context);
// The context that runs now, and a change to another one. Neither makes an order.
Context *running();
void enter(Context *context);

// True if this program was linked with ThreadSanitizer.
bool detecting();

} // namespace emulator::races
