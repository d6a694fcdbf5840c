// Errors of the library as Python is to see them, and the integers that it gives.
#pragma once

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <optional>

#include "debias/core/error.h"

namespace debias {

// ValueError if the caller's options or data are rejected, RuntimeError otherwise, with the same message.
template <class Function>
auto translated(const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    const bool callers = error.kind() == ErrorKind::kUsage || error.kind() == ErrorKind::kData;
    if (callers) C10_THROW_ERROR(ValueError, error.what());
    C10_THROW_ERROR(Error, error.what());
  }
}

// int64 on the device of what they belong to; undefined where there are none. A data error names `what` where they are no integers.
inline at::Tensor integers(const std::optional<at::Tensor>& tensor, const char* what, c10::Device device = c10::kCPU) {
  if (!tensor || !tensor->defined()) return {};
  if (!at::isIntegralType(tensor->scalar_type(), true)) {
    throw data_error("{}: expected integers, found {}; give class indices", what, c10::toString(tensor->scalar_type()));
  }
  return tensor->to(device, at::kLong);
}

}  // namespace debias
