#include "debias/evaluate/protocols/tsne.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "debias/core/error.h"
#include "debias/evaluate/maps/neighbour_map.h"
#include "debias/evaluate/protocols/chosen_images.h"

namespace debias {
namespace {

constexpr double kUsualPerplexity = 30;
constexpr int64_t kFewestImages = 4;

// Six digits are more than a plot shows.
double shortened(double value) { return std::stod(fmt::format("{:.6g}", value)); }

struct SplitMap {
  std::vector<Point> points;
  double divergence = 0;
};

SplitMap map_of(const at::Tensor& features, double perplexity, const TsneOptions& options, const std::string& split, Progress& progress) {
  const at::Tensor rows = unit_rows(features, "tsne").contiguous();
  const int64_t neighbours = std::min(rows.size(0) - 1, static_cast<int64_t>(3 * perplexity));
  const Affinities affinities = joint_affinities(nearest_points(rows, neighbours), perplexity);
  progress.begin("map of " + split, options.iterations);
  SplitMap map;
  map.points = neighbour_map(affinities, principal_start(rows, static_cast<uint64_t>(*options.seed)), options.iterations,
                             [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  map.divergence = map_divergence(affinities, map.points);
  if (!std::isfinite(map.divergence)) throw numeric_error("tsne: the plot of {} is not finite; give another perplexity or seed", split);
  return map;
}

FeatureMap described(const SplitMap& map, const Features& features, const std::vector<int64_t>& images, const Dataset& dataset,
                     double perplexity) {
  FeatureMap shown;
  for (const int64_t image : images) shown.ids.push_back(dataset.id(features.indices[image]));
  for (const Point& point : map.points) shown.points.emplace_back(shortened(point.x), shortened(point.y));
  shown.labels = at_places(features.labels, images);
  std::vector<int64_t> biases = at_places(features.biases, images);
  if (std::any_of(biases.begin(), biases.end(), [](int64_t bias) { return bias != kUnknown; })) shown.biases = std::move(biases);
  shown.kl = map.divergence;
  shown.perplexity = perplexity;
  return shown;
}

}  // namespace

void TsneOptions::describe(OptionVisitor& o) {
  o("samples", samples, Range::closed(kFewestImages, 1e5), "maximum number of images of a split");
  o("perplexity", perplexity, Range{1, 1e4, true, false},
    "perplexity, roughly the number of neighbours of an image; auto: 30, or a third of the images");
  o("iterations", iterations, Range::closed(1, 1e6), "number of gradient-descent steps");
  o("seed", seed, Range::at_least(0), "seed of the choice of images and the initialisation; auto: the run's");
}

double resolve_perplexity(const TsneOptions& options, int64_t images, const std::string& split) {
  if (!options.perplexity) return std::min(kUsualPerplexity, static_cast<double>(images) / 3);
  if (*options.perplexity >= static_cast<double>(images - 1)) {
    throw usage_error("tsne: perplexity: {:g} for {} images of split '{}'; give less than {}", *options.perplexity, images, split,
                      images - 1);
  }
  return *options.perplexity;
}

std::vector<Metric> tsne_metrics() { return {{"tsne_kl", "t-SNE KL divergence", Unit::kNumber, Better::kNeither, Standing::kDetail}}; }

EvaluationResult run_tsne(const EvaluationInput& input, EvaluationCache& cache, const TsneOptions& given, Progress& progress) {
  TsneOptions options = given;
  options.seed = options.seed.value_or(static_cast<int64_t>(input.seed));
  const auto shown = [&](const EvaluatedSplit& evaluated) { return std::min(evaluated.dataset->size(), options.samples); };
  for (const auto& evaluated : evaluated_splits(input)) {
    if (shown(evaluated) < kFewestImages) {
      throw data_error("tsne: split '{}' of {} has {} images; a t-SNE plot needs at least {}", evaluated.dataset->info().split,
                       evaluated.dataset->info().name, shown(evaluated), kFewestImages);
    }
    resolve_perplexity(options, shown(evaluated), evaluated.name);
  }
  EvaluationResult result;
  std::map<std::string, FeatureMap> maps;
  for (const auto& evaluated : evaluated_splits(input)) {
    const Features& features = cache.split(evaluated.name);
    const std::vector<int64_t> images = chosen_images(features.values.size(0), options.samples, static_cast<uint64_t>(*options.seed));
    const double perplexity = resolve_perplexity(options, shown(evaluated), evaluated.name);
    const at::Tensor rows = features.values.index_select(0, at::tensor(images, at::kLong));
    const SplitMap map = map_of(rows, perplexity, options, evaluated.name, progress);
    result.metrics[evaluated.name + ".tsne_kl"] = map.divergence;
    maps[evaluated.name] = described(map, features, images, *evaluated.dataset, perplexity);
  }
  const auto classes = static_cast<int64_t>(input.train->info().class_names.size());
  result.record = describe("tsne", input, result.metrics, config_of(options), classes);
  result.record.maps = std::move(maps);
  return result;
}

}  // namespace debias
