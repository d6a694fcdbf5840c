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
  const auto of_predictions = [&](Metric metric) {
    metric.of_predictions = true;
    return metric;
  };
  const auto of_term = [](const char* name, const char* title, Unit unit) {
    return Metric{.name = name, .title = title, .unit = unit, .standing = Standing::kTraining, .of_term = true};
  };
  const auto loss = [](const char* name, const char* title, Standing standing) {
    return Metric{name, title, Unit::kNumber, Better::kLowerOfOneObjective, standing};
  };
  Metric last = share("linear_last_acc1", "linear probe accuracy, last epoch", Better::kHigher, Standing::kProtocol);
  last.last_of = "linear_acc1";
  const std::vector<Metric> metrics = {
      of_predictions(share("acc1", "accuracy", Better::kHigher, Standing::kAccuracy)),
      {"return_mean", "mean evaluation return", Unit::kNumber, Better::kHigher, Standing::kAccuracy},
      share("knn_acc1", "kNN accuracy", Better::kHigher, Standing::kProtocol),
      share("linear_acc1", "linear probe accuracy", Better::kHigher, Standing::kProtocol),
      last,
      share("mean_classifier_acc1", "mean classifier accuracy", Better::kHigher, Standing::kProtocol),
      {.name = "low_shot_acc1",
       .title = "low-shot accuracy, {}",
       .unit = Unit::kShare,
       .better = Better::kHigher,
       .standing = Standing::kProtocol,
       .of_setting = true},
      {.name = "neighbour_acc",
       .title = "neighbour accuracy",
       .unit = Unit::kShare,
       .better = Better::kHigher,
       .standing = Standing::kProtocol,
       .of_batch = true},
      share("mr_acc", "MR accuracy", Better::kHigher, Standing::kProtocol),
      share("trec_acc", "TREC accuracy", Better::kHigher, Standing::kProtocol),
      of_predictions(share("aligned_acc", "accuracy, bias-aligned", Better::kHigher, Standing::kGroups)),
      of_predictions(share("conflicting_acc", "accuracy, bias-conflicting", Better::kHigher, Standing::kGroups)),
      of_predictions(share("worst_group_acc", "worst-group accuracy", Better::kHigher, Standing::kGroups)),
      of_predictions(share("unbiased_acc", "unbiased accuracy, mean over groups", Better::kHigher, Standing::kGroups)),
      of_predictions(share("demographic_parity_difference", "demographic parity difference", Better::kLower, Standing::kFairness)),
      of_predictions(share("equal_opportunity_difference", "equal opportunity difference", Better::kLower, Standing::kFairness)),
      of_predictions(share("equalized_odds_difference", "equalized odds difference", Better::kLower, Standing::kFairness)),
      {"bias_probe_acc1",
       "bias probe accuracy",
       Unit::kShare,
       Better::kNeither,
       Standing::kFeatures,
       {"bias_majority_rate", "bias_uniform_rate"}},
      share("bias_majority_rate", "share of the most frequent bias label", Better::kNeither, Standing::kFeatures),
      share("bias_uniform_rate", "1 / number of bias labels", Better::kNeither, Standing::kFeatures),
      {"alignment", "alignment", Unit::kNumber, Better::kNeither, Standing::kFeatures},
      {"uniformity", "uniformity", Unit::kNumber, Better::kNeither, Standing::kFeatures},
      {"rankme", "RankMe", Unit::kNumber, Better::kNeither, Standing::kFeatures},
      {"tsne_kl", "t-SNE KL divergence", Unit::kNumber, Better::kNeither, Standing::kDetail},
      loss("mean_classifier_loss", "mean classifier loss", Standing::kDetail),
      loss("train_loss", "training loss", Standing::kTraining),
      {"training_seconds", "training time, seconds", Unit::kNumber, Better::kNeither, Standing::kTraining},
      {"minutes_per_epoch", "training time per epoch, minutes", Unit::kNumber, Better::kNeither, Standing::kTraining},
      {"grad_norm", "gradient norm", Unit::kNumber, Better::kNeither, Standing::kTraining},
      {"learning_rate", "learning rate", Unit::kNumber, Better::kNeither, Standing::kTraining},
      of_term("clamped_share", "clamped share", Unit::kShare),
      of_term("min_estimate", "minimum estimate before clamping", Unit::kNumber),
      of_term("effective_sample_size", "effective sample size", Unit::kNumber)};
  return {version, std::make_shared<const MetricTitles>(metrics)};
}

}  // namespace debias
