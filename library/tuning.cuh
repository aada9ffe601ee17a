// gl_linear_tune(), by the tuner of common/tune.h. Part of gemm_ladder.cu.

#include "tune.h"

constexpr double SAMPLE_SECONDS = 300e-6; // of launches, in a graph
constexpr double MOST_LAUNCHES = 100;
constexpr size_t MOST_COPIES = 1000;

// Fills memory with sums of four uniform numbers, which are nearly normal. With zeros or small
// integers the tensor cores draw less power, and another kernel may be the fastest.
__global__ void make_operands(bf16 *to, size_t count) {
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x) {
        uint64_t bits = (i + 1) * 0x9e3779b97f4a7c15u; // splitmix64
        bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
        bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
        bits ^= bits >> 31;
        float sum = 0;
        for (int part = 0; part < 64; part += 16)
            sum += float(bits >> part & 0xffff) - 32767.5f;
        to[i] = __float2bfloat16_rn(sum / 37837); // its standard deviation
    }
}

// What is timed: a graph of launches for each candidate, on copies of the operands in turn.
struct Trial {
    Call call;
    size_t copies, copy; // elements of one
    bf16 *memory;
    cudaStream_t captured;
    cudaEvent_t begin, end;
    int launches[TUNE_CANDIDATES];
    cudaGraphExec_t graphs[TUNE_CANDIDATES];
};

static size_t whole_lines(size_t elements) { return (elements + 63) / 64 * 64; }

// The call on a copy: X, W, D and the workspace.
static Call call_on(const Trial &trial, size_t copy) {
    Call call = trial.call;
    bf16 *const x = trial.memory + copy % trial.copies * trial.copy;
    bf16 *const w = x + whole_lines(call.p.m * call.strides.a);
    bf16 *const d = w + whole_lines(call.p.n * call.strides.b);
    call.p.a = x;
    call.p.b = w;
    call.p.d = d;
    call.workspace = d + whole_lines(call.p.m * call.strides.d);
    call.p.stream = trial.captured;
    return call;
}

// Copies that together are larger than twice the L2, each with `workspace` bytes.
static int make_trial(Trial *trial, double l2_bytes, size_t workspace) {
    const problem &p = trial->call.p;
    const Pitches &strides = trial->call.strides;
    trial->copy = whole_lines(p.m * strides.a) + whole_lines(p.n * strides.b) +
                  whole_lines(p.m * strides.d) + whole_lines(workspace / sizeof(bf16));
    const size_t copies = size_t(2 * l2_bytes) / (trial->copy * sizeof(bf16)) + 1;
    trial->copies = std::clamp(copies, size_t(2), MOST_COPIES);
    const size_t elements = trial->copies * trial->copy;
    return allocate_array(&trial->memory, elements) ||
           launch(make_operands, dim3(1024), dim3(256), dim3(1), 0, p.stream, trial->memory,
                  elements) ||
           launch_check(cudaEventCreate(&trial->begin), "making an event") ||
           launch_check(cudaEventCreate(&trial->end), "making an event") ||
           launch_check(cudaStreamCreateWithFlags(&trial->captured, cudaStreamNonBlocking),
                        "making a stream");
}

static void release_trial(const Trial &trial) {
    for (cudaGraphExec_t graph : trial.graphs)
        if (graph != nullptr)
            cudaGraphExecDestroy(graph);
    for (cudaEvent_t event : {trial.begin, trial.end})
        if (event != nullptr)
            cudaEventDestroy(event);
    if (trial.captured != nullptr)
        cudaStreamDestroy(trial.captured);
    release_array(trial.memory);
}

static int record_captured(const Trial &trial, cudaEvent_t event) {
    return launch_check(cudaEventRecordWithFlags(event, trial.captured, cudaEventRecordExternal),
                        "recording an event in a graph");
}

// Makes a candidate's graph. It has the events, so that no time of the host is between them, and
// begins with the copies after those of the candidate before.
static int capture(Trial *trial, int candidate, const tile_plan &plan, double seconds) {
    TileLaunch launch;
    cudaGraph_t graph = nullptr;
    const int launches = int(std::clamp(SAMPLE_SECONDS / seconds, 2.0, MOST_LAUNCHES));
    trial->launches[candidate] = launches;
    if (decide_launch(trial->call, plan, &launch) ||
        launch_check(cudaStreamBeginCapture(trial->captured, cudaStreamCaptureModeThreadLocal),
                     "beginning to capture a graph"))
        return 1;
    int failed = record_captured(*trial, trial->begin);
    for (int i = 0; i < launches && !failed; ++i)
        failed = start_call(call_on(*trial, size_t(candidate) * launches + i), launch);
    failed |= record_captured(*trial, trial->end);
    failed |= launch_check(cudaStreamEndCapture(trial->captured, &graph), "capturing a graph");
    failed = failed || launch_check(cudaGraphInstantiate(&trial->graphs[candidate], graph, 0),
                                    "making a graph of launches", launches);
    if (graph != nullptr)
        cudaGraphDestroy(graph);
    return failed;
}

// Seconds of a launch; NAN if it failed.
static double sample(void *context, int candidate) {
    const Trial *trial = static_cast<const Trial *>(context);
    float ms = 0;
    if (launch_check(cudaGraphLaunch(trial->graphs[candidate], trial->call.p.stream),
                     "launching a graph") ||
        launch_check(cudaStreamSynchronize(trial->call.p.stream), "waiting for a graph") ||
        launch_check(cudaEventElapsedTime(&ms, trial->begin, trial->end), "timing a graph"))
        return NAN;
    return ms * 1e-3 / trial->launches[candidate];
}

// The index of the fastest plan; negative after printing a line.
static int fastest(const Call &call, const tile_plan *plans, int count, const tile_gpu &gpu) {
    Trial trial = {.call = call};
    size_t workspace = 0;
    for (int i = 0; i < count; ++i)
        workspace = std::max(workspace, bytes_of(call, plans[i]));
    int failed = make_trial(&trial, gpu.l2_bytes, workspace);
    for (int i = 0; i < count && !failed; ++i)
        failed = capture(&trial, i, plans[i], plans[i].cost / gpu.hertz);
    const int best = failed ? -1 : tune_pick(count, sample, &trial);
    release_trial(trial);
    return best;
}

int gl_linear_tune(int m, int n, int k, long ldx, long ldw, long ldd, cudaStream_t stream) {
    const Call call = call_of(0, 0, 0, 0, m, n, k, ldx, ldw, ldd, 0, 0, stream);
    int device = 0, found = 0, status = status_of_shape(call);
    if (status != GL_OK)
        return status;
    cudaDeviceProp gpu;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaGetDeviceProperties(&gpu, device) != cudaSuccess)
        return GL_BAD_DEVICE;
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    if (launch_check(cudaStreamIsCapturing(stream, &capturing), "asking about a stream"))
        return GL_CUDA_ERROR;
    if (capturing != cudaStreamCaptureStatusNone) {
        fprintf(stderr, "tuning waits for its stream, which is being captured: tune before\n");
        return GL_CUDA_ERROR;
    }
    char path[4096];
    const tune_key key = {gpu.name, tune_family(&s09), m, n, k};
    const int kept = tune_find(tune_path(path, sizeof path), &key);
    tile_plan plans[FAMILY.count];
    const std::unique_lock lock(guard); // other threads' calls wait, and don't disturb the times
    status = plans_of(call, device, plans, &found);
    if (status != GL_OK)
        return status;
    const auto is_kept = [=](const tile_plan &plan) { return plan.kernel + 1 == kept; };
    const tile_plan *best = std::find_if(plans, plans + found, is_kept);
    if (best == plans + found) {
        const int index = fastest(call, plans, std::min(found, int(TUNE_CANDIDATES)), gpus[device]);
        if (index < 0)
            return GL_CUDA_ERROR;
        best = &plans[index];
        if (const int unkept = tune_add(path, &key, best->kernel + 1))
            fprintf(stderr, "what was tuned is not kept in %s: %s\n", path, strerror(unkept));
    }
    Decided made;
    status = decide_all(call, *best, plans, found, &made);
    if (status == GL_OK)
        decided[key_of(device, call)] = new Decided(made);
    return status;
}
