#include "debias/train/methods/model.h"

#include <ATen/ATen.h>

#include <functional>

#include "debias/encoders/initialise.h"
#include "debias/encoders/state.h"
#include "debias/runtime/device.h"
#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/method.h"

namespace debias {
namespace {

constexpr double kLeastSquaredNorm = 1e-24;  // of the weights of a class: the root has a gradient there

}  // namespace

Classifier::Classifier(const ClassifierOptions& options, int64_t feature_dim, int64_t classes, uint64_t seed)
    : options_(options), linear_(feature_dim, classes) {
  initialise(*linear_, seed, InitStream::kClassifier);
}

at::Tensor Classifier::rows_of(const at::Tensor& features) const {
  const at::Tensor rows = (flows() ? features : features.detach()).transpose(0, 1).flatten(0, 1).to(linear_->weight.device());
  return *options_.normalize ? unit_rows(rows) : rows;
}

at::Tensor Classifier::logits(const at::Tensor& features) const { return linear_->forward(rows_of(features)); }

at::Tensor Classifier::norms(const at::Tensor& features) const {
  const at::Tensor rows = (rows_of(features).square().sum(1, /*keepdim=*/true) + 1).sqrt();
  const at::Tensor weights = (linear_->weight.square().sum(1) + linear_->bias.square()).clamp_min(kLeastSquaredNorm).sqrt();
  return rows * weights;
}

std::vector<torch::Tensor> Model::parameters() const {
  std::vector<torch::Tensor> all = encoder->parameters();
  for (const auto& parameter : head->parameters()) all.push_back(parameter);
  if (predictor != nullptr) {
    for (const auto& parameter : predictor->parameters()) all.push_back(parameter);
  }
  for (const auto& network : side) {
    for (const auto& parameter : network.module->parameters()) all.push_back(parameter);
  }
  return all;
}

std::vector<std::pair<std::string, torch::Tensor>> Model::state() const {
  auto all = named_state(*encoder, "encoder.");
  for (auto& entry : named_state(*head, "head.")) all.push_back(std::move(entry));
  if (predictor != nullptr) {
    for (auto& entry : named_state(*predictor, "predictor.")) all.push_back(std::move(entry));
  }
  if (classifier != nullptr) {
    for (auto& entry : named_state(*classifier->linear(), "classifier.")) all.push_back(std::move(entry));
  }
  for (const auto& network : side) {
    for (auto& entry : named_state(*network.module, network.name + ".")) all.push_back(std::move(entry));
  }
  return all;
}

std::vector<std::pair<std::string, torch::Tensor>> Model::named_parameters() const {
  std::vector<std::pair<std::string, torch::Tensor>> all;
  for (const auto& item : encoder->named_parameters()) all.emplace_back("encoder." + item.key(), item.value());
  for (const auto& item : head->named_parameters()) all.emplace_back("head." + item.key(), item.value());
  if (predictor != nullptr) {
    for (const auto& item : predictor->named_parameters()) all.emplace_back("predictor." + item.key(), item.value());
  }
  if (classifier != nullptr && classifier->flows()) {
    for (const auto& item : classifier->linear()->named_parameters()) all.emplace_back("classifier." + item.key(), item.value());
  }
  for (const auto& network : side) {
    for (const auto& item : network.module->named_parameters()) all.emplace_back(network.name + "." + item.key(), item.value());
  }
  return all;
}

void Model::train(bool on) const {
  encoder->train(on);
  head->train(on);
  if (predictor != nullptr) predictor->train(on);
  for (const auto& network : side) network.module->train(on);
}

void Model::to(c10::Device device) const {
  encoder->to(device);
  head->to(device);
  if (predictor != nullptr) predictor->to(device);
  if (classifier != nullptr) classifier->linear()->to(device);
  for (const auto& network : side) network.module->to(device);
}

Model encoder_and_head(const Recipe& recipe, int64_t in_channels) {
  Model model;
  model.encoder = recipe.encoder.make(in_channels, recipe.seed);
  model.head = recipe.head.make(model.encoder->feature_dim(), recipe.seed);
  return model;
}

Model make_model(const Recipe& recipe, int64_t in_channels, int64_t classes) {
  Model model = method_of(recipe).networks(recipe, in_channels);
  const int64_t D = model.encoder->feature_dim();
  if (recipe.classifier && classes > 0) model.classifier = std::make_shared<Classifier>(*recipe.classifier, D, classes, recipe.seed);
  return model;
}

namespace {

// encode: from inputs on the device to features.
ModelOutput passed(const Model& model, const torch::Tensor& inputs, const ForwardOptions& options,
                   const std::function<torch::Tensor(const torch::Tensor& input)>& encode) {
  const int64_t V = inputs.size(0), B = inputs.size(1);
  std::vector<torch::Tensor> features, projections;
  const int64_t passes = options.order == Forward::kJoint ? 1 : V;
  for (int64_t pass = 0; pass < passes; ++pass) {
    const torch::Tensor input = options.order == Forward::kJoint ? inputs.flatten(0, 1) : inputs[pass];
    const Autocast autocast(options.device.type(), options.precision);
    const torch::Tensor feature = encode(input.to(options.device));
    features.push_back(feature);
    const torch::Tensor projection = model.head->forward(feature);
    projections.push_back(model.predictor == nullptr ? projection : model.predictor->forward(projection));
  }
  const auto stack = [&](const std::vector<torch::Tensor>& parts) {  // view-major rows to [B, V, D]
    return at::cat(parts, 0).to(at::kFloat).view({V, B, -1}).transpose(0, 1);
  };
  return {stack(features), stack(projections)};
}

}  // namespace

ModelOutput forward(const Model& model, const torch::Tensor& images, const ForwardOptions& options) {
  return passed(model, images, options, [&](const torch::Tensor& input) {
    return model.encoder->forward(options.channels_last ? input.contiguous(at::MemoryFormat::ChannelsLast) : input);
  });
}

ModelOutput forward_features(const Model& model, const torch::Tensor& features, const ForwardOptions& options) {
  return passed(model, features, options, [](const torch::Tensor& input) { return input; });
}

}  // namespace debias
