// Where models live: the CPU, or CUDA when it can be had.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace debias {

// "cpu"; "cuda" (a resource error when it cannot be had); "auto" (CUDA where a driver and its libraries are present, else the CPU).
// To be called before any other tensor work: torch remembers "no CUDA" from the first call that asks. The CUDA library is loaded only here.
c10::Device resolve_device(const std::string& name);

}  // namespace debias
