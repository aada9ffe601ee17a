// Shared memory and its two views, and the first words of reports.
#include "units.h"

#include <cuda_runtime.h>

// As a bulk store and a TMA load do it, to the dynamic part.
static void async_read(std::uint32_t offset, std::size_t bytes) {
    shared().check_published(dynamic_offset() + offset, bytes, "TMA store", here());
}
static void async_write(std::uint32_t offset, std::size_t bytes) {
    const std::vector<unsigned char> zeros(bytes);
    shared().write_async(dynamic_offset() + offset, zeros.data(), bytes, "TMA load", here());
}

static void uninitialised() {
    in_one_thread([] {
        const unsigned char *bytes = shared_at<unsigned char>(0);
        EXPECT(bytes[0] == 0xff && bytes[8191] == 0xff, "%x %x", bytes[0], bytes[8191]);
        EXPECT(*shared().async(dynamic_offset() + 100, 1) == 0xff, "async");
        EXPECT(reinterpret_cast<std::uintptr_t>(bytes) % 1024 == 0, "aligned to 1024");
    });
}

static void published() {
    in_one_thread([] {
        *shared_at<int>(16) = 7;
        EXPECT(*reinterpret_cast<int *>(shared().async(dynamic_offset() + 16, 4)) == -1,
               "seen too early");
        shared().publish(*current);
        async_read(0, 64);
        EXPECT(*reinterpret_cast<int *>(shared().async(dynamic_offset() + 16, 4)) == 7, "not seen");
        async_write(0, 64);
        EXPECT(*shared_at<int>(16) == 0, "a load is seen by threads");
        async_read(0, 64);
    });
}

static const std::vector<MistakeCase> MISTAKES = {
    {"shared memory: a load that overwrites an unpublished write", "hazard", "TMA load overwrites",
     1, 1,
     [] {
         *shared_at<short>(30) = 7;
         async_write(0, 32);
     }},
    {"shared memory: a fence publishes its thread's writes alone", "hazard",
     "never fenced, at offset 1058", 1, 2,
     [] {
         *shared_at<short>(32 + 2 * thread_number()) = 7; // halves of a word
         syncthreads(here());
         if (thread_number() == 0) {
             shared().publish(*current); // its own half
             async_read(32, 2);
             async_read(32, 4);
         }
     }},
    {"reports: the prefix", "address", "v98: ", 1, 1,
     [] {
         set_report_prefix("v98");
         *shared_at<int>(8192) = 0;
     }},
};

static void who_publishes() {
    run_kernel(1, 2, 1024, [] {
        if (thread_number() == 0)
            *shared_at<int>(32) = 7;
        syncthreads(here());
        if (thread_number() == 1) {
            *shared_at<int>(32) = 8; // takes it over
            shared().publish(*current);
            async_read(32, 4);
        }
    });
}

static int *static_variable() {
    __shared__ int variable[4];
    return variable;
}

static void static_shared() {
    int *seen = new int[4];
    run_kernel(2, 2, 0, [seen] {
        const int cta = current->cta->rank;
        EXPECT(static_variable()[thread_number()] == -1, "not uninitialised");
        static_variable()[thread_number()] = 10 * cta + thread_number();
        sync_cluster();
        seen[2 * cta + thread_number()] = static_variable()[thread_number()];
        const std::uint32_t offset = shared().offset_of(&static_variable()[1]);
        EXPECT(offset < 1024 && offset % 4 == 0, "offset %u", offset);
        const Cta &peer = *current_cluster->ctas[std::size_t(1 - cta)];
        EXPECT(*reinterpret_cast<int *>(peer.shared.generic(offset, 4)) == 11 - 10 * cta, "peer");
    });
    EXPECT(seen[0] == 0 && seen[1] == 1 && seen[2] == 10 && seen[3] == 11, "%d %d %d %d", seen[0],
           seen[1], seen[2], seen[3]);
    delete[] seen;
}

int main() {
    run_case("shared memory: uninitialised bytes are 0xff", uninitialised);
    run_case("shared memory: fences publish, loads are in both views", published);
    run_case("shared memory: a fence publishes what its thread took over", who_publishes);
    run_case("shared memory: each CTA has its static variables", static_shared);
    run_mistakes(MISTAKES);
    return test_result();
}
