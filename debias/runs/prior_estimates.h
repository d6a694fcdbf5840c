// The class prior tau_plus of a run's training set, or of embeddings on disk, by every method that their labels and views allow.
//
//   const auto found = run_priors({.run = "runs/first"}, Progress::silent(), Log::silent());
//   found.front().tau_plus;  // by labels where there are any, else the bound by views
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/evaluate/class_prior.h"
#include "debias/runs/loss_input.h"
#include "debias/runs/run_prior.h"

namespace debias {

struct PriorRequest {
  std::string run;                // a run folder or a checkpoint
  std::string root = "";          // current folder of its training set; empty: as in training
  std::string which = "last";     // checkpoint of a run folder: last, best or previous
  std::string device = "auto";    // auto, cpu or cuda
  int64_t images = kPriorImages;  // whose two views are compared, at most
};

// One or two estimates; that by labels comes first. A second estimate that cannot be made is a warning. Errors as of load_run and
// class_prior.h; a usage error for a run on sentences.
std::vector<PriorEstimate> run_priors(const PriorRequest& request, Progress& progress, Log& log);

// Estimates from .npy files: from labels if given, and from two views if the embeddings [B, V, D] have them. A data error for neither.
std::vector<PriorEstimate> embedding_priors(const LossFiles& files, Log& log);

}  // namespace debias
