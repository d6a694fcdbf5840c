#include "debias/report/metric_title.h"

#include <algorithm>
#include <array>

#include "debias/report/axis.h"

namespace debias {
namespace {

struct Known {
  std::string_view name, title;
  Better better;
};

constexpr std::array kKnown = {Known{"acc1", "accuracy", Better::kHigher},
                               Known{"knn_acc1", "kNN accuracy", Better::kHigher},
                               Known{"linear_acc1", "linear probe accuracy", Better::kHigher},
                               Known{"linear_last_acc1", "linear probe accuracy, last epoch", Better::kHigher},
                               Known{"linear_features_acc1", "linear probe accuracy, stored features", Better::kHigher},
                               Known{"mean_classifier_acc1", "mean classifier accuracy", Better::kHigher},
                               Known{"macro_auc", "macro-AUC", Better::kHigher},
                               Known{"aligned_acc", "accuracy, bias-aligned", Better::kHigher},
                               Known{"conflicting_acc", "accuracy, bias-conflicting", Better::kHigher},
                               Known{"worst_group_acc", "accuracy of the worst group", Better::kHigher},
                               Known{"unbiased_acc", "unbiased accuracy, mean over groups", Better::kHigher},
                               Known{"clusterings_acc", "accuracy over clusterings, mean over groups", Better::kHigher},
                               Known{"demographic_parity_difference", "demographic parity difference", Better::kLower},
                               Known{"equal_opportunity_difference", "equal opportunity difference", Better::kLower},
                               Known{"equalized_odds_difference", "equalized odds difference", Better::kLower},
                               Known{"bias_probe_acc1", "bias probe accuracy", Better::kNeither},
                               Known{"bias_majority_rate", "most frequent bias value", Better::kNeither},
                               Known{"bias_uniform_rate", "one over the number of bias values", Better::kNeither},
                               Known{"alignment", "alignment", Better::kNeither},
                               Known{"uniformity", "uniformity", Better::kNeither},
                               Known{"rankme", "RankMe", Better::kNeither},
                               Known{"std_of_l2_normalized", "std of normalised features", Better::kNeither},
                               Known{"knn_acc5", "kNN accuracy, top 5", Better::kHigher},
                               Known{"linear_acc5", "linear probe accuracy, top 5", Better::kHigher},
                               Known{"linear_last_acc5", "linear probe accuracy, top 5, last epoch", Better::kHigher},
                               Known{"linear_features_acc5", "linear probe accuracy, top 5, stored features", Better::kHigher},
                               Known{"mean_classifier_acc5", "mean classifier accuracy, top 5", Better::kHigher},
                               Known{"mean_classifier_loss", "mean classifier loss", Better::kLower},
                               Known{"tsne_kl", "t-SNE divergence", Better::kNeither},
                               Known{"train_loss", "training loss", Better::kNeither},
                               Known{"training_seconds", "training time in seconds", Better::kNeither},
                               Known{"minutes_per_epoch", "minutes of training an epoch", Better::kNeither},
                               Known{"images_per_second", "images a second", Better::kNeither},
                               Known{"classifier_loss", "classifier loss", Better::kNeither},
                               Known{"grad_norm", "gradient norm", Better::kNeither},
                               Known{"learning_rate", "learning rate", Better::kNeither},
                               Known{"clamped_share", "clamp share", Better::kNeither},
                               Known{"min_estimate", "least estimate before the clamp", Better::kNeither},
                               Known{"effective_sample_size", "effective sample size", Better::kNeither}};

}  // namespace

MetricTitle metric_title(const std::string& name) {
  for (size_t i = 0; i < kKnown.size(); ++i) {
    if (kKnown[i].name == name) return {std::string(kKnown[i].title), kKnown[i].better, static_cast<int>(i)};
  }
  return {name, Better::kNeither, static_cast<int>(kKnown.size())};
}

SplitName split_of(const std::string& metric) {
  const size_t dot = metric.find('.');
  const std::string head = metric.substr(0, dot);
  if (dot == std::string::npos || (head != "train" && head != "valid" && head != "test")) return {"", metric};
  return {head, metric.substr(dot + 1)};
}

bool shown_in_percent(std::string_view name) {
  if (name.find("learning_rate") != std::string_view::npos) return false;
  return std::ranges::any_of(std::array<std::string_view, 5>{"acc", "_auc", "_rate", "_difference", "_share"},
                             [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

std::string metric_number(const std::string& name, double value) {
  return shown_in_percent(name) ? percent_text(value, 2) : short_number(value);
}

}  // namespace debias
