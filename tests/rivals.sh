#!/usr/bin/env bash
# `make rivals` says what it lacks, and builds an adapter (bench/rivals/) from the clone that is
# given: here a stand-in with the names of fast.cu's kernel 12 and nothing in them.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. tests/tools/cases.sh
unset FAST_CU THUNDERKITTENS CUTLASS DEEPGEMM CUTE_GEMM

work=$PWD/build/tests/rivals
rm -rf "$work"
mkdir -p "$work/steps" "$work/clone/examples/matmul"

# refuses NAME EXPRESSION ARGUMENT...: make rivals fails with status 2 and one line, and it matches.
refuses() {
    local name=$1 expression=$2 said status
    shift 2
    said=$(make --no-print-directory RIVALS_IN="$work" rivals "$@" 2>&1)
    status=$?
    if [[ $status -eq 2 && $(wc -l <<<"$said") -eq 1 && $said =~ $expression ]]; then
        ok "$name"
    else
        not_ok "$name" "exit status $status: $said"
    fi
}

cat >"$work/clone/examples/matmul/matmul_12.cuh" <<'END'
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

refuses "without a clone it says what to give" 'FAST_CU=folder .* CUTE_GEMM=folder'
refuses "a folder that is no clone is rejected" 'FAST_CU=steps is no clone' FAST_CU=steps
# Until it is a repository of its own, git would name our commit.
refuses "a folder inside of a repository is rejected" 'is no clone' FAST_CU="$work/clone"

git_there() { git -C "$work/clone" -c user.name=tests -c user.email=tests@localhost "$@"; }
git_there init -q && git_there add . && git_there -c commit.gpgsign=false commit -qm stand-in
commit=$(git_there rev-parse --short HEAD)
program=$work/steps/v-fast-cu-12

if ! find_nvcc >/dev/null; then
    skip "an adapter is built from a clone" "needs nvcc"
    finish
fi
if said=$(make RIVALS_IN="$work" FAST_CU="$work/clone" "$program" 2>&1) && [[ -x $program ]]; then
    ok "an adapter is built from a clone"
else
    not_ok "an adapter is built from a clone" "$(grep -m 1 -E 'error|\*\*\*' <<<"$said")"
fi
is "its program names the clone's commit" "--help lacks 'commit $commit'" \
    grep -qF "commit $commit" <("$program" --help)
finish
