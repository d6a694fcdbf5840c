#include "debias/runs/run_prior.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "debias/evaluate/protocols/chosen_images.h"
#include "debias/evaluate/protocols/view_pairs.h"
#include "debias/train/methods/method.h"
#include "debias/train/methods/sampling.h"

namespace debias {

std::optional<PriorEstimate> prior_by_labels(const Dataset& train, const Recipe& recipe) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < train.size(); ++i) labels.push_back(train.label(i));
  const auto known = std::count_if(labels.begin(), labels.end(), [](int64_t label) { return label != kUnknown; });
  if (known < 2) return std::nullopt;
  PriorEstimate estimate = class_prior_from_labels(labels);
  if (!recipe.sampler || recipe.sampler->draws == Draws::kOnceEach) return estimate;
  estimate.method = PriorMethod::kDraws;
  estimate.tau_plus = estimate.low = estimate.high = drawn_class_prior(recipe, train, method_of(recipe).negatives(recipe));
  return estimate;
}

PriorEstimate prior_by_views(const EvaluationInput& input, int64_t images, Progress& progress) {
  const std::vector<int64_t> chosen = chosen_images(input.train->size(), images, input.seed);
  return class_prior_from_views(view_pair_features(input, input.train, "train", chosen, input.seed, progress));
}

}  // namespace debias
