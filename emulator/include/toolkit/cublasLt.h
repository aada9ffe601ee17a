// cuBLASLt's matmul by cuBLAS's product: its types, columns or rows, batches. What a product is
// asked for besides, such as an epilogue, is named and ends the program. (cuBLAS: Using the
// cuBLASLt API.)
#pragma once

#include <cublas_v2.h>

// First what Create() is given, then what is 1 by default.
// clang-format off
#define EMULATOR_MATMUL_ATTRIBUTES(is) \
    is(COMPUTE_TYPE) is(SCALE_TYPE) is(EPILOGUE) is(TRANSA) is(TRANSB) is(SM_COUNT_TARGET) \
    is(FAST_ACCUM) is(A_SCALE_POINTER) is(B_SCALE_POINTER) is(TRANSC) is(POINTER_MODE) \
    is(FILL_MODE) is(BIAS_POINTER) is(BIAS_BATCH_STRIDE) is(BIAS_DATA_TYPE) \
    is(EPILOGUE_AUX_POINTER) is(EPILOGUE_AUX_LD) is(EPILOGUE_AUX_BATCH_STRIDE) \
    is(EPILOGUE_AUX_DATA_TYPE) is(EPILOGUE_AUX_SCALE_POINTER) is(EPILOGUE_AUX_AMAX_POINTER) \
    is(ALPHA_VECTOR_BATCH_STRIDE) is(C_SCALE_POINTER) is(D_SCALE_POINTER) is(AMAX_D_POINTER) \
    is(A_SCALE_MODE) is(B_SCALE_MODE) is(C_SCALE_MODE) is(D_SCALE_MODE)
#define EMULATOR_ATTRIBUTE(name) CUBLASLT_MATMUL_DESC_##name,
enum cublasLtMatmulDescAttributes_t { EMULATOR_MATMUL_ATTRIBUTES(EMULATOR_ATTRIBUTE) };
enum cublasLtMatrixLayoutAttribute_t {
    CUBLASLT_MATRIX_LAYOUT_TYPE, CUBLASLT_MATRIX_LAYOUT_ROWS, CUBLASLT_MATRIX_LAYOUT_COLS,
    CUBLASLT_MATRIX_LAYOUT_LD, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_ORDER,
    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
};
enum cublasLtMatmulPreferenceAttributes_t {
    CUBLASLT_MATMUL_PREF_SEARCH_MODE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
    CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
    CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT
};
enum cublasLtOrder_t { CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW, CUBLASLT_ORDER_COL32 };
enum cublasLtPointerMode_t { CUBLASLT_POINTER_MODE_HOST, CUBLASLT_POINTER_MODE_DEVICE };
enum cublasLtEpilogue_t {
    CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_RELU = 2, CUBLASLT_EPILOGUE_BIAS = 4,
    CUBLASLT_EPILOGUE_RELU_BIAS = 6, CUBLASLT_EPILOGUE_GELU = 32, CUBLASLT_EPILOGUE_GELU_BIAS = 36,
    CUBLASLT_EPILOGUE_GELU_AUX = 160, CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164,
    CUBLASLT_EPILOGUE_DGELU = 192, CUBLASLT_EPILOGUE_BGRADA = 256, CUBLASLT_EPILOGUE_BGRADB = 512
};
// clang-format on

#define EMULATOR_ATTRIBUTES_OF(kind)                                                               \
    using kind##Opaque_t = emulator::blas::Attributes;                                             \
    using kind##_t = kind##Opaque_t *;                                                             \
    inline constexpr auto kind##Init = [](kind##_t made, auto... given) {                          \
        return *made = {{std::int64_t(given)..., 1}}, CUBLAS_STATUS_SUCCESS;                       \
    };                                                                                             \
    inline constexpr auto kind##Create = [](kind##_t *made, auto... given) {                       \
        return kind##Init(*made = new kind##Opaque_t, given...);                                   \
    };                                                                                             \
    inline constexpr auto kind##SetAttribute = [](kind##_t of, int attribute, const void *value,   \
                                                  std::size_t bytes) {                             \
        return std::memcpy(&(of->values[attribute] = 0), value, bytes), CUBLAS_STATUS_SUCCESS;     \
    };                                                                                             \
    inline cublasStatus_t kind##Destroy(kind##_t old) { return delete old, CUBLAS_STATUS_SUCCESS; }
EMULATOR_ATTRIBUTES_OF(cublasLtMatmulDesc)
EMULATOR_ATTRIBUTES_OF(cublasLtMatrixLayout)
EMULATOR_ATTRIBUTES_OF(cublasLtMatmulPreference)

using cublasLtHandle_t = cublasHandle_t;
inline constexpr auto &cublasLtCreate = cublasCreate;
inline constexpr auto &cublasLtDestroy = cublasDestroy;

// There is one algorithm, which needs no workspace.
struct cublasLtMatmulAlgo_t {
    std::uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    std::size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
};
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatmulPreference_t, int,
                                                     cublasLtMatmulHeuristicResult_t *found,
                                                     int *count) {
    return *count = 1, *found = {{}, 0, CUBLAS_STATUS_SUCCESS, 1}, CUBLAS_STATUS_SUCCESS;
}
namespace emulator::blas {
// An attribute that is not known ends the program.
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t how, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t, const void *b,
                              cublasLtMatrixLayout_t, const void *beta, const void *c,
                              cublasLtMatrixLayout_t, void *d, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t *, void *, std::size_t,
                              cudaStream_t stream, EMULATOR_SITE);
} // namespace emulator::blas
using emulator::blas::cublasLtMatmul;
