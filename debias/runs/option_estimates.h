// Estimates for a recipe's option sources (train/option_source.h), measured by an observer of the training loop.
#pragma once

#include <memory>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/train/loop/trainer.h"

namespace debias {

// Measures "estimate.prior" from the labels of the training set (without labels "bound.prior", from two views of its images), and
// "estimate.macro_auc" and "estimate.augment" from two views of at most kPriorImages images, with the options of `evaluate.macro_auc`. Each
// is measured after the epochs at which a term uses it. An estimate that cannot be made is left out, with a line in `log`. Null for a
// recipe without option sources. Data error if macro_auc is requested and the training set has fewer than two classes.
std::shared_ptr<TrainObserver> make_option_estimates(const Recipe& recipe, std::shared_ptr<const Dataset> train, Progress& progress,
                                                     Log& log);

}  // namespace debias
