// A program of version 0.1.0 that knows some metrics, as protocols describe them.
#pragma once

#include <memory>
#include <vector>

#include "debias/report/run_record.h"

namespace debias {

inline ReadingProgram reading_program(const char* version = "0.1.0") {
  const auto share = [](const char* name, const char* title, Better better, Standing standing) {
    return Metric{name, title, Unit::kShare, better, standing};
  };
  const std::vector<Metric> metrics = {
      share("acc1", "accuracy", Better::kHigher, Standing::kAccuracy),
      share("knn_acc1", "kNN accuracy", Better::kHigher, Standing::kProtocol),
      share("linear_acc1", "linear probe accuracy", Better::kHigher, Standing::kProtocol),
      share("aligned_acc", "accuracy, bias-aligned", Better::kHigher, Standing::kGroups),
      share("conflicting_acc", "accuracy, bias-conflicting", Better::kHigher, Standing::kGroups),
      share("worst_group_acc", "accuracy of the worst group", Better::kHigher, Standing::kGroups),
      share("unbiased_acc", "unbiased accuracy, mean over groups", Better::kHigher, Standing::kGroups),
      share("demographic_parity_difference", "demographic parity difference", Better::kLower, Standing::kFairness),
      share("equal_opportunity_difference", "equal opportunity difference", Better::kLower, Standing::kFairness),
      share("equalized_odds_difference", "equalized odds difference", Better::kLower, Standing::kFairness),
      share("bias_probe_acc1", "bias probe accuracy", Better::kNeither, Standing::kFeatures),
      share("bias_majority_rate", "most frequent bias value", Better::kNeither, Standing::kFeatures),
      share("bias_uniform_rate", "one over the number of bias values", Better::kNeither, Standing::kFeatures),
      {"alignment", "alignment", Unit::kNumber, Better::kNeither, Standing::kFeatures},
      {"uniformity", "uniformity", Unit::kNumber, Better::kNeither, Standing::kFeatures},
      {"rankme", "RankMe", Unit::kNumber, Better::kNeither, Standing::kFeatures},
      {"tsne_kl", "t-SNE divergence", Unit::kNumber, Better::kNeither, Standing::kDetail}};
  return {version, std::make_shared<const MetricTitles>(metrics)};
}

}  // namespace debias
