// Converts texts and numbers to categories, so that one classifier handles names, sizes and measurements.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "debias/audit/candidate.h"

namespace debias {

// Each text with at least kLeastRows rows is a category; all others form one more. The empty text is treated like any other.
constexpr int64_t kLeastRows = 5;
CategoryFeatures text_categories(const std::vector<std::string>& texts);

// Up to 32 distinct numbers are categories, as for texts. More are divided into 16 quantile ranges, or fewer if a range
// would have less than 10 rows. NaN is a category of its own. Equal numbers share a category.
CategoryFeatures number_categories(std::span<const double> numbers);

}  // namespace debias
