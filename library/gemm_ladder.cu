// The last rung's kernels, and what it decides for a shape, kept. gemm_ladder.h says what each
// function does.
#include "gemm_ladder.h"
// All of the rung but its program: an inline main that nothing calls leaves no trace, so that the
// harness is not needed.
#define main inline unused_main
#include "../steps/s09_apart.cu"
#undef main

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <shared_mutex>

constexpr size_t LONGEST_STRIDE = size_t(1) << 32; // TMA's is 2^40 bytes; no product overflows

// A call: X is the product's A, and W is B.
struct Call {
    problem p;
    Pitches strides;
    const bf16 *bias;
    bf16 *workspace;
    size_t bytes;
};

static Call call_of(void *d, const void *x, const void *w, const void *bias, int m, int n, int k,
                    long ldx, long ldw, long ldd, void *workspace, size_t bytes,
                    cudaStream_t stream) {
    return {{.a = x, .b = w, .d = d, .m = m, .n = n, .k = k, .early = true, .stream = stream},
            {size_t(ldx), size_t(ldw), size_t(ldd)}, // a negative one becomes too large
            static_cast<const bf16 *>(bias),
            static_cast<bf16 *>(workspace),
            workspace == nullptr ? 0 : bytes};
}

// TMA takes rows that are multiples of 16 bytes apart. Others are copied, to whole k-tiles.
static int copied_x(const Call &call) { return call.strides.a % 8 > 0 ? call.p.m : 0; } // rows
static int copied_w(const Call &call) { return call.strides.b % 8 > 0 ? call.p.n : 0; }
static int row_copied(const Call &call) { return tile_pieces(call.p.k, TILE_K) * TILE_K; }
static size_t bytes_copied(const Call &call) {
    return (size_t(copied_x(call)) + copied_w(call)) * row_copied(call) * sizeof(bf16);
}

static int status_of_shape(const Call &call) {
    const problem &p = call.p;
    const auto is_row = [](size_t stride, int row) {
        return stride >= size_t(row) && stride <= LONGEST_STRIDE;
    };
    for (const int size : {p.m, p.n, p.k})
        if (size < 1 || size > LARGEST_DIMENSION || (long long)p.m * p.n > LARGEST_OUTPUT)
            return GL_BAD_SHAPE;
    const bool are_rows =
        is_row(call.strides.a, p.k) && is_row(call.strides.b, p.k) && is_row(call.strides.d, p.n);
    return are_rows ? GL_OK : GL_BAD_STRIDE;
}

static int status_of_memory(const Call &call) {
    const auto is_memory = [](const void *address) {
        return address != nullptr && uintptr_t(address) % 16 == 0;
    };
    const bool workspace = call.workspace == nullptr || is_memory(call.workspace);
    if (!is_memory(call.p.d) || !is_memory(call.p.a) || !is_memory(call.p.b) || !workspace ||
        uintptr_t(call.bias) % sizeof(bf16) > 0)
        return GL_BAD_POINTER;
    return call.bytes < bytes_copied(call) ? GL_SMALL_WORKSPACE : GL_OK;
}

// What is decided for a shape, but for what depends on pointers.
struct Decided {
    TileLaunch best;
    TileLaunch lean; // which needs no memory for sums
    size_t bytes;    // that the best one needs, copies and sums
};

// What is known of a device and of shapes; the guard is for both.
static std::shared_mutex guard;
static std::map<int, tile_gpu> gpus;
using Key = std::array<size_t, 7>;
static std::map<Key, const Decided *> decided; // never deleted: a call may read one

static Key key_of(int device, const Call &call) {
    const problem &p = call.p;
    return {size_t(device), size_t(p.m),    size_t(p.n),   size_t(p.k),
            call.strides.a, call.strides.b, call.strides.d};
}

// Stores all plans for a call, the best first, and their number in *found. The device is the
// current one. The caller has the guard.
static int plans_of(const Call &call, int device, tile_plan *plans, int *found) {
    int major = 0, minor = 0;
    tile_gpu &gpu = gpus[device];
    if (gpu.l2_bytes == 0 &&
        (device_attribute(&major, cudaDevAttrComputeCapabilityMajor, "asking what can run on") ||
         device_attribute(&minor, cudaDevAttrComputeCapabilityMinor, "asking what can run on") ||
         major != 9 || minor != 0))
        return GL_BAD_DEVICE;
    problem p = call.p; // as the model knows it: operands are copied if k is no multiple of 8
    p.k = bytes_copied(call) > 0 ? p.k + (p.k % 8 == 0) : tile_pieces(p.k, 8) * 8;
    *found = choose(plans, FAMILY.count, &p, &gpu);
    return *found > 0 ? GL_OK : GL_CUDA_ERROR;
}

// Stores in *launch that of a plan.
static int decide_launch(const Call &call, const tile_plan &plan, TileLaunch *launch) {
    if (plan_launch(launch, FAMILY, plan, &call.p))
        return GL_CUDA_ERROR;
    const size_t x = copied_x(call) > 0 ? 0 : call.strides.a; // copies are whole k-tiles
    const size_t w = copied_w(call) > 0 ? 0 : call.strides.b;
    decide(launch, (x | w) % TILE_K > 0);
    return GL_OK;
}

// The bytes of the workspace that a plan needs, for copies and sums.
static size_t bytes_of(const Call &call, const tile_plan &plan) {
    const size_t sums = plan.apart ? sums_count(plan.parts, call.p.m, call.p.n) : 0;
    return bytes_copied(call) + sums * sizeof(float);
}

// Decides for `best`, and for the first of the `found` plans that needs no sums: whole tiles are
// always among them.
static int decide_all(const Call &call, const tile_plan &best, const tile_plan *plans, int found,
                      Decided *made) {
    const tile_plan *const lean =
        std::find_if(plans, plans + found - 1, [](const tile_plan &plan) { return !plan.apart; });
    made->bytes = bytes_of(call, best);
    return decide_launch(call, best, &made->best) || decide_launch(call, *lean, &made->lean)
               ? GL_CUDA_ERROR
               : GL_OK;
}

// Stores in *of what is decided for a call's shape, at the first call after deciding it.
static int find_decided(const Call &call, const Decided **of) {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess)
        return GL_BAD_DEVICE;
    const Key key = key_of(device, call);
    {
        const std::shared_lock lock(guard);
        const auto known = decided.find(key);
        if (known != decided.end()) {
            *of = known->second;
            return GL_OK;
        }
    }
    const std::unique_lock lock(guard);
    tile_plan plans[FAMILY.count];
    Decided made;
    int found = 0, status = plans_of(call, device, plans, &found);
    if (status == GL_OK)
        status = decide_all(call, plans[0], plans, found, &made);
    if (status != GL_OK)
        return status;
    const Decided *&kept = decided[key];
    if (kept == nullptr) // else another thread was first
        kept = new Decided(made);
    *of = kept;
    return GL_OK;
}

// Starts what a call needs: copies of rows, the product, and the sums of parts.
static int start_call(const Call &call, TileLaunch launch) {
    problem p = call.p;
    Pitches strides = call.strides;
    const int rows_x = copied_x(call), rows_w = copied_w(call), row = row_copied(call);
    if (rows_x + rows_w > 0 && pad(&p, call.workspace, rows_x, rows_w, row, strides))
        return GL_CUDA_ERROR;
    if (rows_x > 0) {
        p.a = call.workspace;
        strides.a = row;
    }
    if (rows_w > 0) {
        p.b = call.workspace + size_t(rows_x) * row;
        strides.b = row;
    }
    if (launch.plan.apart)
        launch.sums = reinterpret_cast<float *>(call.workspace + bytes_copied(call) / sizeof(bf16));
    return make_launch(&launch, &p, strides, call.bias) || start_all(&p, &launch) ? GL_CUDA_ERROR
                                                                                  : GL_OK;
}

int gl_linear_bf16(void *d, const void *x, const void *w, const void *bias, int m, int n, int k,
                   long ldx, long ldw, long ldd, void *workspace, size_t bytes,
                   cudaStream_t stream) {
    const Call call = call_of(d, x, w, bias, m, n, k, ldx, ldw, ldd, workspace, bytes, stream);
    const Decided *of = nullptr;
    int status = status_of_shape(call);
    if (status == GL_OK)
        status = status_of_memory(call);
    if (status == GL_OK)
        status = find_decided(call, &of);
    if (status != GL_OK)
        return status;
    return start_call(call, call.bytes < of->bytes ? of->lean : of->best);
}

size_t gl_linear_workspace(int m, int n, int k) {
    const Call dense = call_of(0, 0, 0, 0, m, n, k, k, k, n, 0, 0, 0);
    const Decided *of = nullptr;
    if (status_of_shape(dense) != GL_OK)
        return 0;
    return find_decided(dense, &of) == GL_OK ? of->bytes : bytes_copied(dense);
}

const char *gl_status_text(int status) {
    static const char *const TEXTS[] = {
        "no error",
        "m, n and k must be 1 to 2^30, and m n at most 2^38",
        "ldx and ldw must be at least k, and ldd at least n; all at most 2^32",
        "d, x and w must not be NULL; they and the workspace must be 16-byte aligned, and the bias "
        "2-byte aligned",
        "the workspace is too small: gl_linear_workspace() gives its bytes",
        "the current device is no GPU of compute capability 9.0",
        "a CUDA call failed: a line on stderr says which",
    };
    return status >= 0 && status < int(std::size(TEXTS)) ? TEXTS[status] : "no such status";
}

#ifdef __CUDACC__ // the emulator has no graphs
#include "tuning.cuh"
#endif
