// Output of `debias loss`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "debias/runs/loss_evaluation.h"

namespace debias {

struct LossRun {
  std::string name, engine, device;
  LossPrecision precision;
};

struct LossOutputs {
  std::string gradient, per_anchor;  // .npy; empty: not written
};

// Writes the gradient [shape] in its dtype, and the loss of each anchor in float64.
void write_loss_outputs(const LossEvaluation& evaluation, const LossOutputs& files, const std::vector<int64_t>& shape);

nlohmann::ordered_json loss_json(const LossEvaluation& evaluation, const LossRun& run);
std::string loss_text(const LossEvaluation& evaluation, const LossRun& run);  // one line per number

}  // namespace debias
