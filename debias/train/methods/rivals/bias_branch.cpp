#include "debias/train/methods/rivals/bias_branch.h"

#include <stdexcept>

#include "debias/core/error.h"
#include "debias/encoders/initialise.h"
#include "debias/train/methods/rivals/classification.h"

namespace debias {

void require_bias_branch(const Recipe& recipe, const SampleTable& dataset, const char* method, BiasBranch branch) {
  if (branch == BiasBranch::kNetwork) return require_bias_encoder(recipe, method);
  if (recipe.method.bias_encoder) {
    throw usage_error("{}method '{}' reads bias labels and has no use for a bias_encoder; leave it out, or write bias: network",
                      recipe.method.where, method);
  }
  require_bias_labels(recipe, dataset, method);
}

SideNetwork side_linear(const Recipe& recipe, const std::string& name, int64_t inputs, int64_t outputs, bool trained) {
  const auto layer = std::make_shared<torch::nn::LinearImpl>(inputs, outputs);
  initialise(*layer, side_seed(recipe.seed, name), InitStream::kClassifier);
  for (auto& parameter : layer->parameters()) parameter.requires_grad_(trained);
  return {name, layer};
}

torch::nn::LinearImpl& side_linear_of(const Model& model, const std::string& name) {
  for (const auto& network : model.side) {
    if (network.name == name) return dynamic_cast<torch::nn::LinearImpl&>(*network.module);
  }
  throw std::logic_error("no layer '" + name + "' beside the evaluated network");
}

}  // namespace debias
