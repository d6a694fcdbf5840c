// The whole study of Bayesian contrastive learning: the reference table, the curves of figures 5 and 8, and the samplers of figure 4.
#pragma once

#include "debias/study/bcl_study.h"
#include "debias/study/study_records.h"

namespace debias {

// Results of `base` and of its one-factor changes. Usage errors of the base setting.
BclResults study_bcl(const BclSetting& base, const StudyRun& run);

}  // namespace debias
