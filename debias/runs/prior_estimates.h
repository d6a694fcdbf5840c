// Estimates the class prior tau_plus of a run's training set, or of embeddings on disk, by every method that labels and views allow.
//
//   const auto found = run_priors({.run = "runs/first"}, Progress::silent(), Log::silent());
//   found.front().tau_plus;  // from labels if there are any, else the bound from views
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/evaluate/class_prior.h"
#include "debias/evaluate/protocol.h"
#include "debias/features/feature_table.h"
#include "debias/runs/loss_evaluation.h"
#include "debias/train/recipe/recipe.h"

namespace debias {

// The class prior of a run's training set, from its labels and from two views under the run's encoder.
constexpr int64_t kPriorImages = 4096;  // maximum number of images whose views are compared

// Empty if fewer than two labels are known. A `sampler` in the recipe is taken into account, as for the recipe's method.
std::optional<PriorEstimate> prior_by_labels(const Dataset& train, const Recipe& recipe);

// From two training views of at most `images` of input.train's images, drawn with input.seed. Errors as for class_prior_from_views.
PriorEstimate prior_by_views(const EvaluationInput& input, int64_t images, Progress& progress);

struct PriorRequest {
  std::string run;                // a run folder or a checkpoint
  std::string root = "";          // current folder of its training set; empty: as in training
  std::string which = "last";     // checkpoint of a run folder: last, best or previous
  std::string device = "auto";    // auto, cpu or cuda
  std::string groups = "";        // columns of its labels that say what belongs together: "patient,burst"
  int64_t images = kPriorImages;  // maximum number of images whose two views are compared
};

// One or two estimates, that from labels first. If the second cannot be made, a warning is logged. Errors as for load_run and
// class_prior.h; usage error for a run on sentences.
std::vector<PriorEstimate> run_priors(const PriorRequest& request, Progress& progress, Log& log);

// Estimates from .npy files: from labels if given, and from two views if the embeddings are [B, V, D] with V >= 2. Data error for neither.
std::vector<PriorEstimate> embedding_priors(const LossFiles& files, Log& log);

// Whether vectors are a feature table: a CSV lies next to them, and they have one vector per image, [N, D] (views are [B, V, D]).
bool is_feature_table(const std::string& vectors);
// The estimate from the labels and groups of all rows of a feature table, whose remarks are logged. Errors of open_feature_table.
std::vector<PriorEstimate> table_priors(const FeatureTableFiles& files, const TableRowOptions& columns, Log& log);

}  // namespace debias
