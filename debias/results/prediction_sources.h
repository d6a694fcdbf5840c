// Whose predictions a number evaluates: accuracy of kNN and accuracy of a classifier are different numbers with one name.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace debias {

struct PredictionsOf {
  std::string_view name;   // in a record
  std::string_view title;  // as a person reads it
};

// If several have a number, the first of these counts.
inline constexpr std::array<PredictionsOf, 4> kPredictionsOf = {
    {{"classifier", "classifier"}, {"linear", "linear probe"}, {"knn", "kNN"}, {"mean_classifier", "mean classifier"}}};

// The title of a name in a record; the name itself where this program does not know it.
inline std::string source_title(const std::string& source) {
  const auto* const found = std::ranges::find(kPredictionsOf, source, &PredictionsOf::name);
  return found == kPredictionsOf.end() ? source : std::string(found->title);
}

}  // namespace debias
