// Figures of evaluation files beside single numbers: groups, similarities and t-SNE plots.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/report/charts/curve_figures.h"
#include "debias/report/pages/page.h"
#include "debias/report/tables/key_numbers.h"

namespace debias {

// An evaluated set: the split, and the other data set's name where it is not the run's own.
struct EvaluatedSet {
  std::string data, split;
  std::string title() const { return data.empty() ? split : split + (data == kBefore ? ", before the correction" : " of " + data); }
};

// The sets for which some run's file of `protocol` holds something, test before valid, own data first.
std::vector<EvaluatedSet> evaluated_sets(const std::vector<RunRecord>& runs, const std::string& protocol);

// Names of labels and bias labels as the group tables of a run have them, else its classes.json; "class 3", "bias 3" and "unknown"
// otherwise.
class ValueNames {
 public:
  ValueNames(const RunRecord& run, const EvaluatedSet& set);
  std::string label(int64_t label) const;
  std::string bias(int64_t bias) const;

 private:
  std::vector<std::string> labels_, biases_;
};

// Accuracies and differences with their intervals, a bar for each column; a chart for each source of predictions.
Figures group_figures(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows, const EvaluatedSet& set);

// Densities of cosines by kind of pair, a chart for each run; all on the same axis.
Figures similarity_figures(const std::vector<RunRecord>& runs, const EvaluatedSet& set);
// Their medians over the epochs that were evaluated while training, with a band from the 10th to the 90th percentile: a chart for each run
// of positive pairs and one of negative pairs. None with fewer than two such epochs.
Figures similarity_history_figures(const std::vector<RunRecord>& runs, const EvaluatedSet& set);
Table similarity_table(const std::vector<RunRecord>& runs, const EvaluatedSet& set);

// Maps by label and, where it is known, by bias label. At most `most_points` of each are drawn, evenly picked; captions say so.
Figures map_figures(const RunRecord& run, const EvaluatedSet& set, size_t most_points, bool named);

}  // namespace debias
