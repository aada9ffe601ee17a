#!/usr/bin/env bash
# Every rung compiles without a spill, a stack frame, ptxas' C75xx or, under STRICT=1, a warning, and
# the build refuses one that doesn't: rungs with each fault are planted, and must not come out as objects.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh

if ! find_nvcc >/dev/null; then
    for source in steps/*.cu; do skip "$source compiles" "needs nvcc"; done
    skip "planted faults are refused" "needs nvcc"
    finish
fi

for source in steps/*.cu; do
    rung=$(basename "${source%%_*}")
    log=build/steps/$rung.ptxas.log
    clean "$rung is built without a warning, C75xx, a spill or local memory" "build/steps/$rung" "$log"
    # The a track runs on every GPU from sm_80 on, the t track on those from sm_90 on.
    wanted=sm_90a
    [[ $rung == t* ]] && wanted='sm_100 sm_120 sm_90'
    [[ $rung == a* ]] && wanted='sm_100 sm_120 sm_80 sm_86 sm_89 sm_90'
    found=$(sed -n "s/.*for '\(sm_[0-9a-z]*\)'.*/\1/p" "$log" | sort -u | paste -sd ' ')
    is "$rung is compiled for $wanted" "it is for $found" test "$found" = "$wanted"
done

dir=build/tests/planted
rm -rf $dir
mkdir -p $dir/steps

# 64 values alive at once in a kernel that may use 32 registers.
cat >$dir/steps/v01_spill.cu <<'END'
__global__ void __launch_bounds__(1024, 2) gemm(float *d, const float *a) {
    float acc[64];
#pragma unroll
    for (int i = 0; i < 64; ++i)
        acc[i] = a[threadIdx.x + i * 1024];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 64; ++i)
        d[threadIdx.x * 64 + i] = acc[i] * acc[(i + 7) % 64];
}
END

# Without launch bounds ptxas cannot honour setmaxnreg: C7508.
cat >$dir/steps/v02_setmaxnreg.cu <<'END'
__global__ void gemm(float *d) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    d[threadIdx.x] = 1;
}
END

# An accumulator is read between a wgmma and the wait for it, so ptxas serialises: C7510 to C7519.
cat >$dir/steps/v03_wgmma.cu <<'END'
__device__ void wgmma(float (&d)[4], unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, "
                 "1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
}
__global__ void __launch_bounds__(128) gemm(float *d, unsigned long long a, unsigned long long b) {
    float acc[4] = {0, 0, 0, 0};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    wgmma(acc, a, b);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    acc[0] += 1;
    wgmma(acc, a, b);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i)
        d[threadIdx.x * 4 + i] = acc[i];
}
END

# Registers have no index: an array that is indexed by what is known at run time lies in memory.
cat >$dir/steps/v06_stack.cu <<'END'
__global__ void __launch_bounds__(32) gemm(float *d, const int *at) {
    float acc[32] = {};
    for (int i = 0; i < 32; ++i)
        acc[at[i] % 32] += 1;
    d[threadIdx.x] = acc[threadIdx.x % 32];
}
END

echo '__global__ void gemm(int *d) { int unused; *d = 1; }' >$dir/steps/v04_warning.cu
echo '__global__ void __launch_bounds__(32) gemm(int *d) { *d = 1; }' >$dir/steps/v05_clean.cu

# What is planted, what the log must say of it, and STRICT.
while IFS='|' read -r rung fault expression strict; do
    object=$dir/build/steps/$rung.o why=''
    if make -s STRICT="${strict:-}" STEPS=$dir/steps BUILD=$dir/build "$object" >"$dir/$rung.out" 2>&1; then
        why="it was built"
    elif [[ -e $object ]]; then
        why="it left an object"
    elif ! grep -qE "$expression" "${object%.o}.ptxas.log"; then
        why="for another reason: $(head -n 1 "$dir/$rung.out")"
    fi
    is "a rung with $fault is refused" "$why" test -z "$why"
done <<'END'
v01|a spill|spill
v02|setmaxnreg ignored|C7508
v03|wgmma serialised|C751[0-9]
v04|a warning under STRICT=1|unused|1
v06|an array in local memory|[1-9][0-9]* bytes stack frame, 0 bytes spill stores
END
is "a planted rung without a fault is built" "make does not" \
    make -s STEPS=$dir/steps BUILD=$dir/build $dir/build/steps/v05.o
said=$(make -s STRICT=0 STEPS=$dir/steps BUILD=$dir/build $dir/build/steps/v04.o 2>&1) && grep -q unused <<<"$said"
is "a warning is shown, and does not stop a reader" "see make: $said" test $? -eq 0
finish
