#!/usr/bin/env bash
# `make rivals` says what it lacks, and builds an adapter (bench/rivals/) from the clone that is
# given: here a stand-in with the names of fast.cu's kernel 12 and nothing in them.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh
unset FAST_CU THUNDERKITTENS CUTLASS DEEPGEMM CUTE_GEMM

work=$PWD/build/tests/rivals clone=$PWD/build/tests/rivals/clone
rm -rf "$work"
mkdir -p "$work/steps" "$clone/examples/matmul"
cat >"$clone/examples/matmul/matmul_12.cuh" <<'END'
namespace M12 {
constexpr int SPACE_LEN = 128;
template <int BM, int BN, int BK, int QSIZE>
struct SMem {
    bf16 a[BM * BK * QSIZE];
};
template <int, int, bool = true, bool = false>
CUtensorMap create_tensor_map(bf16 *, int, int) {
    return {};
}
template <int, int, int, int, int, int, int, int>
__global__ void matmulKernel12(int, int, int, const __grid_constant__ CUtensorMap,
                               const __grid_constant__ CUtensorMap,
                               const __grid_constant__ CUtensorMap, int *) {}
void createHilbert(int, int, int, int *) {}
} // namespace M12
END

# refuses NAME EXPRESSION ARGUMENT...: make rivals fails with status 2 and one line, and it matches.
refuses() {
    local output status
    output=$(make --no-print-directory RIVALS_IN="$work" rivals "${@:3}" 2>&1)
    status=$?
    if [[ $status -eq 2 && $(wc -l <<<"$output") -eq 1 && $output =~ $2 ]]; then
        ok "$1"
    else
        not_ok "$1" "exit status $status: $output"
    fi
}
refuses "without a clone it says what to give" 'FAST_CU=folder .* CUTE_GEMM=folder'
refuses "a folder that is no clone is rejected" 'FAST_CU=steps is no clone' FAST_CU=steps
# Until it is a repository of its own, git would name our commit.
refuses "a folder inside of a repository is rejected" 'is no clone' FAST_CU="$clone"

git_there() { git -C "$clone" -c user.name=tests -c user.email=tests@localhost "$@"; }
git_there init -q && git_there add . && git_there -c commit.gpgsign=false commit -qm stand-in
program=$work/steps/v-fast-cu-12
if find_nvcc >/dev/null; then
    is "an adapter is built from a clone" "see what make says" \
        make RIVALS_IN="$work" FAST_CU="$clone" "$program"
    commit=$(git_there rev-parse --short HEAD)
    is "its program names the clone's commit" "--help lacks 'commit $commit'" \
        grep -qF "commit $commit" <("$program" --help)
else
    skip "an adapter is built from a clone" "needs nvcc"
fi
finish
