#include "debias/train/classifier.h"

#include <ATen/ATen.h>

#include "debias/encoders/initialise.h"
#include "debias/runtime/unit_rows.h"

namespace debias {

Classifier::Classifier(const ClassifierOptions& options, int64_t feature_dim, int64_t classes, uint64_t seed)
    : options_(options), linear_(feature_dim, classes) {
  initialise(*linear_, seed, InitStream::kClassifier);
}

at::Tensor Classifier::logits(const at::Tensor& features) const {
  const at::Tensor rows = (flows() ? features : features.detach()).transpose(0, 1).flatten(0, 1).to(linear_->weight.device());
  return linear_->forward(*options_.normalize() ? unit_rows(rows) : rows);
}

}  // namespace debias
