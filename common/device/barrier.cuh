// Barrier: an mbarrier with the semantics of cuda::barrier. Every participating thread arrives,
// gets a token that names the phase it arrived in, and may wait with it until that phase has
// completed. Easy to use right: no thread keeps track of phases. It costs an arrival per thread.
// (libcu++: cuda::barrier; PTX ISA: mbarrier.)
#pragma once

#include "device/mbarrier.cuh"

struct Barrier {
    using Token = uint64_t; // the opaque state that mbarrier.arrive returns

    uint64_t word;

    // Phases of `arrivals` arrivals. One thread calls it; see mbarrier_init.
    DEVICE void init(int arrivals) { mbarrier_init(&word, arrivals); }

    // One arrival.
    DEVICE Token arrive() {
        Token token;
        asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];"
                     : "=l"(token)
                     : "r"(shared_address(&word))
                     : "memory");
        return token;
    }

    // One arrival that announces `bytes` of asynchronous copies completing on this barrier.
    DEVICE Token arrive_tx(int bytes) {
        Token token;
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
                     : "=l"(token)
                     : "r"(shared_address(&word)), "r"(bytes)
                     : "memory");
        return token;
    }

    // Waits until the token's phase has completed, its copies included.
    DEVICE void wait(Token token) {
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "wait:\n"
                     "mbarrier.try_wait.shared::cta.b64 done, [%0], %1;\n"
                     "@!done bra wait;\n"
                     "}" ::"r"(shared_address(&word)),
                     "l"(token)
                     : "memory");
    }
};
