// mbarrier: a 64-bit barrier object in shared memory that counts arrivals and, for asynchronous
// copies, bytes. A phase completes when both counts reach zero; the barrier then starts its next
// phase with the same expected arrivals. (PTX ISA: Parallel Synchronization and Communication
// Instructions: mbarrier.)
#pragma once

#include "device/shared_memory.cuh"

// Makes *barrier ready for phases of `arrivals` arrivals each. One thread calls it, once; the
// others may use the barrier after that thread's mbarrier_init_fence() and a CTA (or cluster)
// barrier.
DEVICE void mbarrier_init(uint64_t *barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

// A release at cluster scope of the caller's mbarrier_init and of nothing else. Called by the
// initialising thread, before a CTA (or cluster) barrier: after that, the other threads and the
// copies that they start find the mbarrier initialised. (PTX ISA: membar / fence,
// .mbarrier_init.)
DEVICE void mbarrier_init_fence() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// One arrival on a barrier of the caller's CTA. Release: threads that wait for this phase see what
// the caller did before.
DEVICE void mbarrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
                 : "memory");
}

// One arrival that also announces `bytes` of asynchronous copies: the phase completes only when
// they, too, have landed. Called before or after the copies are issued.
DEVICE void mbarrier_arrive_expect_tx(uint64_t *barrier, int bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

// Waits until the phase of this parity has completed. Phases count from 0, so on a fresh barrier
// parity 1 names the phase before the first, and the wait returns at once. Acquire: what was
// released by the phase's arrivals, and the bytes of its copies, are visible afterwards.
DEVICE void mbarrier_wait(uint64_t *barrier, int parity) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "wait:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra wait;\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

// One arrival on the same barrier of CTA `cta_rank` of the cluster (which may be the caller's). The
// peer must have initialised it (a cluster barrier after init) and must not have exited (a cluster
// barrier before exit). It says "I have finished reading", and nothing else: the default is
// .release at .cta scope, which by the letter of the manual does not synchronise with a thread of
// another CTA. So the peer may not rely on seeing the caller's writes. Rungs rely on the count
// alone: the caller's reads are done when it arrives. (PTX ISA: mapa, mbarrier.arrive; Memory
// Consistency Model.)
DEVICE void mbarrier_arrive_cluster(uint64_t *barrier, int cta_rank) {
    asm volatile("{\n"
                 ".reg .b32 peer;\n"
                 "mapa.shared::cluster.u32 peer, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [peer];\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(cta_rank)
                 : "memory");
}
