// Columns of a CSV as candidates.
#pragma once

#include <string>
#include <vector>

#include "debias/audit/candidate.h"

namespace debias {

// Numbers where every value that is not empty is one (categories.h), texts otherwise.
CategoryFeatures column_categories(const std::vector<std::string>& values);

// Why a column cannot be a candidate: one value alone, or hardly two rows of a value; empty where it can.
std::string unusable_column(const std::vector<std::string>& values);

}  // namespace debias
