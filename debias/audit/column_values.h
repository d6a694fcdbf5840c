// Columns of a CSV as candidates.
#pragma once

#include <string>
#include <vector>

#include "debias/audit/candidate.h"

namespace debias {

// Numbers if every known value is one (categories.h), texts otherwise. Integers of which each occurs kLeastRows times on average are texts
// too: they number sites or devices. An empty value and a word for a missing one (is_missing_word) are unknown.
CategoryFeatures column_categories(const std::vector<std::string>& values);

// The reason why a column cannot be a candidate, or empty: it has a single value, or hardly two rows of a value.
std::string unusable_column(const std::vector<std::string>& values);

}  // namespace debias
