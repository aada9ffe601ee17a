// memcpy_async() of a group, and its waits. (CUDA C++ Programming Guide: Cooperative Groups.)
#pragma once

#include <cooperative_groups.h>
#include <cuda/pipeline>

namespace cooperative_groups {
// Each call is a stage.
template <typename Group, typename T, typename Bytes>
void memcpy_async(const Group &group, T *to, const T *from, const Bytes &bytes, EMULATOR_SITE) {
    emulator::copy_share(to, from, std::size_t(bytes), group.thread_rank(), group.size(), where);
    emulator::cp_async_commit(where);
}
// All threads wait for all but the last STAGES of their copies, and for each other.
template <unsigned STAGES, typename Group>
void wait_prior(const Group &group, EMULATOR_SITE) {
    emulator::cp_async_wait(int(STAGES), where);
    group.sync(where);
}
template <typename Group>
void wait(const Group &group, EMULATOR_SITE) {
    wait_prior<0>(group, where);
}
} // namespace cooperative_groups
