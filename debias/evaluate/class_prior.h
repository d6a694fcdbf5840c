// The class prior tau_plus: the chance that two images drawn at random share a class, sum_c p_c^2. `debiased_negatives` and related
// objectives need it: the chance that a negative is of the anchor's class.
//
// From labels of n images, n_c of class c:
//   tau_plus = sum_c n_c (n_c - 1) / (n (n - 1)),
// the share of pairs without replacement that agree: unbiased, and exactly the chance within these n images. Its variance as a U-statistic
// (Hoeffding 1948), with p_c estimated by (n_c + 2 pseudo-labels of classes of their own) / (n + 2), so that it is not zero where all
// labels agree, is
//   (4 (n - 2) (sum p_c^3 - (sum p_c^2)^2) + 2 (sum p_c^2 - (sum p_c^2)^2)) / (n (n - 1)).
// The second part is all there is where classes are equally frequent: the plain delta method gives zero there. The interval is 1.96
// standard deviations to each side, within [0, 1]. In simulations over uniform, skewed and heavy-tailed priors of 2 to 100 classes it
// covered the truth in at least 92 % of samples of 100 to 10,000 labels, and in 88 % of samples of 30 at the worst.
//
// Rows of one group (images of one patient) are not independent, and training leaves group mates out of the negatives. Pairs are then those
// of different groups, and the variance is that of the jackknife over the G groups (Miller 1974): (G - 1) / G sum over g of (tau_g - mean)^2,
// tau_g without group g, but at least that above, and that of G labels where each group is of one class. From similarities, random pairs are of
// different groups, and the bounds have G / 2 and G trials.
//
// Without labels, from similarities: with S the cosine of two rows, pairs of random images are a mixture, random = tau_plus same +
// (1 - tau_plus) other, so that for every threshold s
//   tau_plus <= P_random(S > s) / P_same(S > s).
// Pairs of one class are not known; two views of one image replace them, as they do in the loss itself. That is an assumption, and
// views are usually MORE similar than two images of one class: P_views >= P_same, which makes the ratio smaller than the true bound. The
// result is therefore a bound under the loss's own assumption, and otherwise may be too low: it then counts pairs that the encoder takes
// for two views of one image. Nothing bounds tau_plus from below: all that is like a view may be of another class, so `low` is 0.
//
// The thresholds are the deciles of the views' cosines of every fifth image, which is not used further. For each of the K = 9, from the n
// other images, P_random is the share among all pairs of first views, P_views among the n pairs of views. Both get one-sided bounds of
// confidence 1 - 0.05 / (2 K) by Chernoff's inequality in its Kullback-Leibler form, with n / 2 trials for the first (Hoeffding 1963,
// section 5: a mean over all pairs is at least as concentrated as one over n / 2 disjoint pairs) and n for the second. `high` is the
// smallest ratio of the bounds, and holds with 95 % by the union bound; `tau_plus` is the ratio of the shares at that threshold (Garg et
// al. 2021, "Mixture proportion estimation and PU learning", best bin estimation; the ratio itself: Blanchard, Lee and Scott 2010).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"

namespace debias {

enum class PriorMethod { kLabels, kViews, kDraws };
constexpr auto enum_words(PriorMethod) { return named("labels", "views", "draws"); }

struct PriorEstimate {
  PriorMethod method = PriorMethod::kLabels;
  double tau_plus = 0;
  double low = 0, high = 1;  // 95 %
  int64_t images = 0;        // labelled ones; those whose cosines were compared
  int64_t groups = 0;        // of these images; 0: no image belongs to another
  int64_t classes = 0;       // by labels: classes seen
  double threshold = 0;      // by views: the cosine at which the ratio was taken
};

// Min number of images of class_prior_from_views.
constexpr int64_t kLeastImagesOfViews = 50;

// Not estimated here: kDraws, of labels as a sampler draws them, whose prior is known (train/sampling.h): low and high are tau_plus.

// Labels of kUnknown are left out. A data error with fewer than two others. `groups`: one a label, kUnknown: of none; empty: of none. A data
// error where all are of one group.
PriorEstimate class_prior_from_labels(const std::vector<int64_t>& labels, const std::vector<int64_t>& groups = {});

// rows [B, V, D], V >= 2, of any norm; the first two views of each image are used. Data errors: fewer than two views or than
// kLeastImagesOfViews images; views that do not differ, which would make every ratio meaningless. Numeric error on a row that is not
// finite.
PriorEstimate class_prior_from_views(const at::Tensor& rows, const std::vector<int64_t>& groups = {});

// Assumptions of the estimate, a sentence each.
std::vector<std::string> assumptions(PriorMethod method);

// {"tau_plus", "low", "high", "method", "assumptions", "images", "groups" where images belong together, and "classes" or "threshold"}.
nlohmann::ordered_json to_json(const PriorEstimate& estimate);
std::string prior_text(const PriorEstimate& estimate);  // lines for a person: the estimate, its interval or bound, its assumptions

}  // namespace debias
