#include "debias/evaluate/protocols/knn.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/row_mates.h"

namespace debias {
namespace {

constexpr int64_t kUsualNeighbours = 200;

// The rows that have a label, or all of them.
UnitRows scaled_rows(const at::Tensor& values, const std::vector<int64_t>* labels, const char* name) {
  const at::Tensor norms = at::linalg_vector_norm(values, 2, {1});
  if (!at::isfinite(norms).all().item<bool>()) throw numeric_error("knn: a row of the {} is not finite; check the encoder's weights", name);
  const float* norm = norms.const_data_ptr<float>();
  UnitRows unit{values.const_data_ptr<float>(), values.size(1), {}, {}};
  for (int64_t i = 0; i < values.size(0); ++i) {
    if (labels != nullptr && (*labels)[i] == kUnknown) continue;
    unit.rows.push_back(i);
    unit.scale.push_back(1 / std::max(norm[i], std::numeric_limits<float>::min()));
  }
  return unit;
}

void check_lengths(const char* name, const at::Tensor& rows, size_t labels) {
  if (rows.size(0) == static_cast<int64_t>(labels)) return;
  throw data_error("knn: {} rows and {} labels of the {}; give one label per row", rows.size(0), labels, name);
}

void check_widths(const KnnGallery& gallery, const at::Tensor& queries) {
  if (gallery.values.size(1) != queries.size(1)) {
    throw data_error("knn: queries of width {} and a gallery of width {}; use one encoder for both", queries.size(1),
                     gallery.values.size(1));
  }
}

std::vector<double> votes(const std::vector<Neighbour>& nearest, const KnnGallery& gallery, const UnitRows& voters, double temperature) {
  std::vector<double> scores(static_cast<size_t>(gallery.classes));
  const double top = std::min_element(nearest.begin(), nearest.end(), nearer)->cosine;  // the nearest
  for (const Neighbour& neighbour : nearest) {
    scores[gallery.labels[voters.rows[neighbour.row]]] += std::exp((neighbour.cosine - top) / temperature);
  }
  return scores;
}

void leave_out_mates(const KnnGallery& gallery, const UnitRows& voters, const std::vector<int64_t>& groups, int64_t query,
                     std::vector<Neighbour>& nearest) {
  std::erase_if(nearest, [&](const Neighbour& neighbour) {
    return are_mates(groups, static_cast<size_t>(query), gallery.groups, static_cast<size_t>(voters.rows[neighbour.row]));
  });
}

void keep_nearest(int64_t k, std::vector<Neighbour>& nearest) {
  if (std::ssize(nearest) <= k) return;
  std::nth_element(nearest.begin(), nearest.begin() + k, nearest.end(), nearer);
  nearest.resize(static_cast<size_t>(k));
}

// Without the query itself; where rows like it have taken its place, without the farthest.
void leave_out(int64_t query, const UnitRows& voters, std::vector<Neighbour>& nearest) {
  auto own = std::find_if(nearest.begin(), nearest.end(), [&](const Neighbour& n) { return voters.rows[n.row] == query; });
  if (own == nearest.end()) own = std::max_element(nearest.begin(), nearest.end(), nearer);
  nearest.erase(own);
}

}  // namespace

int64_t resolve_k(const KnnOptions& options, int64_t gallery_size) {
  if (!options.k) return std::min(kUsualNeighbours, gallery_size);
  if (*options.k > gallery_size) {
    throw usage_error("knn: k: {} neighbours of a gallery of {} labelled images; give k of at most {}", *options.k, gallery_size,
                      gallery_size);
  }
  return *options.k;
}

int64_t most_mates(const KnnGallery& gallery, const std::vector<int64_t>& groups) {
  if (gallery.groups.empty() || groups.empty()) return 0;
  std::unordered_map<int64_t, int64_t> voters;
  for (size_t i = 0; i < gallery.groups.size(); ++i) {
    if (gallery.groups[i] != kUnknown && gallery.labels[i] != kUnknown) ++voters[gallery.groups[i]];
  }
  int64_t most = 0;
  for (const int64_t group : groups) {
    if (const auto found = voters.find(group); found != voters.end()) most = std::max(most, found->second);
  }
  return most;
}

KnnResult knn(const KnnGallery& gallery, const at::Tensor& queries, const std::vector<int64_t>& labels, int64_t k, double temperature,
              const KnnBlock& block, KnnQueries whose, const std::vector<int64_t>& groups) {
  const at::NoGradGuard no_grad;
  check_lengths("gallery", gallery.values, gallery.labels.size());
  check_lengths("queries", queries, labels.size());
  check_widths(gallery, queries);
  const at::Tensor gallery_values = gallery.values.contiguous(), query_values = queries.contiguous();
  const UnitRows voters = scaled_rows(gallery_values, &gallery.labels, "gallery");
  const UnitRows rows = scaled_rows(query_values, nullptr, "queries");
  const int64_t itself = whose == KnnQueries::kGallery ? 1 : 0, left_out = std::max(itself, most_mates(gallery, groups));
  if (k < 1 || k > voters.count() - left_out)
    throw data_error("knn: k is {}, the gallery has {} labelled rows; give k of 1 to that", k, voters.count() - left_out);
  KnnResult result;
  result.predictions.resize(labels.size());
  result.ranks.resize(labels.size());
  nearest_rows(voters, rows, k + left_out, block, [&](int64_t query, std::vector<Neighbour> nearest) {
    if (itself > 0) leave_out(query, voters, nearest);
    if (left_out > itself) leave_out_mates(gallery, voters, groups, query, nearest);
    keep_nearest(k, nearest);
    const std::vector<double> scores = votes(nearest, gallery, voters, temperature);
    result.predictions[query] = std::max_element(scores.begin(), scores.end()) - scores.begin();
    result.ranks[query] = label_rank(scores, labels[query]);
  });
  return result;
}

std::vector<std::vector<Neighbour>> nearest_voters(const KnnGallery& gallery, const at::Tensor& queries, int64_t k,
                                                   const std::vector<int64_t>& groups) {
  check_lengths("gallery", gallery.values, gallery.labels.size());
  check_widths(gallery, queries);
  const at::Tensor gallery_values = gallery.values.contiguous(), query_values = queries.contiguous();
  const UnitRows voters = scaled_rows(gallery_values, &gallery.labels, "gallery");
  const UnitRows rows = scaled_rows(query_values, nullptr, "queries");
  std::vector<std::vector<Neighbour>> result(rows.rows.size());
  nearest_rows(voters, rows, std::min(k + most_mates(gallery, groups), voters.count()), {.search = KnnSearch::kExact},
               [&](int64_t query, std::vector<Neighbour> nearest) {
                 leave_out_mates(gallery, voters, groups, query, nearest);
                 keep_nearest(k, nearest);
                 std::sort(nearest.begin(), nearest.end(), nearer);
                 for (Neighbour& neighbour : nearest) neighbour.row = voters.rows[neighbour.row];
                 result[query] = std::move(nearest);
               });
  return result;
}

namespace {

constexpr uint16_t kExampleStep = 10;  // its own stream among those of evaluation
constexpr int64_t kShownNeighbours = 8;
constexpr uint64_t kSeedOfAllRuns = 0;

NeighbourImage described(const Dataset& dataset, int64_t index) {
  return {.id = dataset.id(index), .label = dataset.label(index), .bias = dataset.bias(index)};
}

// Adds the image to those to be shown.
void show(const std::string& split, const std::shared_ptr<const Dataset>& dataset, int64_t index, EvaluationResult& result) {
  result.images[fmt::format("{}_{}", split, dataset->id(index))] = {dataset, index};
}

std::vector<NeighbourQuery> examples_of(const EvaluatedSplit& evaluated, const std::vector<int64_t>& chosen,
                                        const std::vector<int64_t>& groups, const KnnGallery& gallery, const EvaluationInput& input,
                                        EvaluationCache& cache, EvaluationResult& result) {
  const Features &train = cache.train(), &queries = cache.split(evaluated.name);
  const auto nearest = nearest_voters(gallery, queries.values.index_select(0, at::tensor(chosen, at::kLong)), kShownNeighbours, groups);
  std::vector<NeighbourQuery> examples;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const int64_t query = queries.indices[chosen[i]];
    show(evaluated.name, evaluated.dataset, query, result);
    NeighbourQuery example{described(*evaluated.dataset, query), result.predictions[evaluated.name][chosen[i]], {}};
    for (const Neighbour& neighbour : nearest[i]) {
      const int64_t index = train.indices[neighbour.row];
      show("train", input.train, index, result);
      example.nearest.push_back(described(*input.train, index));
      example.nearest.back().cosine = std::round(neighbour.cosine * 1e6) / 1e6;
    }
    examples.push_back(std::move(example));
  }
  return examples;
}

// "knn: test: 120 of 400 images have training images of their group (column patient), which do not vote".
std::string note_on_mates(const EvaluatedSplit& evaluated, const KnnGallery& gallery, const std::vector<int64_t>& groups, bool is_gallery) {
  std::map<int64_t, int64_t> voters;
  for (size_t i = 0; i < gallery.groups.size(); ++i) voters[gallery.groups[i]] += gallery.labels[i] != kUnknown ? 1 : 0;
  const auto has_mate = [&](int64_t group) {
    const auto found = voters.find(group);
    return group != kUnknown && found != voters.end() && found->second > (is_gallery ? 1 : 0);
  };
  const auto with_mates = std::ranges::count_if(groups, has_mate);
  if (with_mates == 0) return "";
  const std::string what = evaluated.dataset->what();
  return fmt::format("knn: {}: {} of {} {} have {} of their group among the training {} ({}), which do not vote", evaluated.name,
                     with_mates, groups.size(), what, is_gallery ? "others" : what, what, evaluated.dataset->info().groups_from);
}

}  // namespace

std::vector<int64_t> example_images(const std::vector<int64_t>& predictions, const std::vector<int64_t>& labels, int64_t count,
                                    uint64_t seed) {
  const auto drawn = [&](uint64_t of_seed) {
    std::vector<int64_t> places = permutation(std::ssize(labels), {RngDomain::kEvaluate, of_seed, 0, 0, 0, 0, kExampleStep});
    std::erase_if(places, [&](int64_t i) { return labels[i] == kUnknown; });
    return places;
  };
  std::vector<int64_t> chosen = drawn(kSeedOfAllRuns);
  chosen.resize(std::min(chosen.size(), static_cast<size_t>(count / 2)));
  std::sort(chosen.begin(), chosen.end());
  std::vector<int64_t> others = drawn(seed);
  std::erase_if(others, [&](int64_t i) { return std::binary_search(chosen.begin(), chosen.end(), i); });
  std::stable_partition(others.begin(), others.end(), [&](int64_t i) { return predictions[i] != labels[i]; });
  others.resize(std::min(others.size(), static_cast<size_t>(count) - chosen.size()));
  std::sort(others.begin(), others.end());
  chosen.insert(chosen.end(), others.begin(), others.end());
  return chosen;
}

std::vector<Metric> knn_metrics() {
  std::vector<Metric> metrics = {{"knn_acc1", "kNN accuracy", Unit::kShare, Better::kHigher, Standing::kProtocol},
                                 {"knn_acc5", "kNN accuracy, top 5", Unit::kShare, Better::kHigher, Standing::kDetail}};
  for (const auto& metric : side_metrics()) metrics.push_back(metric);
  return metrics;
}

EvaluationResult run_knn(const EvaluationInput& input, EvaluationCache& cache, const KnnOptions& given, Progress&) {
  KnnOptions options = given;
  const int64_t classes = count_classes(*input.train, "knn");
  for (const auto& evaluated : evaluated_splits(input)) require_labels(*evaluated.dataset, classes, "knn");
  int64_t voters = 0;
  for (int64_t i = 0; i < input.train->size(); ++i) voters += input.train->label(i) != kUnknown;
  options.temperature = options.temperature.value_or(input.training_temperature);
  GroupNumbers numbers;
  const KnnGallery gallery{cache.train().values, cache.train().labels, classes, numbers.of(*input.train, cache.train().indices)};
  std::map<std::string, std::vector<int64_t>> groups;
  int64_t left_out = input.leaves_one_out ? 1 : 0;
  std::vector<std::string> notes;
  for (const auto& evaluated : evaluated_splits(input)) {
    std::vector<int64_t>& own = groups[evaluated.name] = numbers.of(*evaluated.dataset, cache.split(evaluated.name).indices);
    left_out = std::max(left_out, most_mates(gallery, own));
    if (const std::string note = note_on_mates(evaluated, gallery, own, input.leaves_one_out); !note.empty()) notes.push_back(note);
  }
  if (left_out > 0 && left_out >= voters)
    throw data_error("knn: all {} labelled training {} belong together ({}), so that none is left to vote", voters, input.train->what(),
                     input.train->info().groups_from);
  options.k = resolve_k(options, voters - left_out);

  const Alignment& alignment = cache.alignment();
  EvaluationResult result;
  result.notes = cache.unsaid(alignment.notes);
  result.notes.insert(result.notes.end(), notes.begin(), notes.end());
  std::map<std::string, std::vector<NeighbourQuery>> examples;
  std::vector<std::pair<std::string, double>> sides;
  size_t place = 0;
  for (const auto& evaluated : evaluated_splits(input)) {
    const Features& queries = cache.split(evaluated.name);
    const KnnResult found = knn(gallery, queries.values, queries.labels, *options.k, *options.temperature, {},
                                input.leaves_one_out ? KnnQueries::kGallery : KnnQueries::kOthers, groups.at(evaluated.name));
    result.metrics[evaluated.name + ".knn_acc1"] = accuracy_within(found.ranks, 1);
    result.metrics[evaluated.name + ".knn_acc5"] = accuracy_within(found.ranks, 5);
    result.predictions[evaluated.name] = found.predictions;
    std::map<std::string, double> own;
    add_side_accuracy(evaluated.name, found.ranks, queries.labels, queries.biases, alignment.evaluated[place++], own);
    if (input.classifier) {
      sides.insert(sides.end(), own.begin(), own.end());
    } else {
      result.metrics.merge(own);
    }
    if (options.examples == 0) continue;
    const std::vector<int64_t> chosen = example_images(found.predictions, queries.labels, options.examples, input.seed);
    std::vector<int64_t> of_chosen;
    for (const int64_t chosen_place : chosen)
      of_chosen.push_back(groups[evaluated.name].empty() ? kUnknown : groups[evaluated.name][static_cast<size_t>(chosen_place)]);
    examples[evaluated.name] = examples_of(evaluated, chosen, of_chosen, gallery, input, cache, result);
  }
  result.record = describe("knn", input, result.metrics, config_of(options), classes);
  describe_predictions("knn", input, classes, result);
  if (!alignment.map.empty() || !alignment.notes.empty()) result.record.aligned = alignment;
  if (!notes.empty()) result.record.notes = std::move(notes);
  result.record.side_metrics = std::move(sides);
  result.record.neighbours = std::move(examples);
  return result;
}

}  // namespace debias
