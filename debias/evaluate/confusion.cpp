#include "debias/evaluate/confusion.h"

#include "debias/data/dataset.h"
#include "debias/data/value_name.h"

namespace debias {

void add_confusion(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions, int64_t classes,
                   const std::vector<std::string>& names, nlohmann::ordered_json& table) {
  using Json = nlohmann::ordered_json;
  const auto C = static_cast<size_t>(classes);
  std::vector<int64_t> count(C), taken(C), right(C), confusion(classes <= kLargestConfusion ? C * C : 0);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == kUnknown) continue;
    const auto label = static_cast<size_t>(labels[i]), predicted = static_cast<size_t>(predictions[i]);
    ++count[label];
    ++taken[predicted];
    right[label] += label == predicted;
    if (!confusion.empty()) ++confusion[label * C + predicted];
  }
  for (size_t c = 0; c < C; ++c) {
    if (!confusion.empty()) table["confusion"].push_back(Json(std::vector(&confusion[c * C], &confusion[c * C] + C)));
    const Json accuracy = count[c] == 0 ? Json() : Json(static_cast<double>(right[c]) / static_cast<double>(count[c]));
    table["per_class"][value_name(names, static_cast<int64_t>(c))] = {{"count", count[c]}, {"predicted", taken[c]}, {"accuracy", accuracy}};
  }
}

}  // namespace debias
