#include "debias/encoders/state.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <stdexcept>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/recipe_keys.h"
#include "debias/encoders/encoder.h"

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
  throw data_error("tensor '{}' has type {}, in which weights are not stored; convert it to a signed or a floating-point type", entry.name,
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

// Source of a module's state, in a file whose keys begin with `prefix`.
struct Source {
  const SafetensorsFile& file;
  std::string prefix;
  std::function<std::string(const std::string&)> key_of;  // of one of the module's names
  std::function<bool(const std::string&)> ignored;        // of the file's keys, without the prefix
  bool exact = true;                                      // types and counters of batches, too
  std::string remedy = "choose the options that the file was made with";
};

bool is_counter(const std::string& name) { return name.ends_with("num_batches_tracked"); }

bool fits(const TensorEntry& entry, const torch::Tensor& tensor, bool exact) {
  if (tensor.sizes() != entry.shape) return false;
  if (entry.dtype == dtype_of(tensor)) return true;
  return !exact && tensor.is_floating_point() && at::isFloatingType(scalar_type(entry));
}

// Null: a counter that the file may lack.
const TensorEntry* entry_for(const Source& source, const std::string& name, const torch::Tensor& tensor) {
  const std::string key = source.prefix + source.key_of(name);
  const TensorEntry* entry = source.file.find(key);
  if (entry == nullptr && !source.exact && is_counter(name)) return nullptr;
  if (entry == nullptr) throw data_error("{}: key '{}' is missing; give the file of a model of this kind", source.file.path(), key);
  if (fits(*entry, tensor, source.exact)) return entry;
  throw data_error("{}: key '{}': expected {}, found {}; {}", source.file.path(), key, described(dtype_of(tensor), tensor.sizes()),
                   described(entry->dtype, entry->shape), source.remedy);
}

torch::Tensor value_for(const Source& source, const TensorEntry* entry, const torch::Tensor& tensor) {
  if (entry == nullptr) return at::zeros_like(tensor);
  torch::Tensor value = read_tensor(source.file, *entry).to(tensor.scalar_type());
  if (source.exact || !value.is_floating_point() || at::isfinite(value).all().item<bool>()) return value;
  throw data_error("{}: key '{}' has values that are not finite; take another copy of the file", source.file.path(), entry->name);
}

// The file's keys that begin with the prefix, but for the ignored ones, are exactly the module's.
void load_exactly(torch::nn::Module& module, const Source& source) {
  const auto state = named_state(module);
  std::set<std::string> expected;
  std::vector<const TensorEntry*> entries;
  for (const auto& [name, tensor] : state) {
    entries.push_back(entry_for(source, name, tensor));
    if (entries.back() != nullptr) expected.insert(entries.back()->name);
  }
  for (const auto& entry : source.file.tensors()) {
    if (!entry.name.starts_with(source.prefix) || expected.contains(entry.name)) continue;
    if (source.ignored(entry.name.substr(source.prefix.size()))) continue;
    throw data_error("{}: key '{}' is unexpected; {}", source.file.path(), entry.name, source.remedy);
  }
  std::vector<torch::Tensor> values;
  for (size_t i = 0; i < state.size(); ++i) values.push_back(value_for(source, entries[i], state[i].second));
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < state.size(); ++i) torch::Tensor(state[i].second).copy_(values[i]);
}

constexpr std::array<const char*, 3> kPrefixes = {"", "encoder.", "module."};

struct FoundLayout {
  WeightLayout layout;
  std::string prefix;
};

std::optional<FoundLayout> layout_in(const SafetensorsFile& file, const Encoder& encoder) {
  const auto state = named_state(encoder);
  for (const char* prefix : kPrefixes) {
    for (WeightLayout& layout : encoder.weight_layouts()) {
      const auto is_there = [&](const auto& entry) { return file.find(prefix + layout.key(entry.first)) != nullptr; };
      if (is_there(state.front()) || is_there(state[state.size() / 2])) return FoundLayout{std::move(layout), prefix};
    }
  }
  return std::nullopt;
}

std::string in_one_line(const Config& section) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : flattened(section)) parts.push_back(fmt::format("{}: {}", key, value));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

[[noreturn]] void refuse_keys(const SafetensorsFile& file, const Encoder& encoder) {
  const std::string name = encoder.registry_name();
  if (const auto section = section_of_weights(file)) {
    throw data_error("{}: its keys are not those of encoder '{}' but of {}", file.path(), name, in_one_line(*section));
  }
  std::vector<std::string> origins;
  for (const WeightLayout& layout : encoder.weight_layouts()) origins.push_back(layout.origin);
  throw data_error("{}: its keys ('{}', ...) are not those of encoder '{}' ({}); give the file of such a model", file.path(),
                   file.tensors().empty() ? "none" : file.tensors().front().name, name, fmt::join(origins, ", "));
}

std::string remedy_for(const SafetensorsFile& file) {
  const auto section = section_of_weights(file);
  return section ? fmt::format("the file is of {}", in_one_line(*section)) : Source{file, "", {}, {}}.remedy;
}

SafetensorsFile open_weights(const std::string& path) {
  const ForeignFile foreign = foreign_file(InputFile(path));
  if (!foreign.what.empty())
    throw data_error("{}: it is {}, and weights are read from safetensors; {}", path, foreign.what, foreign.advice);
  return SafetensorsFile::open(path);
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
  const auto own = [](const std::string& name) { return name; };
  load_exactly(module, {file, prefix, own, [](const std::string&) { return false; }});
}

void import_weights(Encoder& encoder, const std::string& path) {
  const SafetensorsFile file = open_weights(path);
  const std::optional<FoundLayout> found = layout_in(file, encoder);
  if (!found) refuse_keys(file, encoder);
  const WeightLayout& layout = found->layout;
  if (layout.has_needed && !layout.has_needed()) {
    throw usage_error("{}: its keys are those of {}, whose networks compute otherwise; add {} to the encoder", path, layout.origin,
                      layout.needs);
  }
  const auto ignored = [&](const std::string& key) {
    return std::any_of(layout.ignored.begin(), layout.ignored.end(), [&](const std::string& start) { return key.starts_with(start); });
  };
  const auto key_of = [&](const std::string& name) { return layout.key(name); };
  load_exactly(encoder, {file, found->prefix, key_of, ignored, /*exact=*/false, remedy_for(file)});
}

std::optional<Config> section_of_weights(const SafetensorsFile& file) {
  for (const std::string prefix : kPrefixes) {
    WeightShapes shapes;
    for (const auto& entry : file.tensors()) {
      if (entry.name.starts_with(prefix)) shapes[entry.name.substr(prefix.size())] = entry.shape;
    }
    for (const auto& entry : encoder_registry()) {
      if (!entry.section_of) continue;
      if (auto section = entry.section_of(shapes)) return section;
    }
  }
  return std::nullopt;
}

}  // namespace debias
