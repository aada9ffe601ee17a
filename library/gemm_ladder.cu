// The last rung's kernels, with a cache of what it decides for a shape. gemm_ladder.h says what
// each function does.
#include "gemm_ladder.h"
// All of the rung but its program: an inline main that nothing calls leaves no trace, and the
// harness is not needed.
#define main inline unused_main
#include "../steps/s08_choice.cu"
#undef main
#include "tune.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>

constexpr long LONGEST_STRIDE = 1L << 32; // TMA's is 2^40 bytes; products with it don't overflow

// What a launch is planned for.
struct Shape {
    int device, m, n, k;
    long ldx, ldw, ldd;
    auto operator<=>(const Shape &) const = default;
};

// TMA takes rows that are multiples of 16 bytes apart; others are copied.
static bool copied(long stride) { return stride % 8 > 0; }
static long row_copy(int k) { return long(tile_pieces(k, TILE_K)) * TILE_K; } // elements
static size_t bytes_copied(const Shape &s) {
    const long rows = (copied(s.ldx) ? s.m : 0L) + (copied(s.ldw) ? s.n : 0L);
    return size_t(rows) * row_copy(s.k) * sizeof(bf16);
}

// What a call gives.
struct Call {
    void *d;
    const void *x, *w, *bias;
    void *workspace;
    size_t bytes;
    cudaStream_t stream;
    bool constant_w;
};

static std::shared_mutex guard; // of both:
static std::map<Shape, TileLaunch> planned;
static std::map<int, tile_gpu> gpus; // what the model asks of them, by device

static int status_of_shape(const Shape &s) {
    for (const int size : {s.m, s.n, s.k})
        if (size < 1 || size > LARGEST_DIMENSION)
            return GL_BAD_SHAPE;
    if ((long long)s.m * s.n > LARGEST_OUTPUT)
        return GL_BAD_SHAPE;
    const bool shorter = s.ldx < s.k || s.ldw < s.k || s.ldd < s.n;
    const bool longer = s.ldx > LONGEST_STRIDE || s.ldw > LONGEST_STRIDE || s.ldd > LONGEST_STRIDE;
    return shorter || longer ? GL_BAD_STRIDE : GL_OK;
}

static int status_of_call(const Shape &s, const Call &call) {
    const bool aligned =
        (uintptr_t(call.d) | uintptr_t(call.x) | uintptr_t(call.w) | uintptr_t(call.workspace)) %
                16 ==
            0 &&
        uintptr_t(call.bias) % sizeof(bf16) == 0;
    if (!aligned || call.d == nullptr || call.x == nullptr || call.w == nullptr)
        return GL_BAD_POINTER;
    const size_t needed = bytes_copied(s);
    const bool room = needed == 0 || (call.workspace != nullptr && call.bytes >= needed);
    return room ? GL_OK : GL_SMALL_WORKSPACE;
}

// The product as the model knows it, whose operands are copied if k is no multiple of 8.
static problem modelled(const Shape &s, int kernel) {
    const int k = bytes_copied(s) > 0 ? s.k + (s.k % 8 == 0) : tile_pieces(s.k, 8) * 8;
    return {.m = s.m, .n = s.n, .k = k, .kernel = kernel};
}

// Stores in *gpu what the model asks of the shape's device, which is the current one. The caller
// has the guard.
static int gpu_of(const Shape &s, tile_gpu *gpu) {
    int major = 0, minor = 0;
    const auto known = gpus.find(s.device);
    if (known != gpus.end()) {
        *gpu = known->second;
        return GL_OK;
    }
    if (device_attribute(&major, cudaDevAttrComputeCapabilityMajor, "asking for the major of") ||
        device_attribute(&minor, cudaDevAttrComputeCapabilityMinor, "asking for the minor of"))
        return GL_CUDA_ERROR;
    if (major != 9 || minor != 0)
        return GL_BAD_DEVICE;
    if (ask_gpu(gpu))
        return GL_CUDA_ERROR;
    gpus[s.device] = *gpu;
    return GL_OK;
}

// Stores in *launch that of a plan, of which a call still makes the maps.
static int plan_of(const Shape &s, const tile_plan &plan, TileLaunch *launch) {
    const problem p = modelled(s, 0);
    void *state = nullptr;
    TileLaunch *made = plan_launch(&state, FAMILY, plan, &p);
    if (made != nullptr) {
        decide(made, ((copied(s.ldx) ? 0 : s.ldx) | (copied(s.ldw) ? 0 : s.ldw)) % TILE_K > 0);
        *launch = *made;
    }
    release_launch(state);
    return made != nullptr ? GL_OK : GL_CUDA_ERROR;
}

// Stores in *launch what is planned for a shape, at its first call after planning it.
static int find_launch(const Shape &s, TileLaunch *launch) {
    {
        const std::shared_lock lock(guard);
        const auto known = planned.find(s);
        if (known != planned.end()) {
            *launch = known->second;
            return GL_OK;
        }
    }
    const std::unique_lock lock(guard);
    tile_gpu gpu = {};
    tile_plan plan = {.kernel = -1};
    const problem p = modelled(s, 0);
    int status = gpu_of(s, &gpu);
    if (status == GL_OK)
        status = choose(&plan, 1, &p, &gpu) > 0 ? plan_of(s, plan, launch) : GL_CUDA_ERROR;
    if (status == GL_OK)
        planned.emplace(s, *launch); // unless another thread was first
    return status;
}

// Starts a launch for a call's pointers.
static int start(const Shape &s, TileLaunch launch, const Call &call) {
    problem p = {.a = call.x,
                 .b = call.w,
                 .d = call.d,
                 .m = s.m,
                 .n = s.n,
                 .k = s.k,
                 .early = true,
                 .stream = call.stream};
    Pitches pitches = {size_t(s.ldx), size_t(s.ldw), size_t(s.ldd)};
    bf16 *copy = static_cast<bf16 *>(call.workspace);
    const int rows_x = copied(s.ldx) ? s.m : 0, rows_w = copied(s.ldw) ? s.n : 0;
    const long row = row_copy(s.k);
    if (rows_x + rows_w > 0 && pad(&p, copy, rows_x, rows_w, row, pitches))
        return GL_CUDA_ERROR;
    if (rows_x > 0) {
        p.a = copy;
        pitches.a = row;
    }
    if (rows_w > 0) {
        p.b = copy + rows_x * row;
        pitches.b = row;
    }
    if (make_launch(&launch, &p, pitches, static_cast<const bf16 *>(call.bias)))
        return GL_CUDA_ERROR;
    launch.work.constant_b = call.constant_w && rows_w == 0;
    return start_launch(&p, &launch) ? GL_CUDA_ERROR : GL_OK;
}

static int linear(Shape s, const Call &call) {
    TileLaunch launch;
    int status = status_of_shape(s);
    if (status == GL_OK)
        status = status_of_call(s, call);
    if (status == GL_OK)
        status = cudaGetDevice(&s.device) == cudaSuccess ? find_launch(s, &launch) : GL_BAD_DEVICE;
    return status == GL_OK ? start(s, launch, call) : status;
}

size_t gl_linear_workspace(int m, int n, int k) {
    const Shape dense = {0, m, n, k, k, k, n};
    return status_of_shape(dense) == GL_OK ? bytes_copied(dense) : 0;
}

int gl_linear_bf16(void *d, const void *x, const void *w, const void *bias, int m, int n, int k,
                   long ldx, long ldw, long ldd, void *workspace, size_t bytes,
                   cudaStream_t stream) {
    return linear({0, m, n, k, ldx, ldw, ldd}, {d, x, w, bias, workspace, bytes, stream, false});
}

int gl_linear_bf16_constant_w(void *d, const void *x, const void *w, const void *bias, int m, int n,
                              int k, long ldx, long ldw, long ldd, void *workspace, size_t bytes,
                              cudaStream_t stream) {
    return linear({0, m, n, k, ldx, ldw, ldd}, {d, x, w, bias, workspace, bytes, stream, true});
}

const char *gl_status_text(int status) {
    static const char *const TEXTS[] = {
        "no error",
        "m, n and k have to be 1 to 2^30, and m * n at most 2^38",
        "ldx, ldw and ldd have to be at least a row's elements (k, k and n), and at most 2^32",
        "d, x and w have to be 16-byte aligned and not NULL, the workspace 16-byte aligned, and "
        "the "
        "bias 2-byte aligned",
        "the workspace is too small: gl_linear_workspace() gives its bytes",
        "the current device is no GPU of compute capability 9.0",
        "a CUDA call failed: see the line on stderr",
    };
    return status >= 0 && status < int(std::size(TEXTS)) ? TEXTS[status]
                                                         : "no status of this library";
}

#ifdef __CUDACC__ // the emulator has no graphs
#include "tuning.cuh"
#endif
