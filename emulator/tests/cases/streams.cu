// Streams, page-locked memory, and pointers that are not what a call takes (Guide, Streams; Events;
// Device Memory; Runtime, API Synchronization Behavior; cudaMemcpy).
// expect event, event_beside, default_stream: silent
// expect no_event, event_before, non_blocking: race|hazard|wrong
// expect pinned_read, pinned_written: race|hazard|wrong, says the host has not waited for
// expect pinned_read fixed, pinned_written fixed: silent
// expect device_pointers: silent
// expect host_pointer: address, says a thread reads 4 bytes .* of the host
// expect past_end: wrong, says InvalidValue: it reads 256 bytes at offset 0 of an allocation
// expect other_direction: wrong, says InvalidValue: it .* memory .* which is the
// expect read_by_host: address, says host code reads 4 bytes of device
// expect freed_twice: wrong, says cudaFree fails .* which no allocation begins at
// expect host_memset: wrong, says cudaMemset fails .* device memory at .* which is none
#include "common.h"
__global__ void k(const int *from, int *out) { out[threadIdx.x] = from[threadIdx.x] + 1; }
int two_streams(How how, int *from, int *between, int *out) { // a consumer on another stream
    cudaStream_t one, two;
    cudaEvent_t event;
    const bool blocking = how == "default_stream";
    cudaStreamCreateWithFlags(&one, blocking ? cudaStreamDefault : cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    if (how == "event_before") cudaEventRecord(event, one);
    const bool beside = how == "event_beside"; // which does not undo the order of a stream
    k<<<1, 32, 0, beside ? two : one>>>(from, between);
    if (how == "event" || beside) cudaEventRecord(event, one);
    if (how == "event" || how == "event_before" || beside) cudaStreamWaitEvent(two, event, 0);
    k<<<1, 32, 0, blocking || how == "non_blocking" ? nullptr : two>>>(between, out);
    RETURN(host(out, 32)[3] == 7);
}
int page_locked(How how, int *from, int *out) { // which the copy still uses
    cudaStream_t stream;
    int *pinned;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMallocHost(&pinned, 128);
    for (int i = 0; i < 32; ++i) pinned[i] = 5;
    const bool writes = how == "pinned_written";
    if (writes) cudaMemcpyAsync(from, pinned, 128, cudaMemcpyHostToDevice, stream);
    if (writes && how.fixed) cudaStreamSynchronize(stream);
    if (writes) pinned[3] = 8;
    k<<<1, 32, 0, stream>>>(from, out);
    if (writes) RETURN(host(out, 32)[3] == 6);
    cudaMemcpyAsync(pinned, out, 128, cudaMemcpyDeviceToHost, stream);
    if (how.fixed) cudaStreamSynchronize(stream);
    RETURN(pinned[3] == 6);
}
int pointers(How how, int *from, int *out) {
    int *memory = static_cast<int *>(malloc(128));
    std::vector<int> words(64, 6);
    memory[3] = 6;
    k<<<1, 32>>>(how == "host_pointer" ? memory : from, out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaMemcpy(words.data(), out, how == "past_end" ? 256 : 128,
                     how == "other_direction" ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost) ==
          cudaSuccess);
    if (how == "freed_twice") CHECK(cudaFree(out) + cudaFree(out) == cudaSuccess);
    if (how == "host_memset") CHECK(cudaMemset(memory, 0, 64) == cudaSuccess);
    const volatile int *read = how == "read_by_host" ? out : words.data();
    RETURN(read[3] == 6);
}
int main(int, char **argv) {
    const How how = how_of(argv);
    const std::string name = argv[1];
    const bool streams = name.find("event") + 1 || how == "default_stream" || how == "non_blocking";
    const bool pinned = name.substr(0, 6) == "pinned";
    int *from = dev(32, 5), *between = dev(32, 0), *out = dev(32, 0);
    cudaDeviceSynchronize();
    return streams  ? two_streams(how, from, between, out)
           : pinned ? page_locked(how, from, out)
                    : pointers(how, from, out);
}
