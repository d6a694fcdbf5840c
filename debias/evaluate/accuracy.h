// Ranks of the true label, and accuracies from them.
//
// The rank of a label is the number of classes that score higher; of equal scores the lower class counts as higher. Top-k accuracy is the
// share of labelled samples with rank < k.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/evaluate/alignment.h"
#include "debias/results/metric.h"
#include "debias/results/predictions.h"

namespace debias {

constexpr int64_t kUnranked = -1;  // the rank of a sample without a label

// `label` in [0, scores.size()), or kUnknown (kUnranked).
int64_t label_rank(std::span<const double> scores, int64_t label);
// Row by row of scores [N, C].
std::vector<int64_t> label_ranks(const at::Tensor& scores, const std::vector<int64_t>& labels);

// The class of the highest score of each row of scores [N, C]; of equal scores the lower class.
std::vector<int64_t> predicted_classes(const at::Tensor& scores);

// Share of the ranked samples with rank < k. NaN when none is ranked.
double accuracy_within(const std::vector<int64_t>& ranks, int64_t k);

// "SPLIT.aligned_acc" and "SPLIT.conflicting_acc": top-1 accuracy of the samples on each side of the map. A side without samples has no
// metric.
void add_side_accuracy(const std::string& split, const std::vector<int64_t>& ranks, const std::vector<int64_t>& labels,
                       const std::vector<int64_t>& biases, const AlignmentMap& alignment, std::map<std::string, double>& metrics);

std::vector<Metric> side_metrics();  // what the two are

// For messages: "split 'train' of glyphs", and a label with its name, "1 ('cat')".
std::string split_text(const Dataset& dataset);
std::string class_text(const Dataset& dataset, int64_t label);

// The number of classes of a labelled training set: its largest label + 1, or its named classes. Data errors, naming set and split: no
// labels; one class only (the class is named, and how many images have no label).
int64_t count_classes(const Dataset& train, const std::string& who);
// Data errors: no labels; a label that is not one of `classes`.
void require_labels(const Dataset& evaluated, int64_t classes, const std::string& who);

// Which class was taken for which: the table that every classifying protocol leaves in its record.

constexpr int64_t kLargestConfusion = 200;  // classes; of more, the confusion is left out: it grows with their square

// Over the samples with a label, whatever their bias label. Labels (kUnknown or below `classes`) and predictions are of one length; `names`
// may be empty.
ClassTable class_table(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions, int64_t classes,
                       const std::vector<std::string>& names);

// The marks of a protocol's predictions (debias/results/predictions.h).

// One letter for each image; `predictions` as many. Without an alignment all are of neither side.
std::string prediction_marks(const Dataset& dataset, const std::vector<int64_t>& predictions, const AlignmentMap& alignment = {});

}  // namespace debias
