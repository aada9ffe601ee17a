// Wide accesses: several bf16 or fp32 values per load or store instruction.
#pragma once

#include "device/base.cuh"

// Two fp32 values rounded to nearest even and packed, `low` at the lower address.
DEVICE uint32_t pack_bf16(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t *>(&pair);
}

// Reads 8 bf16 values with one 16-byte load and widens them; `source` is 16-byte aligned. bf16 is
// the upper half of an fp32, so widening is a shift.
DEVICE void load8(float (&values)[8], const bf16 *source) {
    const uint4 packed = *reinterpret_cast<const uint4 *>(source);
    const uint32_t words[4] = {packed.x, packed.y, packed.z, packed.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        values[2 * i] = __uint_as_float(words[i] << 16);
        values[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
    }
}

// Reads 8 fp32 values with two 16-byte loads; `source` is 16-byte aligned.
DEVICE void load8(float (&values)[8], const float *source) {
    const float4 low = reinterpret_cast<const float4 *>(source)[0];
    const float4 high = reinterpret_cast<const float4 *>(source)[1];
    values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
    values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
}

// Rounds 8 fp32 values to bf16 and writes them with one 16-byte store, 16-byte aligned.
DEVICE void store8(bf16 *destination, const float (&values)[8]) {
    *reinterpret_cast<uint4 *>(destination) =
        make_uint4(pack_bf16(values[0], values[1]), pack_bf16(values[2], values[3]),
                   pack_bf16(values[4], values[5]), pack_bf16(values[6], values[7]));
}

// Reads 4 fp32 values with one 16-byte load; `source` is 16-byte aligned.
DEVICE void load4(float (&values)[4], const float *source) {
    const float4 four = *reinterpret_cast<const float4 *>(source);
    values[0] = four.x, values[1] = four.y, values[2] = four.z, values[3] = four.w;
}

// Writes 4 fp32 values with one 16-byte store, 16-byte aligned, into a shared tile that a bulk
// store reads next: a generic-proxy write, like store2_shared's.
DEVICE void store4_shared(float *destination, const float (&values)[4]) {
    *reinterpret_cast<float4 *>(destination) =
        make_float4(values[0], values[1], values[2], values[3]);
}

// Rounds two fp32 values to bf16 and writes them with one 4-byte store into a shared tile that a
// bulk store reads next: a generic-proxy write, which the async proxy sees only after the writing
// thread's fence_proxy_async() and a barrier.
DEVICE void store2_shared(bf16 *destination, float low, float high) {
    *reinterpret_cast<uint32_t *>(destination) = pack_bf16(low, high);
}

// Writes one value into a shared tile that a bulk store reads next: a generic-proxy write, like
// store2_shared's.
template <typename T>
DEVICE void store_shared(T *destination, T value) {
    *destination = value;
}
