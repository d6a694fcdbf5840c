// Estimates for a recipe's option sources (train/option_source.h), measured by an observer of the training loop.
#pragma once

#include <memory>

#include "debias/core/progress.h"
#include "debias/data/dataset.h"
#include "debias/train/loop/trainer.h"

namespace debias {

// "estimate.prior" (of the labels of the training set; without labels "bound.prior", of two views of its images) and "estimate.macro_auc"
// and "estimate.augment" (of two views of at most kPriorImages images; options of both are those of `evaluate.macro_auc`), each after the
// epochs at which a term is due to take it. An estimate that cannot be made is named in `log` and left out. Null for a recipe without
// option sources; a data error where macro_auc is requested and the training set has no two classes.
std::shared_ptr<TrainObserver> make_option_estimates(const Recipe& recipe, std::shared_ptr<const Dataset> train, Progress& progress,
                                                     Log& log);

}  // namespace debias
