#include "debias/evaluate/confusion.h"

#include <cmath>

#include "debias/data/dataset.h"
#include "debias/data/value_name.h"

namespace debias {

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

}  // namespace debias
