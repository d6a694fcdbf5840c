#include "debias/evaluate/protocols/geometry.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "debias/core/error.h"
#include "debias/evaluate/protocols/bias_probe.h"
#include "debias/evaluate/protocols/chosen_images.h"
#include "debias/evaluate/protocols/geometry_metrics.h"
#include "debias/evaluate/protocols/view_pairs.h"

namespace debias {
namespace {

void evaluate_bias(const BiasProbe& probe, const std::string& split, const Features& features, EvaluationResult& result) {
  const BiasReading reading = read_bias(probe, features);
  if (reading.known == 0) {
    result.notes.push_back(fmt::format("geometry: {}: no bias labels, so no bias_probe_acc1", split));
    return;
  }
  result.metrics[split + ".bias_probe_acc1"] = reading.accuracy;
  result.metrics[split + ".bias_majority_rate"] = reading.majority_rate;
  result.metrics[split + ".bias_uniform_rate"] = reading.uniform_rate;
}

}  // namespace

std::vector<Metric> geometry_metrics() {
  const std::vector<std::string> guesses = {"bias_majority_rate", "bias_uniform_rate"};
  return {{"bias_probe_acc1", "bias probe accuracy", Unit::kShare, Better::kNeither, Standing::kFeatures, guesses},
          {"bias_majority_rate", "share of the most frequent bias label", Unit::kShare, Better::kNeither, Standing::kFeatures},
          {"bias_uniform_rate", "1 / number of bias labels", Unit::kShare, Better::kNeither, Standing::kFeatures},
          {"alignment", "alignment", Unit::kNumber, Better::kNeither, Standing::kFeatures},
          {"uniformity", "uniformity", Unit::kNumber, Better::kNeither, Standing::kFeatures},
          {"rankme", "RankMe", Unit::kNumber, Better::kNeither, Standing::kFeatures},
          {"std_of_l2_normalized", "standard deviation of normalised features", Unit::kNumber, Better::kNeither, Standing::kFeatures}};
}

EvaluationResult run_geometry(const EvaluationInput& input, EvaluationCache& cache, const GeometryOptions& given, Progress& progress) {
  GeometryOptions options = given;
  options.seed = options.seed.value_or(static_cast<int64_t>(input.seed));
  const auto seed = static_cast<uint64_t>(*options.seed);
  std::optional<BiasProbe> probe;
  EvaluationResult result;
  if (options.bias_probe) {
    bool biased = false;
    for (int64_t i = 0; i < input.train->size(); ++i) biased = biased || input.train->bias(i) != kUnknown;
    if (biased) probe = fit_bias_probe(cache.train(), options.probe_iterations, progress);
    if (probe && !probe->fit.converged) {
      result.notes.push_back(
          fmt::format("geometry: the bias probe has not converged in {} iterations (largest gradient {:.1e}); raise probe_iterations",
                      probe->fit.iterations, probe->fit.gradient));
    }
    if (!probe) result.notes.push_back("geometry: the training set has fewer than two bias labels, so no bias_probe_acc1");
  }
  std::map<std::string, std::map<std::string, SimilarityHistogram>> similarity;
  for (const auto& evaluated : evaluated_splits(input)) {
    const Features& features = cache.split(evaluated.name);
    const std::vector<int64_t> images = chosen_images(features.values.size(0), options.samples, seed);
    const at::Tensor rows = features.values.index_select(0, at::tensor(images, at::kLong));
    const PairGeometry pairs = pair_geometry(rows, at_places(features.labels, images), at_places(features.biases, images), options.bins);
    if (input.encoder != nullptr) {
      const at::Tensor views = view_pair_features(input, evaluated.dataset, evaluated.name, images, seed, progress);
      result.metrics[evaluated.name + ".alignment"] = alignment(views.select(1, 0), views.select(1, 1));
    }
    result.metrics[evaluated.name + ".uniformity"] = pairs.uniformity;
    result.metrics[evaluated.name + ".rankme"] = rankme(rows);
    result.metrics[evaluated.name + ".std_of_l2_normalized"] = std_of_l2_normalized(rows);
    if (probe) evaluate_bias(*probe, evaluated.name, features, result);
    similarity[evaluated.name] = pairs.distributions;
  }
  const auto classes = static_cast<int64_t>(input.train->info().class_names.size());
  result.record = describe("geometry", input, result.metrics, config_of(options), classes);
  result.record.similarity = std::move(similarity);
  if (probe) {
    const LogisticFit& fit = probe->fit;
    result.record.bias_probe = {std::ssize(probe->values), fit.converged, fit.iterations, fit.gradient, fit.objective};
  }
  result.record.notes = result.notes;
  return result;
}

}  // namespace debias
