// Converts columns of a CSV to candidates.
#pragma once

#include <string>
#include <vector>

#include "debias/audit/candidate.h"

namespace debias {

// Numbers if every known value is one (categories.h), texts otherwise. Integers that occur kLeastRows times on average are texts
// too, because they number sites or devices. An empty value and a word for a missing one (is_missing_word) are unknown.
CategoryFeatures column_categories(const std::vector<std::string>& values);

// Why a column cannot be a candidate: it has a single value, or nearly every row has its own; empty if it can.
std::string unusable_column(const std::vector<std::string>& values);

}  // namespace debias
