// The runtime's functions that have to do with the device and its memory; launch.cpp has the
// others.
#include "emulator/emulator.h"
#include "emulator/runtime.h"
#include "global_memory.h"
#include "machine.h"
#include "strictness.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>

// The errors that there are, their names and the same in words.
static const struct {
    cudaError_t error;
    const char *name, *words;
} ERRORS[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", "misconfigured cluster shape"},
    {{}, "unrecognized error code", "unrecognized error code"}};

static const auto &known(cudaError_t error) {
    return *std::find_if(std::begin(ERRORS), std::end(ERRORS) - 1,
                         [error](const auto &one) { return one.error == error; });
}

const char *cudaGetErrorName(cudaError_t error) { return known(error).name; }

const char *cudaGetErrorString(cudaError_t error) { return known(error).words; }

// ---------------------------------------------------------------------------- the device

namespace emulator {

namespace {

constexpr std::size_t KB = 1024;
const Card CARDS[] = {{"8.0", 80, 164 * KB},  {"8.6", 86, 100 * KB}, {"8.7", 87, 164 * KB},
                      {"8.9", 89, 100 * KB},  {"9.0", 90, 228 * KB}, {"10.0", 100, 228 * KB},
                      {"12.0", 120, 100 * KB}};

const Card &find() {
    const char *chosen = std::getenv("EMULATOR_CAPABILITY");
    for (const Card &card : CARDS)
        if (std::strcmp(card.name, chosen != nullptr ? chosen : "9.0") == 0)
            return card;
    std::fprintf(stderr, "EMULATOR_CAPABILITY=%s: the emulator has", chosen);
    for (const Card &card : CARDS)
        std::fprintf(stderr, " %s", card.name);
    std::fputc('\n', stderr);
    std::exit(2);
}

} // namespace

const Card &card() {
    static const Card &found = find();
    return found;
}

} // namespace emulator

static cudaError_t answer(int *to, int value) {
    *to = value;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) { return answer(device, 0); }

cudaError_t cudaGetDeviceCount(int *count) { return answer(count, 1); }

cudaError_t cudaRuntimeGetVersion(int *version) { return answer(version, 0); }

cudaError_t cudaDriverGetVersion(int *version) { return answer(version, 0); }

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    if (device != 0)
        return cudaErrorInvalidDevice;
    const emulator::Card &card = emulator::card();
    static const std::map<cudaDeviceAttr, int> values = {
        {cudaDevAttrMultiProcessorCount, emulator::MULTIPROCESSORS},
        {cudaDevAttrMaxThreadsPerBlock, emulator::LARGEST_BLOCK},
        {cudaDevAttrMaxThreadsPerMultiProcessor, 2 * emulator::LARGEST_BLOCK},
        {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
        {cudaDevAttrMaxRegistersPerBlock, 65536},
        {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
        {cudaDevAttrWarpSize, emulator::WARP_LANES},
        {cudaDevAttrComputeMode, cudaComputeModeDefault},
        {cudaDevAttrCooperativeLaunch, 0},
        {cudaDevAttrL2CacheSize, 1 << 20}, // there is none: small, so that small products exceed it
        {cudaDevAttrClockRate, 1000 * 1000}, // nothing takes time: a model needs some numbers
        {cudaDevAttrMemoryClockRate, 1000 * 1000},
        {cudaDevAttrGlobalMemoryBusWidth, 512},
        {cudaDevAttrComputeCapabilityMajor, card.capability / 10},
        {cudaDevAttrComputeCapabilityMinor, card.capability % 10},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, int(card.largest_shared())},
        {cudaDevAttrReservedSharedMemoryPerBlock, int(emulator::RESERVED_SHARED)},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, int(card.shared_of_sm)}};
    const auto found = values.find(attribute);
    return found != values.end() ? answer(value, found->second) : cudaErrorInvalidValue;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    if (device != 0)
        return cudaErrorInvalidDevice;
    const emulator::Card &card = emulator::card();
    *properties = {.name = "the emulated device",
                   .major = card.capability / 10,
                   .minor = card.capability % 10,
                   .multiProcessorCount = emulator::MULTIPROCESSORS,
                   .totalGlobalMem = std::size_t(80) << 30,
                   .totalConstMem = 65536,
                   .sharedMemPerBlock = 48 * 1024,
                   .sharedMemPerBlockOptin = card.largest_shared(),
                   .sharedMemPerMultiprocessor = card.shared_of_sm,
                   .reservedSharedMemPerBlock = emulator::RESERVED_SHARED,
                   .regsPerBlock = 65536,
                   .regsPerMultiprocessor = 65536,
                   .warpSize = emulator::WARP_LANES,
                   .maxThreadsPerBlock = emulator::LARGEST_BLOCK,
                   .maxThreadsPerMultiProcessor = 2 * emulator::LARGEST_BLOCK,
                   .maxBlocksPerMultiProcessor = 32,
                   .maxThreadsDim = {1024, 1024, 64},
                   .maxGridSize = {0x7fffffff, 65535, 65535},
                   .clockRate = 1,
                   .memoryClockRate = 1,
                   .memoryBusWidth = 1,
                   .l2CacheSize = 1 << 20,
                   .concurrentKernels = 1,
                   .cooperativeLaunch = 0,
                   .clusterLaunch = card.has_clusters(),
                   .computeMode = cudaComputeModeDefault};
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
    emulator::order::host_waits_for_all();
    return cudaSuccess;
}

cudaError_t cudaDeviceReset() { return cudaSuccess; }

// What is launched on a stream runs at once; order.h knows what it is ordered after.
struct CUstream_st {};

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
    static std::deque<CUstream_st> streams;
    *stream = &streams.emplace_back();
    emulator::order::stream_created(*stream, flags == cudaStreamNonBlocking);
    return cudaSuccess;
}

// A stream's address is never used again: works on it are told by it.
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    emulator::order::host_waits_for(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    emulator::order::wait_for_event(event, stream);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) {
    return cudaStreamCreate(stream);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}

// ---------------------------------------------------------------------------- events

struct CUevent_st {
    std::chrono::steady_clock::time_point recorded;
};

cudaError_t cudaEventCreate(cudaEvent_t *event) {
    *event = new CUevent_st{};
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    emulator::order::record_event(event, stream);
    event->recorded = std::chrono::steady_clock::now();
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    emulator::order::host_waits_for_event(event);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end) {
    using Milliseconds = std::chrono::duration<float, std::milli>;
    *milliseconds = Milliseconds(end->recorded - begin->recorded).count();
    return cudaSuccess;
}

// ---------------------------------------------------------------------------- memory

static cudaError_t allocate(void **memory, size_t bytes, emulator::Kind kind) {
    *memory = emulator::global_allocate(bytes, kind);
    return *memory != nullptr || bytes == 0
               ? cudaSuccess
               : cudaError_t(emulator::failed(cudaErrorMemoryAllocation));
}

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    return allocate(memory, bytes, emulator::Kind::DEVICE);
}

cudaError_t cudaMallocHost(void **memory, size_t bytes) {
    return allocate(memory, bytes, emulator::Kind::PAGE_LOCKED);
}

int emulator::allocate_managed(void **memory, std::size_t bytes) {
    return allocate(memory, bytes, Kind::MANAGED);
}

// A copy or fill on a stream accesses global memory as a launch does. `from`: nullptr for a fill.
static void access_on(cudaStream_t stream, const void *to, const void *from, size_t bytes) {
    using namespace emulator;
    const auto access = [bytes](const void *memory, bool is_write) {
        if (memory != nullptr &&
            (global_place(memory, bytes) == GlobalPlace::INSIDE || is_page_locked(memory)))
            access_global(memory, bytes, {is_write, Site{}});
    };
    order::begin_on(stream, false);
    access(from, false);
    access(to, true);
    order::end_work();
}

// What is wrong with bytes of a copy or a fill, which the caller takes for the device's (or for the
// host's, or for either's); empty if nothing is.
enum class Side { DEVICE, HOST, EITHER };
static std::string wrong(const void *memory, size_t bytes, Side side, const char *access) {
    using namespace emulator;
    const GlobalPlace place = global_place(memory, bytes);
    if (place == GlobalPlace::OUTSIDE || place == GlobalPlace::FREED)
        return global_mistake(access, memory, bytes);
    if (side == Side::HOST && place == GlobalPlace::INSIDE && is_device_memory(memory))
        return format("%s host memory at %p, which is the device's", access, memory);
    if (memory == nullptr || (side == Side::DEVICE && is_host_memory(memory)))
        return format("%s device memory at %p, which is none", access, memory);
    return "";
}

// Says why a call fails, if it does.
static cudaError_t checked(const char *call, const std::string &why) {
    if (why.empty())
        return cudaSuccess;
    emulator::say("runtime", emulator::format("%s fails with cudaErrorInvalidValue: it %s", call,
                                              why.c_str()));
    return cudaError_t(emulator::failed(cudaErrorInvalidValue));
}

cudaError_t cudaFree(void *memory) {
    if (memory == nullptr || emulator::global_free(memory))
        return cudaSuccess;
    return checked("cudaFree", emulator::format("frees %p, which no allocation begins at, or not "
                                                "any more",
                                                memory));
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t) { return cudaFree(memory); }

int emulator::too_long_for_symbol(std::size_t offset, std::size_t bytes, std::size_t size) {
    return checked("a copy of a symbol", format("touches %zu bytes at offset %zu of a variable of "
                                                "%zu bytes",
                                                bytes, offset, size));
}

static Side side_of(cudaMemcpyKind kind, cudaMemcpyKind to_host, cudaMemcpyKind to_device) {
    return kind == cudaMemcpyHostToHost || kind == to_host         ? Side::HOST
           : kind == cudaMemcpyDeviceToDevice || kind == to_device ? Side::DEVICE
                                                                   : Side::EITHER;
}

// The host waits, except that a copy from pageable memory may return before the last bytes have
// reached the device: rungs must not count on that. (CUDA Runtime API: API Synchronization
// Behavior.)
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    if (kind != cudaMemcpyHostToDevice || emulator::translated_program)
        emulator::order::host_waits_for(nullptr);
    return error;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    if (bytes == 0)
        return cudaSuccess;
    const Side target = side_of(kind, cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice);
    const Side source = side_of(kind, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost);
    std::string why = wrong(from, bytes, source, "reads");
    if (why.empty())
        why = wrong(to, bytes, target, "writes");
    if (const cudaError_t error = checked("cudaMemcpy", why))
        return error;
    access_on(stream, to, from, bytes);
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory) {
    emulator::global_free(memory, true);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    *free_bytes = *total_bytes = std::size_t(80) << 30;
    return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
    cudaError_t error = cudaSuccess;
    for (std::size_t row = 0; row < height && error == cudaSuccess; ++row)
        error = cudaMemcpy(static_cast<char *>(to) + row * to_pitch,
                           static_cast<const char *>(from) + row * from_pitch, width, kind);
    return error;
}

cudaError_t cudaMemset2D(void *memory, size_t pitch, int value, size_t width, size_t height) {
    cudaError_t error = cudaSuccess;
    for (std::size_t row = 0; row < height && error == cudaSuccess; ++row)
        error = cudaMemset(static_cast<char *>(memory) + row * pitch, value, width);
    return error;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    return cudaMemsetAsync(memory, value, bytes, nullptr); // the host does not wait
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
    if (bytes == 0)
        return cudaSuccess;
    if (const cudaError_t error =
            checked("cudaMemset", wrong(memory, bytes, Side::DEVICE, "writes")))
        return error;
    access_on(stream, memory, nullptr, bytes);
    std::memset(memory, (unsigned char)value, bytes);
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *result) {
    const bool found = std::string(symbol) == "cuTensorMapEncodeTiled";
    *function = found ? reinterpret_cast<void *>(&cuTensorMapEncodeTiled) : nullptr;
    *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult *result) {
    cudaDriverEntryPointQueryResult ignored;
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags,
                                            result != nullptr ? result : &ignored);
}

void emulator_wrote(const void *begin, size_t bytes, const void *stream) {
    emulator::order::begin_on(stream, false);
    emulator::access_global(begin, bytes, {true, emulator::Site{}});
    emulator::order::end_work();
}
