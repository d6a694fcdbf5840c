// Accuracy and rates by class and bias label, which the protocol `groups` leaves in its record for readers who want more than one number.
//
// The rates of a class c among the images of a bias label are fairlearn's, with c as the positive class: selection, the share of all that
// are predicted as c; true positive, of those of class c; false positive, of those of another class; false negative, one less true
// positive. A rate without images to count is NaN (fairlearn takes it for 0). Only images of known label and bias label count.
#pragma once

#include "debias/data/dataset.h"
#include "debias/evaluate/protocols/group_metrics.h"
#include "debias/results/predictions.h"

namespace debias {

GroupTable group_table(const DatasetInfo& info, const PredictionCounts& counts);

}  // namespace debias
