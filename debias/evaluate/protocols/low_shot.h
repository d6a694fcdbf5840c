// Low-shot evaluation: how well a linear classifier on frozen features does when few training images have labels.
//
// For each setting (a share of each class, or a number of images of each class) and each of `draws` draws, logistic regression
// (logistic_regression.h) is fitted to the drawn training features and evaluated on all images of each evaluated split. Features are
// standardised by mean and deviation of all training features, which need no labels. Reported are the mean over the draws and Student's
// interval of that mean; what other evaluated images or another training seed would change is not in it.
//
// A draw takes the first images of a random order of each class, so that of one draw the smaller settings are part of the larger ones. The
// orders depend on the seed, the draw and the class alone. A share p of a class of n images takes round(p n), at least one. A class without
// training images is never predicted.
//
// Labels of 1 % and 10 % of the images are those of Chen et al. 2020 ("A simple framework for contrastive learning"), who train the encoder
// on them; linear classifiers on frozen features of few images of each class those of Assran et al. 2022 ("Masked Siamese networks").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/options.h"
#include "debias/evaluate/protocol.h"

namespace debias {

struct LowShotOptions {
  std::vector<double> shares = {0.01, 0.1};
  std::vector<int64_t> per_class = {};
  int64_t draws = 5;
  double level = 0.95;
  double l2 = 1;
  int64_t iterations = 1000;
  Auto<int64_t> seed = {};
  void describe(OptionVisitor& o);
};

// Number of images of each class that have labels.
struct LowShotSetting {
  std::string name;       // "1pct", "5_per_class"
  double share = 0;       // of each class; 0: per_class counts
  int64_t per_class = 0;  // of each class

  int64_t count_of(int64_t class_size) const;
};

std::vector<LowShotSetting> low_shot_settings(const LowShotOptions& options);  // shares first

// Rows of one draw, ascending; labels [N], kUnknown is never drawn. No class has fewer rows than the setting takes.
std::vector<int64_t> low_shot_rows(const std::vector<int64_t>& labels, const LowShotSetting& setting, int64_t draw, uint64_t seed,
                                   const std::vector<int64_t>& groups = {});

std::vector<Metric> low_shot_metrics();

// Labels in all sets, and no class with fewer training images than `per_class` requests: a data error names the class.
void check_low_shot_data(const EvaluationInput& input, const LowShotOptions& options);

// Metrics low_shot_acc1_SETTING and low_shot_acc5_SETTING of each evaluated split, with the values of the draws in the record's by_draw and,
// from two draws on, intervals.
EvaluationResult run_low_shot(const EvaluationInput& input, EvaluationCache& cache, const LowShotOptions& options, Progress& progress);

}  // namespace debias
