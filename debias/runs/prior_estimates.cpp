#include "debias/runs/prior_estimates.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/npy.h"
#include "debias/evaluate/protocols/chosen_images.h"
#include "debias/evaluate/row_mates.h"
#include "debias/features/feature_table.h"
#include "debias/runs/evaluated_data.h"
#include "debias/runtime/device.h"
#include "debias/train/methods/method.h"
#include "debias/train/methods/sampling.h"

namespace debias {
namespace {

std::vector<int64_t> integers(const at::Tensor& keys) {
  const auto* first = keys.const_data_ptr<int64_t>();
  return {first, first + keys.numel()};
}

// A second estimate that cannot be made takes nothing from the first.
void add_by_views(std::vector<PriorEstimate>& found, Log& log, const std::function<PriorEstimate()>& estimate) {
  try {
    found.push_back(estimate());
  } catch (const Error& error) {
    if (found.empty()) throw;
    log.warn(error.what());
    return;
  }
  if (found.size() == 1 || found.front().method == PriorMethod::kDraws || found.back().high >= found.front().low) return;
  log.warn("prior: the bound from views is below the estimate from labels: here views are more similar than images of one class");
}

}  // namespace

std::vector<PriorEstimate> run_priors(const PriorRequest& request, Progress& progress, Log& log) {
  const c10::Device device = resolve_device(request.device);
  const LoadedRun run = load_run(request.run, request.which);
  require_image_run(run);
  const Recipe recipe = read_recipe(run.recipe);
  const EvaluatedData data = EvaluatedData{recipe.train_data}.below(request.root);
  run.encoder->to(device);
  DataWatch watch(recipe.verify, progress, log);
  watch.add_groups(request.groups);
  const EvaluationInput input = open_for_evaluation(run, data, watch, log);
  for (const auto& note : watch.notes()) log.warn("prior: " + note);
  std::vector<PriorEstimate> found;
  if (const auto by_labels = prior_by_labels(*input.train, recipe)) found.push_back(*by_labels);
  add_by_views(found, log, [&] { return prior_by_views(input, request.images, progress); });
  return found;
}

std::vector<PriorEstimate> embedding_priors(const LossFiles& files, Log& log) {
  const ObjectiveInput input = read_loss_input(files, InputKind::kPairs).input;
  std::vector<PriorEstimate> found;
  if (input.labels.defined()) found.push_back(class_prior_from_labels(integers(input.labels)));
  if (input.z.size(1) >= 2) {
    add_by_views(found, log, [&] { return class_prior_from_views(input.z); });
  } else if (found.empty()) {
    throw data_error("{}: one view of each image and no labels; give --labels y.npy or --csv F.csv, or embeddings [B, V, D] of two views",
                     files.embeddings);
  }
  return found;
}

bool is_feature_table(const std::string& vectors) {
  if (csv_beside(vectors).empty()) return false;
  return std::filesystem::path(vectors).extension() != ".npy" || read_npy_layout(InputFile(vectors)).shape.size() == 2;
}

std::vector<PriorEstimate> table_priors(const FeatureTableFiles& files, const TableRowOptions& columns, Log& log) {
  const FeatureTable table = open_feature_table(files, columns);
  for (const auto& remark : table.remarks) log.info(remark);
  std::vector<int64_t> places(table.rows.labels.size());
  std::iota(places.begin(), places.end(), int64_t{0});
  return {class_prior_from_labels(table.rows.labels, GroupNumbers().of(*table_dataset(table.rows, nullptr, places, "train")))};
}

std::optional<PriorEstimate> prior_by_labels(const Dataset& train, const Recipe& recipe) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < train.size(); ++i) labels.push_back(train.label(i));
  const auto known = std::count_if(labels.begin(), labels.end(), [](int64_t label) { return label != kUnknown; });
  if (known < 2) return std::nullopt;
  PriorEstimate estimate = class_prior_from_labels(labels, GroupNumbers().of(train));
  if (!recipe.sampler || recipe.sampler->draws == Draws::kOnceEach) return estimate;
  estimate.method = PriorMethod::kDraws;
  estimate.tau_plus = estimate.low = estimate.high = drawn_class_prior(recipe, train, method_of(recipe).negatives(recipe));
  return estimate;
}

PriorEstimate prior_by_views(const EvaluationInput& input, int64_t images, Progress& progress) {
  const std::vector<int64_t> chosen = chosen_images(input.train->size(), images, input.seed);
  return class_prior_from_views(view_pair_features(input, input.train, "train", chosen, input.seed, progress),
                                GroupNumbers().of(*input.train, chosen));
}

}  // namespace debias
