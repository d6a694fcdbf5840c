// Rows of a feature table as a data set: labels, bias labels and names, without images.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/features/bias_groups.h"
#include "debias/features/feature_table.h"

namespace debias {

// The rows `places`, in that order, with the groups that the table's columns name; ids are row indices of the table. A null `bias` means no bias labels. get() throws a data error,
// because there are no images.
std::shared_ptr<const Dataset> table_dataset(const TableRows& rows, const JointBias* bias, std::vector<int64_t> places,
                                             const std::string& split);

}  // namespace debias
