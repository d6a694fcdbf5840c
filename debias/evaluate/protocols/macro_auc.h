// Macro-AUC: how well cosines separate images of one class from all others.
//
// For an anchor a the ROC-AUC of its cosines with the gallery, rows of its own class against the rest:
//   AUC_a = (#{(p, n): c_ap > c_an} + 1/2 #{(p, n): c_ap = c_an}) / (P N),
// the mean over anchors. 1: every row of the class is nearer than every other; 0.5: chance. It estimates the parameter alpha of Bayesian
// contrastive learning (Liu & Wang 2023, "Bayesian self-supervised contrastive learning", section 4.3), whose code keeps the anchor itself
// in the gallery as a row of its class; here the anchor is left out. Equal cosines count one half, as in scikit-learn's roc_auc_score.
//
// The gallery are the labelled training images. `train.macro_auc` takes its anchors from them too, TEST.macro_auc from the evaluated split.
// Anchors are drawn without replacement by the seed; those without a row of their class, or of another, are left out. Labels are used:
// a run that feeds this to a loss is not unsupervised.
#pragma once

#include <cstdint>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"

namespace debias {

struct MacroAucOptions {
  int64_t anchors = 512;
  Auto<int64_t> seed = {};
  void describe(OptionVisitor& o) {
    o("anchors", anchors, Range::closed(1, 1e9), "number of images of each set that are compared with the gallery");
    o("seed", seed, Range::at_least(0), "seed of the choice of anchors; auto: the run's");
  }
};

struct AucAnchors {
  at::Tensor values;            // float32 [A, D]
  std::vector<int64_t> labels;  // [A]
  std::vector<int64_t> own;     // [A] the anchor's row in the gallery; kUnknown: it is not there
};

struct MacroAuc {
  double value = 0;     // NaN without a usable anchor
  int64_t anchors = 0;  // used
};

// Gallery float32 [N, D] with labels [N]; rows of label kUnknown are left out. Data errors: lengths or widths that differ. Numeric error on
// a row that is not finite.
MacroAuc macro_auc(const at::Tensor& gallery, const std::vector<int64_t>& labels, const AucAnchors& anchors);

// Macro-AUC of the training images, with anchors drawn from them by `options`; a seed of auto is `seed`.
MacroAuc training_macro_auc(const Features& train, const MacroAucOptions& options, uint64_t seed);

std::vector<Metric> macro_auc_metrics();

EvaluationResult run_macro_auc(const EvaluationInput& input, EvaluationCache& cache, const MacroAucOptions& options, Progress& progress);

}  // namespace debias
