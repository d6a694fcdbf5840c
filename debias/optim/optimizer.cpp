#include "debias/optim/optimizer.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/instancenorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/rnn.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <typeinfo>

#include "debias/core/error.h"
#include "debias/optim/optimizer_entry.h"

namespace debias {
namespace {

namespace nn = torch::nn;

// A rule has nothing but arithmetic on tensors, whose failures are c10::Error; torch reports a scalar that does not fit into a tensor's type,
// and that alone, as a plain std::runtime_error (c10/util/TypeCast.h).
bool is_overflow(const std::runtime_error& error) { return typeid(error) == typeid(std::runtime_error); }

// As torch.nn.utils.clip_grad_norm_, whose C++ version reads the norm out of a device.
at::Tensor factor(const at::Tensor& norms, double largest) { return (largest / (norms + 1e-6)).clamp_max(1); }

void clip(const std::vector<OptimizedParameter>& parameters, const Clipping& clipping) {
  if (!clipping.norm && !clipping.norm_per_tensor) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> all;
  for (const auto& parameter : parameters) {
    if (parameter.tensor.grad().defined()) all.push_back(parameter.tensor.grad());
  }
  if (all.empty()) return;
  const auto norms = [&all] { return at::stack(at::_foreach_norm(all)); };
  if (clipping.norm_per_tensor) at::_foreach_mul_(all, factor(norms(), *clipping.norm_per_tensor).unbind());
  if (clipping.norm) at::_foreach_mul_(all, factor(norms().norm(), *clipping.norm));
}

}  // namespace

const std::vector<OptimizerEntry>& optimizer_registry() {
  static const std::vector<OptimizerEntry> registry = {adam_entry(), adamw_entry(), lars_entry(), sgd_entry()};
  return registry;
}

bool holds(const ParameterSets& sets, ParameterKind kind) {
  return std::any_of(sets.begin(), sets.end(), [kind](ParameterSet set) {
    if (kind == ParameterKind::kNormBias) return true;
    return kind == (set == ParameterSet::kNorm ? ParameterKind::kNormWeight : ParameterKind::kBias);
  });
}

Optimizer::Optimizer(std::unique_ptr<torch::optim::Optimizer> rule, std::vector<OptimizedParameter> parameters, Clipping clipping,
                     StateFormat format)
    : rule_(std::move(rule)), parameters_(std::move(parameters)), clipping_(clipping), format_(format) {
  std::map<const void*, double> rates;
  for (const auto& parameter : parameters_) rates[parameter.tensor.unsafeGetTensorImpl()] = parameter.rate;
  for (auto& group : rule_->param_groups()) {
    factors_.push_back(group.params().empty() ? 1 : rates.at(group.params().front().unsafeGetTensorImpl()));
    group.options().set_lr(group.options().get_lr() * factors_.back());
  }
}

void Optimizer::set_learning_rate(double learning_rate) {
  auto& groups = rule_->param_groups();
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(learning_rate * factors_[i]);
}

void Optimizer::step() {
  clip(parameters_, clipping_);
  try {
    rule_->step();
  } catch (const std::runtime_error& error) {
    if (!is_overflow(error)) throw;
    throw numeric_error("the optimizer's step does not fit into a 32-bit number; lower the learning rate or the weight decay");
  }
}

ChosenOptimizer read_optimizer(const Config& section) { return named_or_first(optimizer_registry(), section, "optimizer").read(section); }

void set_learning_rate(Optimizer& optimizer, double learning_rate) { optimizer.set_learning_rate(learning_rate); }

namespace {

template <class... Types>
struct Layers {
  static bool hold(const nn::Module& module) { return ((module.as<Types>() != nullptr) || ...); }
  static bool have_bias(const nn::Module& module, const torch::Tensor& parameter) {
    const auto is_bias_of = [&](const auto* layer) { return layer != nullptr && layer->bias.is_same(parameter); };
    return (is_bias_of(module.as<Types>()) || ...);
  }
};
using Norms = Layers<nn::BatchNorm1dImpl, nn::BatchNorm2dImpl, nn::BatchNorm3dImpl, nn::InstanceNorm1dImpl, nn::InstanceNorm2dImpl,
                     nn::InstanceNorm3dImpl, nn::GroupNormImpl, nn::LayerNormImpl>;
using Products = Layers<nn::LinearImpl, nn::BilinearImpl, nn::Conv1dImpl, nn::Conv2dImpl, nn::Conv3dImpl, nn::ConvTranspose1dImpl,
                        nn::ConvTranspose2dImpl, nn::ConvTranspose3dImpl>;
using Recurrent = Layers<nn::RNNImpl, nn::LSTMImpl, nn::GRUImpl>;

// Kinds of our own recurrent layers, which are named as torch's: bias_ih_l0.
bool is_recurrent_bias(const std::string& name, const torch::Tensor& parameter) {
  return name.starts_with("bias_") && parameter.dim() == 1;
}

ParameterKind kind_of(const nn::Module& module, const std::string& name, const torch::Tensor& parameter) {
  if (Norms::hold(module)) return Norms::have_bias(module, parameter) ? ParameterKind::kNormBias : ParameterKind::kNormWeight;
  const bool vector_beside_matrices = Recurrent::hold(module) && parameter.dim() == 1;
  return vector_beside_matrices || is_recurrent_bias(name, parameter) || Products::have_bias(module, parameter) ? ParameterKind::kBias
                                                                                                                : ParameterKind::kWeight;
}

}  // namespace

std::vector<OptimizedParameter> optimized_parameters(const torch::nn::Module& module, const std::string& prefix) {
  std::vector<OptimizedParameter> all;
  module.apply([&](const std::string& path, const nn::Module& part) {
    for (const auto& own : part.named_parameters(/*recurse=*/false)) {
      all.push_back({prefix + path + (path.empty() ? "" : ".") + own.key(), own.value(), kind_of(part, own.key(), own.value())});
    }
  });
  return all;
}

namespace {

using torch::optim::OptimizerParamState;
using torch::optim::SGDParamState;
using StateMap = std::map<std::string, torch::Tensor>;

bool any_under(const StateMap& state, const std::string& prefix) {
  const auto found = state.lower_bound(prefix);
  return found != state.end() && found->first.starts_with(prefix);
}

}  // namespace

torch::Tensor StateReader::take(const std::string& name, c10::ArrayRef<int64_t> shape, at::ScalarType type) {
  const auto found = state_.find(prefix_ + name);
  if (found == state_.end()) {
    throw data_error("optimizer state: tensor '{}{}' of parameter '{}' is missing; the checkpoint is of another optimizer", prefix_, name,
                     parameter_.name);
  }
  const torch::Tensor tensor = found->second;
  if (tensor.sizes() != shape || tensor.scalar_type() != type) {
    throw data_error(
        "optimizer state: tensor '{}{}' of parameter '{}': expected {} [{}], found {} [{}]; the checkpoint is of another model", prefix_,
        name, parameter_.name, c10::toString(type), fmt::join(shape.begin(), shape.end(), ", "), c10::toString(tensor.scalar_type()),
        fmt::join(tensor.sizes().begin(), tensor.sizes().end(), ", "));
  }
  state_.erase(found);
  return tensor;
}

torch::Tensor StateReader::take(const std::string& name) {
  const torch::Tensor& parameter = parameter_.tensor;
  const at::NoGradGuard no_grad;
  return at::empty_like(parameter).copy_(take(name, parameter.sizes(), parameter.scalar_type()));
}

int64_t StateReader::take_count(const std::string& name) {
  const auto count = take(name, {}, at::kLong).item<int64_t>();
  if (count < 1) throw data_error("optimizer state: tensor '{}{}': expected at least 1, found {}", prefix_, name, count);
  return count;
}

StateFormat momentum_format() {
  const auto write = [](const OptimizerParamState& state) -> NamedTensors {
    return {{"momentum_buffer", static_cast<const SGDParamState&>(state).momentum_buffer()}};
  };
  const auto read = [](StateReader& reader) -> std::unique_ptr<OptimizerParamState> {
    auto state = std::make_unique<SGDParamState>();
    state->momentum_buffer(reader.take("momentum_buffer"));
    return state;
  };
  return {write, read};
}

NamedTensors optimizer_state(const Optimizer& optimizer) {
  NamedTensors result;
  const auto& parameters = optimizer.parameters();
  const auto& states = optimizer.rule().state();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto found = states.find(parameters[i].tensor.unsafeGetTensorImpl());
    if (found == states.end()) continue;
    for (auto& [name, tensor] : optimizer.state_format().write(*found->second)) {
      result.emplace_back(fmt::format("{}.{}", i, name), std::move(tensor));
    }
  }
  return result;
}

void load_optimizer_state(Optimizer& optimizer, const NamedTensors& state) {
  StateMap remaining;
  for (const auto& [name, tensor] : state) {
    if (!remaining.emplace(name, tensor).second) throw data_error("optimizer state: tensor '{}' is given twice", name);
  }
  ska::flat_hash_map<void*, std::unique_ptr<OptimizerParamState>> loaded;
  const auto& parameters = optimizer.parameters();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string prefix = fmt::format("{}.", i);
    if (!any_under(remaining, prefix)) continue;  // a parameter that never had a gradient
    StateReader reader(remaining, prefix, parameters[i]);
    loaded[parameters[i].tensor.unsafeGetTensorImpl()] = optimizer.state_format().read(reader);
  }
  if (!remaining.empty()) {
    throw data_error("optimizer state: tensor '{}' is unexpected; the checkpoint is of another optimizer or model",
                     remaining.begin()->first);
  }
  optimizer.rule().state() = std::move(loaded);
}

}  // namespace debias
