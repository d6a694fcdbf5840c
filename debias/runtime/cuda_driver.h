// Facts of the CUDA driver on a device, read through libcuda.so.1 itself: no program here is linked against CUDA.
#pragma once

#include <optional>
#include <string>

namespace debias {

struct CudaDevice {
  std::string name;  // "NVIDIA H100 80GB HBM3"
  std::string uuid;  // 32 hexadecimal digits: one physical device, or one MIG instance of it
};

// The device with that index among the visible ones; nothing where the driver is missing or has no such device. `library` is for tests.
std::optional<CudaDevice> describe_cuda_device(int index, const char* library = "libcuda.so.1");

// True if a kernel driver for NVIDIA devices is loaded: natively, or under WSL 2.
bool cuda_driver_is_loaded();

}  // namespace debias
