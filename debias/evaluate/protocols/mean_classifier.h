// The mean classifier: each class by the mean of its training features.
//
//   mu_c = mean over training images i of class c of f_i / |f_i|,   logits_c(x) = <f(x) / |f(x)|, mu_c> / t,
//   loss = -mean_x log softmax(logits(x))[y(x)]
//
// There is no bias and nothing is trained. It is the classifier for which contrastive losses bound the error (Arora et al. 2019, "A
// theoretical analysis of contrastive unsupervised representation learning", section 3; Chuang et al. 2020, section 4). A class without
// training images has the logit 0.
#pragma once

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"

namespace debias {

struct MeanClassifierOptions {
  double temperature = 1.0;
  void describe(OptionVisitor& o) { o("temperature", temperature, Range::closed(1e-3, 100), "divides the logits; acts on the loss alone"); }
};

// float32 [classes, D]; features float32 [N, D], labels [N], kUnknown or below `classes`. Data error when their lengths differ; numeric
// error on a row that is not finite.
at::Tensor class_means(const at::Tensor& features, const std::vector<int64_t>& labels, int64_t classes);

std::vector<Metric> mean_classifier_metrics();

// Metrics mean_classifier_acc1, mean_classifier_acc5 and mean_classifier_loss (nats) of each evaluated split.
EvaluationResult run_mean_classifier(const EvaluationInput& input, EvaluationCache& cache, const MeanClassifierOptions& options,
                                     Progress& progress);

}  // namespace debias
