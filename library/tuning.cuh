// gl_linear_tune(): the fastest of a few kernels, by the tuner of common/tune.h. Part of
// gemm_ladder.cu.

constexpr double SAMPLE_SECONDS = 300e-6; // of launches, in a graph
constexpr double MOST_LAUNCHES = 100;     // in it
constexpr size_t MOST_COPIES = 1000;

// Fills `count` elements with sums of four uniform numbers, which are nearly normal: of zeros or
// small integers the tensor cores draw less power, and another kernel may be the fastest.
__global__ void make_operands(bf16 *to, size_t count) {
    const size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
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

// What is timed: a graph of launches for each plan, over copies of the operands in turn.
struct Trial {
    Shape shape;
    cudaStream_t stream;
    size_t copies = 0, copy = 0; // elements of one: X, W, D and the workspace
    bf16 *memory = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
    int launches[TUNE_CANDIDATES] = {};
    cudaGraphExec_t graphs[TUNE_CANDIDATES] = {};

    ~Trial() {
        for (cudaGraphExec_t graph : graphs)
            if (graph != nullptr)
                cudaGraphExecDestroy(graph);
        cudaEventDestroy(end);
        cudaEventDestroy(begin);
        cudaFree(memory);
    }
};

static size_t aligned(size_t elements) { return (elements + 127) / 128 * 128; }

static Call call_of(const Trial &trial, size_t copy, cudaStream_t stream) {
    const Shape &s = trial.shape;
    bf16 *const x = trial.memory + copy * trial.copy;
    bf16 *const w = x + aligned(size_t(s.m) * s.ldx), *const d = w + aligned(size_t(s.n) * s.ldw);
    bf16 *const workspace = d + aligned(size_t(s.m) * s.ldd);
    return {d, x, w, nullptr, workspace, bytes_copied(s), stream, false};
}

static int make_trial(Trial *trial, double l2_bytes) {
    const Shape &s = trial->shape;
    trial->copy = aligned(size_t(s.m) * s.ldx) + aligned(size_t(s.n) * s.ldw) +
                  aligned(size_t(s.m) * s.ldd) + aligned(bytes_copied(s) / sizeof(bf16));
    trial->copies = size_t(2 * l2_bytes) / (trial->copy * sizeof(bf16)) + 1;
    trial->copies = std::min(std::max(trial->copies, size_t(2)), MOST_COPIES);
    const size_t elements = trial->copies * trial->copy;
    return allocate_array(&trial->memory, elements) ||
           launch(make_operands, dim3(1024), dim3(256), dim3(1), 0, trial->stream, trial->memory,
                  elements) ||
           launch_check(cudaEventCreate(&trial->begin), "making an event") ||
           launch_check(cudaEventCreate(&trial->end), "making an event");
}

// Captures the launches of a plan; the events are in the graph, so that no host's time is between
// them. Each plan begins at copies that the one before leaves.
static int capture(Trial *trial, int index, const TileLaunch &launch, double seconds) {
    const int launches = int(std::min(std::max(SAMPLE_SECONDS / seconds, 2.0), MOST_LAUNCHES));
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    if (launch_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"))
        return 1;
    int failed =
        launch_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal),
                     "beginning to capture a graph") ||
        launch_check(cudaEventRecordWithFlags(trial->begin, stream, cudaEventRecordExternal),
                     "recording an event in a graph");
    for (int i = 0; i < launches && !failed; ++i) {
        const size_t copy = (size_t(index) * launches + i) % trial->copies;
        failed = start(trial->shape, launch, call_of(*trial, copy, stream));
    }
    failed = failed ||
             launch_check(cudaEventRecordWithFlags(trial->end, stream, cudaEventRecordExternal),
                          "recording an event in a graph");
    failed |= launch_check(cudaStreamEndCapture(stream, &graph), "capturing a graph");
    failed = failed || launch_check(cudaGraphInstantiate(&trial->graphs[index], graph, 0),
                                    "making a graph of launches", launches);
    trial->launches[index] = launches;
    if (graph != nullptr)
        cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    return failed;
}

// Seconds of a launch; NAN if it failed. For tune_pick().
static double sample(void *context, int candidate) {
    const Trial *trial = static_cast<const Trial *>(context);
    float ms = 0;
    if (launch_check(cudaGraphLaunch(trial->graphs[candidate], trial->stream),
                     "launching a graph") ||
        launch_check(cudaEventSynchronize(trial->end), "waiting for a graph") ||
        launch_check(cudaEventElapsedTime(&ms, trial->begin, trial->end), "timing a graph"))
        return NAN;
    return ms * 1e-3 / trial->launches[candidate];
}

// The index of the fastest plan; negative after printing a line.
static int fastest(const Shape &s, const tile_plan *plans, int count, const tile_gpu &gpu,
                   cudaStream_t stream) {
    Trial trial = {.shape = s, .stream = stream};
    if (make_trial(&trial, gpu.l2_bytes))
        return -1;
    for (int i = 0; i < count; ++i) {
        TileLaunch launch;
        if (plan_of(s, plans[i], &launch) || capture(&trial, i, launch, plans[i].cost / gpu.hertz))
            return -1;
    }
    return tune_pick(count, sample, &trial);
}

int gl_linear_tune(int m, int n, int k, long ldx, long ldw, long ldd, cudaStream_t stream) {
    Shape s = {0, m, n, k, ldx, ldw, ldd};
    cudaDeviceProp device;
    tile_gpu gpu = {};
    int status = status_of_shape(s);
    if (status != GL_OK)
        return status;
    if (cudaGetDevice(&s.device) != cudaSuccess)
        return GL_BAD_DEVICE;
    if (launch_check(cudaGetDeviceProperties(&device, s.device), "asking for the device", s.device))
        return GL_CUDA_ERROR;
    {
        const std::unique_lock lock(guard);
        status = gpu_of(s, &gpu);
    }
    if (status != GL_OK)
        return status;
    char path[4096];
    const tune_key key = {device.name, tune_family(&s08), m, n, k};
    const int kept = tune_find(tune_path(path, sizeof path), &key);
    problem p = modelled(s, kept <= FAMILY.count ? kept : 0);
    tile_plan plans[TUNE_CANDIDATES];
    int found = choose(plans, TUNE_CANDIDATES, &p, &gpu), best = 0;
    if (p.kernel == 0 || found == 0) {
        p.kernel = 0;
        found = choose(plans, TUNE_CANDIDATES, &p, &gpu);
        best = found > 0 ? fastest(s, plans, found, gpu, stream) : -1;
    }
    TileLaunch launch;
    if (best < 0 || plan_of(s, plans[best], &launch))
        return GL_CUDA_ERROR;
    const int unwritten = p.kernel > 0 ? 0 : tune_add(path, &key, plans[best].kernel + 1);
    if (unwritten)
        fprintf(stderr, "%s: what was tuned is not kept: %s\n", path, strerror(unwritten));
    const std::unique_lock lock(guard);
    planned[s] = launch;
    return GL_OK;
}
