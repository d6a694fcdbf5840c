#include "debias/evaluate/prediction_marks.h"

#include <utility>

namespace debias {

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
