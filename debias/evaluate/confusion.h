// Which class was taken for which: the table that every classifying protocol leaves in its details.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

constexpr int64_t kLargestConfusion = 200;  // classes; of more, the table is left out: it grows with their square

// Adds, over the samples with a label, whatever their bias value:
//   "confusion"   [label][predicted] numbers of images, in the order of the classes; absent above kLargestConfusion classes
//   "per_class"   {class: {"count": images of the class, "predicted": images taken for it,
//                 "accuracy": share of its images predicted right}}
// accuracy is null of a class without images. Labels (kUnknown or below `classes`) and predictions are of one length; `names` may be empty.
void add_confusion(const std::vector<int64_t>& labels, const std::vector<int64_t>& predictions, int64_t classes,
                   const std::vector<std::string>& names, nlohmann::ordered_json& table);

}  // namespace debias
