#include "debias/train/optimizers.h"

#include <iterator>

#include "debias/encoders/state.h"

namespace debias {
namespace {

constexpr const char* kNetworkPrefix = "optimizer.";
constexpr const char* kClassifierPrefix = "classifier_optimizer.";

void load_one(Optimizer& optimizer, const SafetensorsFile& file, const std::string& prefix) {
  NamedTensors state;
  for (const auto& entry : file.tensors()) {
    if (entry.name.starts_with(prefix)) state.emplace_back(entry.name.substr(prefix.size()), read_tensor(file, entry));
  }
  load_optimizer_state(optimizer, state);
}

}  // namespace

void Optimizers::zero_grad() const {
  network->zero_grad();
  if (classifier != nullptr) classifier->zero_grad();
}

void Optimizers::step() const {
  network->step();
  if (classifier != nullptr) classifier->step();
}

std::vector<std::pair<std::string, torch::Tensor>> Optimizers::state() const {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  for (auto& [name, tensor] : optimizer_state(*network)) all.emplace_back(kNetworkPrefix + name, tensor);
  if (classifier == nullptr) return all;
  for (auto& [name, tensor] : optimizer_state(*classifier)) all.emplace_back(kClassifierPrefix + name, tensor);
  return all;
}

void Optimizers::load(const SafetensorsFile& file) const {
  load_one(*network, file, kNetworkPrefix);
  if (classifier != nullptr) load_one(*classifier, file, kClassifierPrefix);
}

Optimizers make_optimizers(const Recipe& recipe, const Model& model) {
  Optimizers optimizers;
  std::vector<OptimizedParameter> network = optimized_parameters(*model.encoder, "encoder.");
  const auto add = [&network](std::vector<OptimizedParameter> more) {
    network.insert(network.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  add(optimized_parameters(*model.head, "head."));
  if (model.predictor != nullptr) add(optimized_parameters(*model.predictor, "predictor."));
  if (model.classifier != nullptr) {
    std::vector<OptimizedParameter> own = optimized_parameters(*model.classifier->linear(), "classifier.");
    if (const auto rate = model.classifier->own_learning_rate()) {
      optimizers.classifier =
          make_optimizer(Config::map({{"name", Config::string("adam")}, {"learning_rate", Config::number(*rate)}}), std::move(own));
    } else {
      add(std::move(own));
    }
  }
  optimizers.network = make_optimizer(recipe.optimizer, std::move(network));
  return optimizers;
}

}  // namespace debias
