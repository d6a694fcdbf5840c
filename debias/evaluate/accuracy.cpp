#include "debias/evaluate/accuracy.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "debias/core/error.h"
#include "debias/data/name_table.h"

namespace debias {

std::string split_text(const Dataset& dataset) { return fmt::format("split '{}' of {}", dataset.info().split, dataset.info().name); }

std::string class_text(const Dataset& dataset, int64_t label) {
  const auto& names = dataset.info().class_names;
  return label < std::ssize(names) ? fmt::format("{} ('{}')", label, names[static_cast<size_t>(label)]) : fmt::format("{}", label);
}

int64_t label_rank(std::span<const double> scores, int64_t label) {
  if (label == kUnknown) return kUnranked;
  const double own = scores[label];
  int64_t rank = 0;
  for (int64_t c = 0; c < static_cast<int64_t>(scores.size()); ++c) rank += scores[c] > own || (scores[c] == own && c < label);
  return rank;
}

std::vector<int64_t> label_ranks(const at::Tensor& scores, const std::vector<int64_t>& labels) {
  const at::Tensor rows = scores.detach().to(at::kDouble).contiguous();
  const double* row = rows.const_data_ptr<double>();
  const auto C = static_cast<size_t>(rows.size(1));
  std::vector<int64_t> ranks(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) ranks[i] = label_rank({row + i * C, C}, labels[i]);
  return ranks;
}

std::vector<int64_t> predicted_classes(const at::Tensor& scores) {
  const at::Tensor rows = scores.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* row = rows.const_data_ptr<double>();
  const int64_t C = rows.size(1);
  std::vector<int64_t> classes(static_cast<size_t>(rows.size(0)));
  for (size_t i = 0; i < classes.size(); ++i, row += C) classes[i] = std::max_element(row, row + C) - row;
  return classes;
}

double accuracy_within(const std::vector<int64_t>& ranks, int64_t k) {
  int64_t count = 0, hits = 0;
  for (const int64_t rank : ranks) {
    count += rank != kUnranked;
    hits += rank != kUnranked && rank < k;
  }
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(hits) / static_cast<double>(count);
}

void add_side_accuracy(const std::string& split, const std::vector<int64_t>& ranks, const std::vector<int64_t>& labels,
                       const std::vector<int64_t>& biases, const AlignmentMap& alignment, std::map<std::string, double>& metrics) {
  for (const auto& [name, side] : {std::pair{"aligned_acc", Side::kAligned}, std::pair{"conflicting_acc", Side::kConflicting}}) {
    int64_t count = 0, correct = 0;
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (alignment.side(labels[i], biases[i]) != side) continue;
      ++count;
      correct += ranks[i] == 0;
    }
    if (count > 0) metrics[split + "." + name] = static_cast<double>(correct) / static_cast<double>(count);
  }
}

std::vector<Metric> side_metrics() {
  return {{.name = "aligned_acc",
           .title = "accuracy, bias-aligned",
           .unit = Unit::kShare,
           .better = Better::kHigher,
           .standing = Standing::kGroups,
           .of_predictions = true},
          {.name = "conflicting_acc",
           .title = "accuracy, bias-conflicting",
           .unit = Unit::kShare,
           .better = Better::kHigher,
           .standing = Standing::kGroups,
           .of_predictions = true}};
}

int64_t count_classes(const Dataset& train, const std::string& who) {
  int64_t lowest = std::numeric_limits<int64_t>::max(), highest = kUnknown, unlabelled = 0;
  for (int64_t i = 0; i < train.size(); ++i) {
    const int64_t label = train.label(i);
    if (label == kUnknown) {
      ++unlabelled;
      continue;
    }
    lowest = std::min(lowest, label);
    highest = std::max(highest, label);
  }
  if (highest == kUnknown) throw data_error("{}: {} has no labels; it needs a labelled training set", who, split_text(train));
  if (lowest == highest) {
    const std::string rest = unlabelled == 0 ? "" : fmt::format(", and {} of its {} images have no label", unlabelled, train.size());
    throw data_error("{}: all labels of {} are of class {}{}; it needs at least two classes", who, split_text(train),
                     class_text(train, lowest), rest);
  }
  return std::max(highest + 1, static_cast<int64_t>(train.info().class_names.size()));
}

void require_labels(const Dataset& evaluated, int64_t classes, const std::string& who) {
  bool labelled = false;
  for (int64_t i = 0; i < evaluated.size(); ++i) {
    const int64_t label = evaluated.label(i);
    labelled = labelled || label != kUnknown;
    if (label >= classes) {
      throw data_error("{}: sample {} of {} ({}) is of class {}, the training set has classes 0 to {}", who, i, split_text(evaluated),
                       evaluated.source(i), class_text(evaluated, label), classes - 1);
    }
  }
  if (!labelled) throw data_error("{}: {} has no labels to be evaluated by", who, split_text(evaluated));
}

ClassTable class_table(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions, int64_t classes,
                       const std::vector<std::string>& names) {
  const auto C = static_cast<size_t>(classes);
  std::vector<int64_t> right(C);
  ClassTable table;
  table.count.resize(C);
  table.predicted.resize(C);
  if (classes <= kLargestConfusion) table.confusion.assign(C, std::vector<int64_t>(C));
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == kUnknown) continue;
    const auto label = static_cast<size_t>(labels[i]), predicted = static_cast<size_t>(predictions[i]);
    ++table.count[label];
    ++table.predicted[predicted];
    right[label] += label == predicted;
    if (!table.confusion.empty()) ++table.confusion[label][predicted];
  }
  for (size_t c = 0; c < C; ++c) {
    table.classes.push_back(value_name(names, static_cast<int64_t>(c)));
    table.accuracy.push_back(table.count[c] == 0 ? kNotKnown : static_cast<double>(right[c]) / static_cast<double>(table.count[c]));
  }
  return table;
}

std::string prediction_marks(const Dataset& dataset, const std::vector<int64_t>& predictions, const AlignmentMap& alignment) {
  const auto letters = [&](int64_t i) -> std::pair<char, char> {  // of a right and a wrong prediction
    switch (alignment.side(dataset.label(i), dataset.bias(i))) {
      case Side::kAligned:
        return {'A', 'a'};
      case Side::kConflicting:
        return {'C', 'c'};
      case Side::kNeither:
        break;
    }
    return {'R', 'r'};
  };
  std::string marks;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const int64_t label = dataset.label(i);
    const auto [right, wrong] = letters(i);
    marks += label == kUnknown ? '.' : predictions[static_cast<size_t>(i)] == label ? right : wrong;
  }
  return marks;
}

}  // namespace debias
