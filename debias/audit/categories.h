// Texts and numbers as categories: one classifier then serves names, sizes and measurements.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "debias/audit/candidate.h"

namespace debias {

// Each text that at least kLeastRows rows have is a category; all others are one more. The empty text counts like any other.
constexpr int64_t kLeastRows = 5;
CategoryFeatures text_categories(const std::vector<std::string>& texts);

// Up to 32 distinct numbers are categories, as for texts. More are cut into 16 runs of equal length in their order, or fewer if a run
// would have less than 10 rows. NaN is a category of its own. Equal numbers share a category.
CategoryFeatures number_categories(std::span<const double> numbers);

}  // namespace debias
