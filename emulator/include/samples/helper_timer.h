// The timers of NVIDIA's samples, which say 0 ms: the emulator measures nothing. (cuda-samples:
// Common/helper_timer.h.)
#pragma once

#include <helper_cuda.h>

struct StopWatchInterface {};
inline bool sdkCreateTimer(StopWatchInterface **timer) {
    return *timer = new StopWatchInterface, true;
}
inline bool sdkDeleteTimer(StopWatchInterface **timer) { return delete *timer, true; }
inline bool sdkStartTimer(StopWatchInterface **) { return true; }
inline bool sdkStopTimer(StopWatchInterface **) { return true; }
inline bool sdkResetTimer(StopWatchInterface **) { return true; }
inline float sdkGetTimerValue(StopWatchInterface **) { return 0; }
inline float sdkGetAverageTimerValue(StopWatchInterface **) { return 0; }
