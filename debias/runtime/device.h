// Where models live: the CPU, or CUDA when it can be had.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace debias {

// "cpu"; "cuda" (a usage error when it cannot be had); "auto" (CUDA where a driver and its libraries are present, else the CPU).
// To be called before any other tensor work: torch remembers "no CUDA" from the first call that asks. The CUDA library is loaded only here.
// Of several processes on a machine each takes the device of its number.
c10::Device resolve_device(const std::string& name, int64_t local_rank = 0);

// That of `count` devices of a type; a resource error where there are too few.
c10::Device own_device(c10::DeviceType type, int64_t local_rank, int64_t count);

}  // namespace debias
