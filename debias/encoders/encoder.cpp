#include "debias/encoders/encoder.h"

#include <algorithm>
#include <utility>

namespace debias {

bool EncoderStage::holds(const std::string& path) const {
  return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
    return path.starts_with(part) && (path.size() == part.size() || path[part.size()] == '.');
  });
}

std::vector<WeightLayout> Encoder::weight_layouts() const { return {{.origin = "torchvision"}}; }

void Encoder::freeze_stages(int64_t count) {
  const std::vector<EncoderStage> all = stages();
  const auto frozen = [&](const std::string& path) {
    return std::any_of(all.begin(), all.begin() + count, [&](const EncoderStage& stage) { return stage.holds(path); });
  };
  for (auto& parameter : named_parameters()) {
    if (frozen(parameter.key())) parameter.value().set_requires_grad(false);
  }
  for (const auto& module : named_modules("", /*include_self=*/false)) {
    if (frozen(module.key())) frozen_.push_back(module.value());
  }
  train(asked_);
}

void Encoder::freeze_all() {
  for (auto& parameter : parameters()) parameter.set_requires_grad(false);
  all_frozen_ = true;
  train(asked_);
}

void Encoder::hold(bool on) {
  if (on == held_) return;
  held_ = on;
  if (on) {
    for (const auto& parameter : parameters()) {
      if (parameter.requires_grad()) held_parameters_.push_back(parameter);
    }
  }
  for (auto& parameter : held_parameters_) parameter.set_requires_grad(!on);
  if (!on) held_parameters_.clear();
  train(asked_);
}

void Encoder::train(bool on) {
  asked_ = on;
  Module::train(on && !all_frozen_ && !held_);
  for (const auto& module : frozen_) module->train(false);
}

WeightLayout layout_of_modules(const std::string& origin, std::function<std::string(const std::string& module)> module_of,
                               std::vector<std::string> ignored) {
  WeightLayout layout;
  layout.origin = origin;
  layout.key_of = [module_of = std::move(module_of)](const std::string& name) {
    const size_t dot = name.rfind('.');
    return dot == std::string::npos ? module_of(name) : module_of(name.substr(0, dot)) + name.substr(dot);
  };
  layout.ignored = std::move(ignored);
  return layout;
}

}  // namespace debias
