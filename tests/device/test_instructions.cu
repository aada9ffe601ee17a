// The device headers' instructions, each against its definition, on a GPU or on the emulator.
//
//   test_instructions [--record FILE]
//
// --record writes a digest of every case's output to FILE: tests/test_device.py compares it with
// those that a GPU gave. Without a GPU of compute capability 9.0 every case is skipped.
#include "copies.cuh"
#include "numbers.cuh"
#include "threads.cuh"
#include "tiles.cuh"
#include "warp_matrices.cuh"
#include "warpgroup_matrices.cuh"

#include <inttypes.h>
#include <time.h>

// From the generated build/commit.c.
extern "C" const char gemm_ladder_commit[];

static void record() {
    cudaDeviceProp device;
    int cuda = 0, driver = 0; // of the runtime: 13000 is 13.0, 0 on the emulator; the newest served
    EXPECT(cudaGetDeviceProperties(&device, 0) == cudaSuccess &&
               cudaRuntimeGetVersion(&cuda) == cudaSuccess &&
               cudaDriverGetVersion(&driver) == cudaSuccess,
           "no device");
    char date[32] = "";
    const time_t now = time(nullptr);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    fprintf(recording, "{\n\"schema\": 1,\n\"kind\": \"instructions\",\n\"device\": \"%s\",\n",
            device.name);
    fprintf(recording, "\"cuda\": %d,\n\"driver\": %d,\n\"commit\": \"%s\",\n\"date\": \"%s\",\n",
            cuda, driver, gemm_ladder_commit, date);
    const char *before = "\"cases\": [";
    for (const Digest &digest : digests) {
        fprintf(recording,
                "%s\n{\"name\": \"%s\", \"bytes\": %" PRIu64 ", \"fnv1a\": \"%016" PRIx64 "\"}",
                before, digest.name, digest.bytes, digest.fnv1a);
        before = ",";
    }
    fprintf(recording, "\n]\n}\n");
}

int main(int argc, char **argv) {
    return run_cases(
        argc, argv,
        {COPY_CASES, WARPGROUP_CASES, WARP_CASES, NUMBER_CASES, THREAD_CASES, TILE_CASES}, record);
}
