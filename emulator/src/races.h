// What a race detector has to know: which thread runs, and which event comes before which. There
// are two implementations, chosen when a program is linked: races_tsan.cpp tells ThreadSanitizer,
// which watches the kernel's own accesses; races_off.cpp does nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <source_location>

namespace emulator::races {

struct Context; // a thread, or an operation, as the detector sees it

// An object that carries order from the context that releases it to those that acquire it later.
// Any address will do; objects without one use a Token.
void release(void *carrier);
void acquire(void *carrier);

// A unique address to use as a carrier. Copies share it; it ends with the last copy.
class Token {
public:
    // A fresh one.
    static Token make();
    void *carrier() const { return carrier_.get(); }

private:
    std::shared_ptr<void> carrier_;
};

// Accesses that the emulator makes on behalf of the current context: the detector does not see
// these otherwise. where: the line of the kernel, for reports; an operation's own, if none is
// given.
void read(const void *address, std::size_t bytes, std::source_location where = {});
void write(const void *address, std::size_t bytes, std::source_location where = {});

// While one of these exists, accesses of the C library on behalf of the emulator do not count as
// the kernel's. It must end before its context is switched away.
class Unwatched {
public:
    Unwatched();
    ~Unwatched();
    Unwatched(const Unwatched &) = delete;
};

// These bytes hold other variables from now on: earlier accesses do not race with later ones.
void forget(const void *address, std::size_t bytes);

// What a context is: a thread, or an operation that it issued. Reports show it as text.
struct Identity {
    int thread;                      // in its CTA
    int cta;                         // in its cluster
    const char *operation = nullptr; // "TMA load"; nullptr for the thread itself
    std::source_location where{};    // of an operation's issue
};

// A new context. It inherits no order.
Context *create(const Identity &identity);
void destroy(Context *context);
// CTAs tell each other something: from now on threads of one number in two successive clusters are
// not taken for one thread.
void tell_clusters_apart();
// The context that runs now, and a switch to another one. Neither orders anything.
Context *running();
void enter(Context *context);

// True if this program was linked with ThreadSanitizer.
bool detecting();

} // namespace emulator::races
