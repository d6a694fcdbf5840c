#include "debias/evaluate/protocols/geometry.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>

#include "debias/core/error.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/protocols/chosen_images.h"

namespace debias {

std::optional<BiasProbe> fit_bias_probe(const Features& train, int64_t iterations, Progress& progress) {
  std::map<int64_t, int64_t> counts;
  std::vector<int64_t> rows;
  for (size_t i = 0; i < train.biases.size(); ++i) {
    if (train.biases[i] == kUnknown) continue;
    ++counts[train.biases[i]];
    rows.push_back(static_cast<int64_t>(i));
  }
  if (counts.size() < 2) return std::nullopt;
  BiasProbe probe;
  std::map<int64_t, int64_t> place;
  for (const auto& [value, count] : counts) {
    place[value] = std::ssize(probe.values);
    probe.values.push_back(value);
  }
  probe.majority = std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
  std::vector<int64_t> targets;
  for (const int64_t row : rows) targets.push_back(place[train.biases[static_cast<size_t>(row)]]);
  const bool all = rows.size() == train.biases.size();
  const at::Tensor x = all ? train.values : train.values.index_select(0, at::tensor(rows, at::kLong));
  probe.fit = fit_logistic_regression(x, targets, std::ssize(probe.values), {.iterations = iterations}, progress);
  return probe;
}

BiasReading read_bias(const BiasProbe& probe, const Features& features) {
  const std::vector<int64_t> predicted = predicted_classes(probe.fit.logits(features.values));
  BiasReading reading;
  int64_t right = 0, majority = 0;
  for (size_t i = 0; i < predicted.size(); ++i) {
    if (features.biases[i] == kUnknown) continue;
    ++reading.known;
    right += features.biases[i] == probe.values[static_cast<size_t>(predicted[i])];
    majority += features.biases[i] == probe.majority;
  }
  if (reading.known == 0) return reading;
  const auto known = static_cast<double>(reading.known);
  reading.accuracy = static_cast<double>(right) / known;
  reading.majority_rate = static_cast<double>(majority) / known;
  reading.uniform_rate = 1 / static_cast<double>(probe.values.size());
  return reading;
}

namespace {

constexpr int64_t kBlock = 256;
constexpr double kRankmeEpsilon = 1e-7;

enum Set { kPositiveAligned, kPositiveConflicting, kNegativeAligned, kNegativeConflicting, kSets };
constexpr std::array<const char*, kSets> kNames = {"positive_aligned", "positive_conflicting", "negative_aligned", "negative_conflicting"};

struct PairSums {
  std::array<std::vector<int64_t>, kSets> histogram;
  std::array<double, kSets> sum{}, squares{};
  double potential = 0;

  explicit PairSums(int64_t bins) {
    for (auto& h : histogram) h.assign(static_cast<size_t>(bins), 0);
  }
  void add(const PairSums& other) {
    for (int s = 0; s < kSets; ++s) {
      for (size_t b = 0; b < histogram[s].size(); ++b) histogram[s][b] += other.histogram[s][b];
      sum[s] += other.sum[s];
      squares[s] += other.squares[s];
    }
    potential += other.potential;
  }
};

void require_rows(const at::Tensor& rows, const char* who) {
  if (rows.dim() != 2 || rows.size(0) < 2) throw data_error("{}: {} rows; it needs at least two", who, rows.dim() == 2 ? rows.size(0) : 0);
}

}  // namespace

double alignment(const at::Tensor& first_views, const at::Tensor& second_views) {
  if (first_views.sizes() != second_views.sizes()) {
    throw data_error("alignment: {} first and {} second views; give two of each image", first_views.size(0), second_views.size(0));
  }
  const at::Tensor difference = (unit_rows(first_views, "alignment") - unit_rows(second_views, "alignment")).to(at::kDouble);
  return difference.square().sum(1).mean().item<double>();
}

double rankme(const at::Tensor& rows) {
  require_rows(rows, "rankme");
  if (!at::isfinite(rows).all().item<bool>()) throw numeric_error("rankme: a row is not finite; check the encoder's weights");
  const at::Tensor f = rows.to(at::kDouble);
  const at::Tensor gram = f.size(0) < f.size(1) ? at::mm(f, f.t()) : at::mm(f.t(), f);
  const at::Tensor s = at::linalg_eigvalsh(gram).clamp_min(0).sqrt();
  const at::Tensor p = s / s.sum().clamp_min(std::numeric_limits<double>::min()) + kRankmeEpsilon;
  return std::exp(-(p * p.log()).sum().item<double>());
}

double std_of_l2_normalized(const at::Tensor& rows) {
  require_rows(rows, "std_of_l2_normalized");
  return unit_rows(rows, "std_of_l2_normalized").to(at::kDouble).std(0).mean().item<double>();
}

PairGeometry pair_geometry(const at::Tensor& rows, const std::vector<int64_t>& labels, const std::vector<int64_t>& biases, int64_t bins) {
  require_rows(rows, "geometry");
  const at::Tensor z = unit_rows(rows, labels, "geometry");
  const int64_t N = z.size(0), blocks = (N + kBlock - 1) / kBlock;
  if (static_cast<int64_t>(biases.size()) != N)
    throw data_error("geometry: {} rows and {} bias labels; give one per row", N, biases.size());
  const bool biased = std::any_of(biases.begin(), biases.end(), [](int64_t bias) { return bias != kUnknown; });
  std::vector<PairSums> of_block(static_cast<size_t>(blocks), PairSums(bins));
  at::parallel_for(0, blocks, 1, [&](int64_t low, int64_t high) {
    for (int64_t block = low; block < high; ++block) {
      PairSums& sums = of_block[block];
      const int64_t begin = block * kBlock, count = std::min(kBlock, N - begin), width = N - begin;
      const at::Tensor cosines = at::mm(z.narrow(0, begin, count), z.narrow(0, begin, width).t()).contiguous();
      const float* row = cosines.const_data_ptr<float>();
      for (int64_t i = 0; i < count; ++i, row += width) {
        const int64_t label = labels[begin + i], bias = biases[begin + i];
        for (int64_t j = i + 1; j < width; ++j) {
          const double cosine = std::clamp(static_cast<double>(row[j]), -1.0, 1.0);
          sums.potential += std::exp(4 * cosine - 4);  // -2 |z - z'|^2 = -4 (1 - cos)
          const int64_t other = labels[begin + j], other_bias = biases[begin + j];
          if (label == kUnknown || other == kUnknown || (biased && (bias == kUnknown || other_bias == kUnknown))) continue;
          const int set = (label == other ? 0 : 2) + (bias == other_bias ? 0 : 1);
          const auto bin = static_cast<int64_t>((cosine + 1) / 2 * static_cast<double>(bins));
          ++sums.histogram[set][std::min(bin, bins - 1)];
          sums.sum[set] += cosine;
          sums.squares[set] += cosine * cosine;
        }
      }
    }
  });
  PairSums total(bins);
  for (const PairSums& sums : of_block) total.add(sums);
  PairGeometry result;
  const double pairs = static_cast<double>(N) * static_cast<double>(N - 1) / 2;
  result.uniformity = std::log(total.potential / pairs);
  for (int s = 0; s < kSets; ++s) {
    if (!biased && s % 2 == 1) continue;  // unknown bias labels are all alike
    SimilarityHistogram distribution{0, kNotKnown, kNotKnown, total.histogram[s]};
    for (const int64_t count : distribution.histogram) distribution.pairs += count;
    if (distribution.pairs > 0) {
      const auto n = static_cast<double>(distribution.pairs);
      distribution.mean = total.sum[s] / n;
      distribution.std = std::sqrt(std::max(0.0, total.squares[s] / n - distribution.mean * distribution.mean));
    }
    result.distributions[biased ? kNames[s] : s == kPositiveAligned ? "positive" : "negative"] = std::move(distribution);
  }
  return result;
}

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
