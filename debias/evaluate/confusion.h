// Which class was taken for which: the table that every classifying protocol leaves in its record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/results/predictions.h"

namespace debias {

constexpr int64_t kLargestConfusion = 200;  // classes; of more, the confusion is left out: it grows with their square

// Over the samples with a label, whatever their bias label. Labels (kUnknown or below `classes`) and predictions are of one length; `names`
// may be empty.
ClassTable class_table(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions, int64_t classes,
                       const std::vector<std::string>& names);

}  // namespace debias
