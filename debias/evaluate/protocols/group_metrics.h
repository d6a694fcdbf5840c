// Accuracy and fairness by group: a group (cell) is the samples of one label y and one bias label b.
//
// With n[y,b] samples of the cell, of which r[y,b] are predicted right, and m[c,b] samples of bias label b predicted as c:
//
//   acc1                right predictions / labelled samples, whatever their bias label
//   aligned_acc         the same over samples whose bias label is one of their class's (alignment.h); conflicting_acc: over those where
//                       it is another
//   worst_group_acc     min over cells of r / n (Sagawa et al. 2020, "Distributionally robust neural networks", section 3)
//   unbiased_acc        mean over cells of r / n, with equal weights (Bahng et al. 2020, "Learning de-biased representations with
//                       biased representations", section 4.1; Hong & Yang 2021)
//   demographic_parity_difference   max over b - min over b of the selection rate m[c,b] / n[.,b]
//   equal_opportunity_difference    the same of the true positive rate r[c,b] / n[c,b]
//   equalized_odds_difference       the larger of that and the same of the false positive rate (m[c,b] - r[c,b]) / (n[.,b] - n[c,b])
//
// The differences are fairlearn's metrics of the same names (0.15; method between_groups, agg worst_case) with the bias label as sensitive
// feature. With two classes class 1 is the positive one, as there; with more, each class c is compared with the others and the largest
// difference over classes counts.
//
// Empty groups. A cell with fewer than min_count samples is left out of worst_group_acc and unbiased_acc. A rate without samples to count
// is left out of its difference (EmptyRate::kSkip), where fairlearn takes it for 0 (kZero). A class whose rates are known for fewer than
// two bias labels has no difference. A metric without samples is NaN.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/data/group_counts.h"
#include "debias/evaluate/alignment.h"

namespace debias {

struct GroupSamples {
  std::vector<int64_t> labels, biases, predictions;  // [N] each; kUnknown: not known
  int64_t classes = 0;                               // labels and predictions are below
  int64_t groups = 0;                                // bias labels are below
  std::vector<int64_t> units = {};                   // [N] what belongs together, kUnknown: a sample alone; empty: all are
};

enum class EmptyRate { kSkip, kZero };
constexpr auto enum_words(EmptyRate) { return named("skip", "zero"); }

struct GroupMetricOptions {
  AlignmentMap alignment;  // empty: no aligned_acc and conflicting_acc
  int64_t min_count = 1;   // >= 1
  EmptyRate empty = EmptyRate::kSkip;
};

// n[y,b] and r[y,b] of known label and bias label, and what else the metrics need.
struct PredictionCounts : GroupCounts {
  std::vector<int64_t> predicted;   // m[c,b]
  int64_t labelled = 0, right = 0;  // of acc1
};

// Data error when the lists differ in length or hold a value out of range.
PredictionCounts count_groups(const GroupSamples& samples);

using GroupMetrics = std::map<std::string, double>;  // by the names above, all of them (two fewer without aligned values)
GroupMetrics group_metrics(const PredictionCounts& counts, const GroupMetricOptions& options);

struct Bootstrap {
  int64_t replicates = 1000;
  double level = 0.95;  // in (0, 1)
  uint64_t seed = 1;
};

// Percentile intervals (Efron 1979): the samples are drawn anew, as many with replacement, and the quantiles (1 -+ level)/2 of the
// replicates' metrics are taken, interpolated linearly. Cells that min_count leaves out stay out; replicates in which a metric is undefined
// are left out of its interval; a metric undefined in all, or zero replicates, has none. A share of which all is right, or wrong, or of one
// unit, has Wilson's interval of its samples, or units. The minimum over small cells is lower in
// replicates, so that percentiles can exclude its value: worst_group_acc has the interval of smallest_interval() instead
// (statistics.h), over its cells. The same for any number of threads.
//
// Samples of one unit are not independent, so units are drawn, each with all of its samples. The count of a cell of worst_group_acc is then the
// number of independent samples whose mean has the variance that its units show (Kish 1965, "Survey sampling", design effect): n p (1 - p) / V
// with V = U / (U - 1) sum over its U units of (r_u - p n_u)^2 / n, at most n, and U where V or p (1 - p) is zero. A single unit has no
// intervals.
std::map<std::string, std::pair<double, double>> group_intervals(const GroupSamples& samples, const GroupMetricOptions& options,
                                                                 const Bootstrap& bootstrap);

}  // namespace debias
