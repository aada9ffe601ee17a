// The checks and arguments of NVIDIA's samples, for programs whose own folders have no such header.
// (cuda-samples: Common/helper_cuda.h, Common/helper_string.h.)
#pragma once

#include <cuda_runtime.h>

#include <string_view>

#ifndef EXIT_WAIVED
#define EXIT_WAIVED 2
#endif

// Both end the program at an error.
template <typename Status>
void check(Status status, const char *what, const char *file, int line) {
    if (status == Status())
        return;
    fprintf(stderr, "%s:%d: error %d of %s\n", file, line, int(status), what);
    exit(EXIT_FAILURE);
}
#define checkCudaErrors(...) check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define getLastCudaError(message) check(cudaGetLastError(), message, __FILE__, __LINE__)

// There is one device, and it is a Hopper.
inline int gpuGetMaxGflopsDeviceId() { return 0; }
inline int findCudaDevice(int, const char **) { return 0; }
inline bool checkCudaCapabilities(int major, int minor) { return major * 10 + minor <= 90; }
inline int _ConvertSMVer2Cores(int, int) { return 128; }

// What follows -name= or --name= among the arguments.
inline const char *emulator_argument(int count, const char **values, std::string_view name,
                                     const char *otherwise = nullptr) {
    for (int i = 1; i < count; ++i) {
        std::string_view one = values[i];
        one.remove_prefix(std::min(one.find_first_not_of('-'), one.size()));
        if (one.substr(0, one.find('=')) == name)
            return one.data() + std::min(name.size() + 1, one.size());
    }
    return otherwise;
}
inline bool checkCmdLineFlag(int count, const char **values, const char *name) {
    return emulator_argument(count, values, name) != nullptr;
}
inline int getCmdLineArgumentInt(int count, const char **values, const char *name) {
    return atoi(emulator_argument(count, values, name, "0"));
}
inline float getCmdLineArgumentFloat(int count, const char **values, const char *name) {
    return float(atof(emulator_argument(count, values, name, "0")));
}
inline bool getCmdLineArgumentString(int count, const char **values, const char *name, char **to) {
    return *to = const_cast<char *>(emulator_argument(count, values, name)), *to != nullptr;
}
