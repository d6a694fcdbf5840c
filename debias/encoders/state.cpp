#include "debias/encoders/state.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <array>
#include <functional>
#include <set>
#include <stdexcept>

#include "debias/core/error.h"

namespace debias {
namespace {

constexpr std::array<std::pair<DType, at::ScalarType>, 10> kTypes = {{{DType::kBool, at::kBool},
                                                                      {DType::kUInt8, at::kByte},
                                                                      {DType::kInt8, at::kChar},
                                                                      {DType::kInt16, at::kShort},
                                                                      {DType::kInt32, at::kInt},
                                                                      {DType::kInt64, at::kLong},
                                                                      {DType::kFloat16, at::kHalf},
                                                                      {DType::kBFloat16, at::kBFloat16},
                                                                      {DType::kFloat32, at::kFloat},
                                                                      {DType::kFloat64, at::kDouble}}};

at::ScalarType scalar_type(const TensorEntry& entry) {
  for (const auto& [known, type] : kTypes) {
    if (known == entry.dtype) return type;
  }
  throw data_error("tensor '{}' holds {}, which weights are not stored in; convert it to a signed or a floating-point type", entry.name,
                   name_of(entry.dtype));
}

void collect(const torch::nn::Module& module, const std::string& prefix, std::vector<std::pair<std::string, torch::Tensor>>& state) {
  for (const auto& parameter : module.named_parameters(/*recurse=*/false)) state.emplace_back(prefix + parameter.key(), parameter.value());
  for (const auto& buffer : module.named_buffers(/*recurse=*/false)) state.emplace_back(prefix + buffer.key(), buffer.value());
  for (const auto& child : module.named_children()) collect(*child.value(), prefix + child.key() + ".", state);
}

std::string described(DType dtype, c10::ArrayRef<int64_t> shape) {
  return fmt::format("{} [{}]", name_of(dtype), fmt::join(shape.begin(), shape.end(), ", "));
}

// The file's keys that begin with `prefix`, but for those that `ignored` names (without the prefix), are exactly the module's.
void load_exactly(torch::nn::Module& module, const SafetensorsFile& file, const std::string& prefix,
                  const std::function<bool(const std::string&)>& ignored) {
  const auto state = named_state(module, prefix);
  std::set<std::string> expected;
  for (const auto& [key, tensor] : state) {
    const TensorEntry* entry = file.find(key);
    if (entry == nullptr) throw data_error("{}: key '{}' is missing; give the file of a model of this kind", file.path(), key);
    if (entry->dtype != dtype_of(tensor) || tensor.sizes() != entry->shape) {
      throw data_error("{}: key '{}': expected {}, found {}; choose the options that the file was made with", file.path(), key,
                       described(dtype_of(tensor), tensor.sizes()), described(entry->dtype, entry->shape));
    }
    expected.insert(key);
  }
  for (const auto& entry : file.tensors()) {
    if (!entry.name.starts_with(prefix) || expected.contains(entry.name) || ignored(entry.name.substr(prefix.size()))) continue;
    throw data_error("{}: key '{}' is unexpected; choose the options that the file was made with", file.path(), entry.name);
  }

  std::vector<torch::Tensor> values;
  for (const auto& [key, tensor] : state) values.push_back(read_tensor(file, *file.find(key)));
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < state.size(); ++i) torch::Tensor(state[i].second).copy_(values[i]);
}

}  // namespace

std::vector<std::pair<std::string, torch::Tensor>> named_state(const torch::nn::Module& module, const std::string& prefix) {
  std::vector<std::pair<std::string, torch::Tensor>> state;
  collect(module, prefix, state);
  return state;
}

DType dtype_of(const torch::Tensor& tensor) {
  for (const auto& [dtype, type] : kTypes) {
    if (type == tensor.scalar_type()) return dtype;
  }
  throw data_error("a tensor of type {} cannot be stored; convert it to a real type", c10::toString(tensor.scalar_type()));
}

TensorBytes bytes_of(const std::string& name, const torch::Tensor& tensor) {
  if (!tensor.is_cpu() || !tensor.is_contiguous()) throw std::logic_error("bytes_of: tensor '" + name + "' is not contiguous on the CPU");
  return {name, dtype_of(tensor), tensor.sizes().vec(), tensor.const_data_ptr()};
}

torch::Tensor read_tensor(const SafetensorsFile& file, const TensorEntry& entry) {
  torch::Tensor tensor = at::empty(entry.shape, at::TensorOptions(scalar_type(entry)));
  file.read(entry, tensor.mutable_data_ptr());
  return tensor;
}

void load_state(torch::nn::Module& module, const SafetensorsFile& file, const std::string& prefix) {
  load_exactly(module, file, prefix, [](const std::string&) { return false; });
}

void import_weights(torch::nn::Module& encoder, const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  std::string prefix;
  for (const auto& entry : file.tensors()) {
    if (entry.name.starts_with("encoder.")) prefix = "encoder.";
  }
  load_exactly(encoder, file, prefix, [](const std::string& key) { return key.starts_with("fc."); });
}

}  // namespace debias
