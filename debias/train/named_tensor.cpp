#include "debias/train/named_tensor.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "debias/core/error.h"
#include "debias/encoders/state.h"

namespace debias {

at::Tensor named_tensor(const SafetensorsFile& file, const std::string& name, const at::Tensor& like) {
  const auto& all = file.tensors();
  const auto found = std::find_if(all.begin(), all.end(), [&](const TensorEntry& entry) { return entry.name == name; });
  if (found == all.end()) throw data_error("'{}': tensor '{}' is missing", file.path(), name);
  const at::Tensor tensor = read_tensor(file, *found);
  if (tensor.sizes() != like.sizes() || tensor.scalar_type() != like.scalar_type()) {
    throw data_error("'{}': tensor '{}' is {} of shape {}, expected {} of shape {}", file.path(), name, c10::toString(tensor.scalar_type()),
                     c10::str(tensor.sizes()), c10::toString(like.scalar_type()), c10::str(like.sizes()));
  }
  return tensor.to(like.device());
}

}  // namespace debias
