// Tensors of the host on a device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace debias {

// A tensor of the host on a device, without a wait for the device: from pinned memory. On the CPU, itself.
at::Tensor upload(const at::Tensor& host, c10::Device device);

}  // namespace debias
