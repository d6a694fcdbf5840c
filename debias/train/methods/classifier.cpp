#include "debias/train/methods/classifier.h"

#include <ATen/ATen.h>

#include "debias/encoders/initialise.h"
#include "debias/runtime/unit_rows.h"

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

}  // namespace debias
