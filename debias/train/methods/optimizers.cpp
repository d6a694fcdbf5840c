#include "debias/train/methods/optimizers.h"

#include <iterator>

#include "debias/core/error.h"
#include "debias/encoders/backbone_options.h"
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

void leave_out_frozen(std::vector<OptimizedParameter>& parameters) {
  std::erase_if(parameters, [](const OptimizedParameter& parameter) { return !parameter.tensor.requires_grad(); });
}

// An encoder that is frozen at first has to train later.
void require_released(const BackboneOptions& options, const Recipe& recipe) {
  if (options.freeze_epochs == 0) return;
  const std::string& where = recipe.encoder.where;
  if (options.freeze.kind == Freeze::Kind::kAll) {
    throw usage_error("{}encoder: freeze: all leaves nothing to train after freeze_epochs: {}; leave out one of the two", where,
                      options.freeze_epochs);
  }
  if (options.freeze_epochs < recipe.train.epochs) return;
  throw usage_error("{}encoder: freeze_epochs: {} of {} epochs: the encoder would never train; lower it, or write freeze: all", where,
                    options.freeze_epochs, recipe.train.epochs);
}

// Parameters of an encoder made with these options that are not frozen, at their rates.
std::vector<OptimizedParameter> encoder_parameters(const BackboneOptions& options, const Encoder& encoder) {
  std::vector<OptimizedParameter> all = optimized_parameters(encoder);
  std::vector<std::string> names;
  for (const auto& parameter : all) names.push_back(parameter.name);
  const std::vector<double> rates = rate_factors(encoder, names, options.learning_rate, options.layer_decay);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].name = "encoder." + all[i].name;
    all[i].rate = rates[i];
  }
  leave_out_frozen(all);
  return all;
}

std::vector<OptimizedParameter> side_parameters(const SideNetwork& network) {
  std::vector<OptimizedParameter> all = optimized_parameters(*network.module);
  if (network.encoder != nullptr) {
    std::erase_if(all, [](const OptimizedParameter& parameter) { return parameter.name.starts_with("encoder."); });
    std::vector<OptimizedParameter> own = encoder_parameters(network.chosen_encoder.backbone, *network.encoder);
    all.insert(all.begin(), std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  }
  leave_out_frozen(all);
  for (auto& parameter : all) parameter.name = network.name + "." + parameter.name;
  return all;
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
  require_released(recipe.encoder.backbone, recipe);
  std::vector<OptimizedParameter> network = encoder_parameters(recipe.encoder.backbone, *model.encoder);
  const size_t of_encoder = network.size();
  const auto add = [&network](std::vector<OptimizedParameter> more) {
    network.insert(network.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  add(optimized_parameters(*model.head, "head."));
  if (model.predictor != nullptr) add(optimized_parameters(*model.predictor, "predictor."));
  if (model.classifier != nullptr) {
    std::vector<OptimizedParameter> own = optimized_parameters(*model.classifier->linear(), "classifier.");
    if (const auto rate = model.classifier->own_learning_rate()) {
      optimizers.classifier = adam_optimizer(*rate).make(std::move(own));
    } else {
      add(std::move(own));
    }
  }
  for (const auto& beside : model.side) add(side_parameters(beside));
  if (network.empty() && optimizers.classifier == nullptr) {
    throw usage_error("{}encoder: everything is frozen and there is neither a head nor a classifier to train; add one, or freeze less",
                      recipe.encoder.where);
  }
  if (const int64_t epochs = recipe.encoder.backbone.freeze_epochs;
      epochs > 0 && network.size() == of_encoder && optimizers.classifier == nullptr) {
    throw usage_error("{}encoder: freeze_epochs: {}: there is neither a head nor a classifier to train in them; add one, or leave it out",
                      recipe.encoder.where, epochs);
  }
  optimizers.network = recipe.optimizer.make(std::move(network));
  return optimizers;
}

}  // namespace debias
