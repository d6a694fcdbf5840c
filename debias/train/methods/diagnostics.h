// Diagnostics of an objective's terms, and of the classifier: of one step, or summed over the steps of an epoch.
//
// Metrics, in this order, for a single term as they are, for several prefixed with the term's label ("fairkl.clamped_share"):
//   loss                     several terms only: the mean of the term's value, before its weight
//   clamped_share            clamped / clampable: how often a clamp, floor or fall-back acted, of the anchors (of each pair of views, where
//                            these are averaged) or sets of pairs where it can; near 1, the objective is another one
//   min_estimate             the least estimate before it acted; absent where the objective has none
//   effective_sample_size    the mean over steps of that of the importance weights; absent where there are none
// and of the classifier: acc1, the share of labelled rows (all views) whose largest logit is that of the label; classifier_loss, the mean
// cross-entropy, if that trains it. The method's own follow, by the names that its entry describes.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/results/metric.h"

namespace debias {

using Metrics = std::vector<std::pair<std::string, double>>;

struct TermDiagnostics {
  int64_t steps = 0;
  double loss_sum = 0;
  int64_t anchors = 0, clamped = 0, clampable = 0;
  std::optional<double> min_estimate;
  int64_t sample_size_steps = 0;
  double sample_size_sum = 0;

  void add(const TermDiagnostics& more);
};

struct ClassifierDiagnostics {
  int64_t rows = 0, correct = 0;  // labelled rows
  int64_t loss_steps = 0;
  double loss_sum = 0;

  void add(const ClassifierDiagnostics& more);
};

// A metric of a method's own: sum / count, each added up over the steps; for a share hits and cases. There is no metric while count is 0.
struct MethodMetric {
  std::string name;
  double sum = 0, count = 0;
};

struct Diagnostics {
  std::vector<TermDiagnostics> terms;
  ClassifierDiagnostics classifier;
  std::vector<MethodMetric> of_method;  // each name once

  void add(const Diagnostics& more);                                    // an empty one takes the terms of `more`
  const MethodMetric* metric_of_method(const std::string& name) const;  // null where the method has not reported it
  Metrics metrics(const std::vector<std::string>& labels) const;

  nlohmann::ordered_json to_json() const;
  static Diagnostics from_json(const nlohmann::ordered_json& json);
};

std::vector<Metric> diagnostics_metrics();  // what the terms' and the classifier's say

// "" for the only term, else "LABEL.".
std::string term_prefix(const std::vector<std::string>& labels, size_t term);

}  // namespace debias
