#include "debias/runtime/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <unistd.h>

#include "debias/core/error.h"

namespace debias {
namespace {

bool driver_present() { return access("/dev/nvidiactl", F_OK) == 0; }

bool load_cuda(std::string* reason) {
  if (!driver_present()) {
    *reason = "no NVIDIA driver is loaded";
    return false;
  }
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    *reason = dlerror();
    return false;
  }
  if (!at::globalContext().hasCUDA()) {
    *reason = "the driver reports no usable device";
    return false;
  }
  return true;
}

}  // namespace

c10::Device own_device(c10::DeviceType type, int64_t local_rank, int64_t count) {
  if (local_rank < count) return {type, static_cast<c10::DeviceIndex>(local_rank)};
  throw resource_error("device {}: process {} of this machine has none of its own, there are {}; start at most {}, or use device cpu",
                       c10::DeviceTypeName(type, /*lower_case=*/true), local_rank, count, count);
}

c10::Device resolve_device(const std::string& name, int64_t local_rank) {
  if (name == "cpu") return c10::Device(c10::kCPU);
  if (name != "auto" && name != "cuda") throw usage_error("device: unknown value '{}'; give auto, cpu or cuda", name);
  std::string reason;
  if (load_cuda(&reason)) return own_device(c10::kCUDA, local_rank, c10::impl::VirtualGuardImpl(c10::kCUDA).deviceCount());
  if (name == "cuda") throw usage_error("device cuda: it cannot be had ({}); use device cpu", reason);
  return c10::Device(c10::kCPU);
}

}  // namespace debias
