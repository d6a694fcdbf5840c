// A head and its layer evaluated on rows that they were not fitted to, as the protocols `groups` and `geometry` evaluate any encoder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/progress.h"
#include "debias/evaluate/protocol.h"
#include "debias/fix/fix.h"

namespace debias {

constexpr int64_t kProbeRows = 10000;  // maximum number of training rows for the probe of the bias

struct FixedEvaluation {
  EvaluationResult groups, geometry;
};

struct FixedEvaluations {
  FixedEvaluation before, after;
  bool by_folds = false;  // what the records call valid are the rows of the folds
  std::vector<std::string> notes;
};

// Evaluates the valid and test rows that have bias labels. If there are none, it evaluates the rows of the folds as `valid`, with the
// predictions of heads that were not fitted to them (features have the layer of all rows).
FixedEvaluations evaluate_fixed(const FeatureTable& table, const FixResult& result, uint64_t seed, Progress& progress);

}  // namespace debias
