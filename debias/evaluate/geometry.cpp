#include "debias/evaluate/geometry.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "debias/core/error.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/chosen_images.h"
#include "debias/evaluate/geometry_metrics.h"
#include "debias/evaluate/linear_probe.h"
#include "debias/evaluate/view_pairs.h"

namespace debias {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kProbeBatch = 512;

Json described(const PairGeometry& geometry) {
  const auto number = [](double value) { return std::isnan(value) ? Json() : Json(value); };
  Json json;
  for (const auto& [name, distribution] : geometry.distributions) {
    json[name] = {{"pairs", distribution.pairs},
                  {"mean", number(distribution.mean)},
                  {"std", number(distribution.std)},
                  {"histogram", distribution.histogram}};
  }
  return json;
}

struct BiasProbe {
  SoftmaxRegression model;
  int64_t majority = 0;  // the training set's most frequent bias value
};

// Empty where the training set has fewer than two bias values.
std::optional<BiasProbe> train_bias_probe(const Features& train, const GeometryOptions& options, uint64_t seed, Progress& progress) {
  Features features = train;
  features.labels = train.biases;
  int64_t values = 0;
  for (const int64_t bias : features.labels) values = std::max(values, bias + 1);
  std::vector<int64_t> counts(static_cast<size_t>(values));
  for (const int64_t bias : features.labels) {
    if (bias != kUnknown) ++counts[bias];
  }
  if (std::count_if(counts.begin(), counts.end(), [](int64_t count) { return count > 0; }) < 2) return std::nullopt;
  BiasProbe probe{SoftmaxRegression(features.values.size(1), values, seed),
                  std::max_element(counts.begin(), counts.end()) - counts.begin()};
  Config adam = Config::map({{"name", Config::string("adam")}});
  adam.set("learning_rate", Config::number(options.probe_learning_rate()));
  train_probe(probe.model, stored_batches(features, kProbeBatch, seed), {"bias probe", adam, Config(), options.probe_epochs()}, nullptr,
              progress);
  return probe;
}

void judge_bias(const BiasProbe& probe, const std::string& split, const Features& features, EvaluationResult& result) {
  const std::vector<int64_t> predicted = predicted_classes(probe.model.logits(features.values));
  int64_t known = 0, right = 0, majority = 0;
  for (size_t i = 0; i < predicted.size(); ++i) {
    if (features.biases[i] == kUnknown) continue;
    ++known;
    right += features.biases[i] == predicted[i];
    majority += features.biases[i] == probe.majority;
  }
  if (known == 0) {
    result.notes.push_back(fmt::format("geometry: {}: no bias values, so no bias_probe_acc1", split));
    return;
  }
  result.metrics[split + ".bias_probe_acc1"] = static_cast<double>(right) / static_cast<double>(known);
  result.metrics[split + ".bias_majority_rate"] = static_cast<double>(majority) / static_cast<double>(known);
}

}  // namespace

[[gnu::noinline]] GeometryOptions::GeometryOptions() = default;

const OptionTable<GeometryOptions>& GeometryOptions::table() {
  static const auto table =
      OptionTable<GeometryOptions>()
          .add("samples", &GeometryOptions::samples_, Range::closed(2, 1e6), "images of a split, at most; pairs are compared among them")
          .add("bins", &GeometryOptions::bins_, Range::closed(1, 1e5), "of the histograms of cosines, over [-1, 1]")
          .add("bias_probe", &GeometryOptions::bias_probe_, "train a linear classifier for the bias value")
          .add("probe_epochs", &GeometryOptions::probe_epochs_, Range::closed(1, 1e5), "passes of that classifier")
          .add("probe_learning_rate", &GeometryOptions::probe_learning_rate_, Range::closed(0, 1e6), "Adam's, of that classifier")
          .add("seed", &GeometryOptions::seed_, Range::at_least(0), "of the choice of images, their views and the probe; auto: the run's");
  return table;
}

EvaluationResult run_geometry(const EvaluationInput& input, EvaluationCache& cache, const Config& section, Progress& progress) {
  GeometryOptions options = GeometryOptions::table().read(section, "geometry");
  options.seed(options.seed().value_or(static_cast<int64_t>(input.seed)));
  const auto seed = static_cast<uint64_t>(*options.seed());
  std::optional<BiasProbe> probe;
  EvaluationResult result;
  if (options.bias_probe()) {
    bool biased = false;
    for (int64_t i = 0; i < input.train->size(); ++i) biased = biased || input.train->bias(i) != kUnknown;
    if (biased) probe = train_bias_probe(cache.train(), options, seed, progress);
    if (!probe) result.notes.push_back("geometry: the training set has fewer than two bias values, so no bias_probe_acc1");
  }
  Json similarity;
  for (const auto& judged : judged_splits(input)) {
    const Features& features = cache.split(judged.name);
    const std::vector<int64_t> images = chosen_images(features.values.size(0), options.samples(), seed);
    const at::Tensor rows = features.values.index_select(0, at::tensor(images, at::kLong));
    const PairGeometry pairs = pair_geometry(rows, at_places(features.labels, images), at_places(features.biases, images), options.bins());
    const at::Tensor views = view_pair_features(input, judged.dataset, judged.name, images, seed, progress);
    result.metrics[judged.name + ".alignment"] = alignment(views.select(1, 0), views.select(1, 1));
    result.metrics[judged.name + ".uniformity"] = pairs.uniformity;
    result.metrics[judged.name + ".rankme"] = rankme(rows);
    result.metrics[judged.name + ".std_of_l2_normalized"] = std_of_l2_normalized(rows);
    if (probe) judge_bias(*probe, judged.name, features, result);
    similarity[judged.name] = described(pairs);
  }
  const auto classes = static_cast<int64_t>(input.train->info().class_names.size());
  result.details = describe("geometry", input, result.metrics, GeometryOptions::table().write(options), classes);
  result.details["similarity"] = similarity;
  result.details["notes"] = result.notes;
  return result;
}

}  // namespace debias
