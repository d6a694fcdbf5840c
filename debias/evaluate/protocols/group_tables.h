// What the protocol `groups` leaves in its details for one judged split, for readers who want more than one number.
//
//   "labels", "biases"      names, in the order of the tables
//   "count", "accuracy"     [label][bias]: images of a group and share of them predicted right; null in a group without images
//   "confusion", "per_class"   as in confusion.h
//   "by_bias"               {bias value: {"count", "accuracy", "error_rate", and by class "selection_rate", "true_positive_rate",
//                           "false_positive_rate", "false_negative_rate"}}
//
// The rates of a class c among the images of a bias value are fairlearn's, with c as the positive class: selection, the share of all that
// are predicted as c; true positive, of those of class c; false positive, of those of another class; false negative, one less true
// positive. A rate without images to count is null (fairlearn takes it for 0). Only images of known label and bias value count, but for
// confusion and per_class, which take those of unknown bias value as well.
#pragma once

#include <nlohmann/json.hpp>

#include "debias/data/dataset.h"
#include "debias/evaluate/protocols/group_metrics.h"

namespace debias {

nlohmann::ordered_json group_tables(const DatasetInfo& info, const GroupSamples& samples, const GroupCounts& counts);

}  // namespace debias
