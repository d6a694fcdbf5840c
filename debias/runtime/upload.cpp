#include "debias/runtime/upload.h"

namespace debias {

at::Tensor upload(const at::Tensor& host, c10::Device device) {
  return device.is_cpu() ? host : host.pin_memory().to(device, /*non_blocking=*/true);
}

}  // namespace debias
