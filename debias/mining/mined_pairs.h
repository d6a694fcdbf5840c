// Finds, without labels, pairs of images that a contrastive loss pushes apart and should not.
//
// For rows z_a of norm 1 with cosines s_ab, temperature t and N = 2B - 2 negatives of an anchor in a batch of B:
//
//   gradient        g_ab = (w_ab + w_ba) / 2,   w_ab = e^{s_ab/t} / (e^{s+/t} + N m_a),   m_a the mean of e^{s_aj/t} over random j
//                   w_ab is the softmax weight of b among the anchor's negatives in an average batch, which is the gradient of InfoNCE with
//                   respect to s_ab in units of 1/t; s+ is the mean cosine of two views, 1 without views
//   false_negative  P(s_ab), the probability that both are of one class
//   rank            by s_ab, or by P(s_ab) g_ab, the expected wrong gradient. Pairs of one class are as frequent or more so by s_ab
//                   (docs/results/pairs.md)
//
// Candidates are every row's 32 nearest (nearest_rows.h); a pair outside both rows' neighbourhoods is not considered. Memory: the rows,
// 33 neighbours per row, and blocks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/core/progress.h"

namespace debias {

// The probability that a negative pair is of one class, from its cosine alone (Bayesian self-supervised contrastive learning, eq. 11 and
// 12):
//
//   P(s) = tau f+(s) / (tau f+(s) + (1 - tau) f-(s)) = tau f+(s) / f(s),   f = tau f+ + (1 - tau) f- the density of random pairs
//
// `tau` is the class prior, the probability that a random pair is of one class. Labels are not used.
//
//   from views     f+ is the density of the cosines of two views of one image, as in the loss itself.
//   from mixture   without views, f- is an empirical null (Efron 2004, "Large-scale simultaneous hypothesis testing: the choice of a null
//                  hypothesis"): a normal density fitted to the lower half of the random pairs, where pairs of one class are rare. Its mean
//                  is the 0.5 (1 - tau) quantile of all random pairs and its deviation reaches from there to the 0.1587 (1 - tau) quantile.
//                  P = 1 - (1 - tau) f- / f, one minus the local false discovery rate.
//
// P is made monotone in s by isotonic regression, weighted by the random pairs, and keeps its last value above the largest of their
// cosines. Assumption of the mixture: cosines of pairs of two classes are normal up to their upper tail.

// The density of the cosine of two images drawn at random.
//
// Cosines are counted in 2,000 equal bins of [-1, 1]. A density is the counts smoothed by a Gaussian of Silverman's bandwidth,
// h = 0.9 sigma m^(-1/5), at least one bin; sigma is the counts' standard deviation and m a number of independent draws, which is less
// than the number of pairs where pairs share rows. Source: Silverman, "Density Estimation", 1986, section 3.4.2.
class CosineCounts {
 public:
  static constexpr int64_t kBins = 2000;

  static int64_t bin_of(double cosine);  // cosines beyond [-1, 1] count in the outer bins
  static double middle_of(int64_t bin) { return -1 + (static_cast<double>(bin) + 0.5) * 2 / kBins; }

  CosineCounts() : count_(kBins) {}
  void add(double cosine) { ++count_[static_cast<size_t>(bin_of(cosine))]; }
  void add(const std::vector<int64_t>& counts);  // [kBins]
  int64_t total() const;
  int64_t count(int64_t bin) const { return count_[static_cast<size_t>(bin)]; }
  double quantile(double share) const;  // of `share` in (0, 1), up to a bin's width
  double standard_deviation() const;
  std::vector<double> density(double draws) const;  // [kBins], sums to 1; `draws` is m above, at least 2

 private:
  std::vector<int64_t> count_;
};

struct RandomPairs {
  CosineCounts cosines;
  std::vector<double> log_mean_exp;  // [n]: log of the mean of e^{cosine / t} over the references other than the row itself
};

// Pairs of each row of `unit` (float32 [n, D] of norm 1 or 0) with up to 2,048 reference rows drawn by `seed`. n >= 2, temperature > 0.
// The result is the same for any number of threads.
RandomPairs random_pairs(const at::Tensor& unit, double temperature, uint64_t seed);

class FalseNegativePosterior {
 public:
  // `rows` is the number of rows of the random pairs. Usage error unless 0 < tau < 1; data error for fewer than 50 pairs of views.
  static FalseNegativePosterior from_views(const CosineCounts& random, int64_t rows, const CosineCounts& views, double tau);
  static FalseNegativePosterior from_mixture(const CosineCounts& random, int64_t rows, double tau);

  double operator()(double cosine) const { return by_bin_[static_cast<size_t>(CosineCounts::bin_of(cosine))]; }  // in [0, 1]

 private:
  explicit FalseNegativePosterior(std::vector<double> by_bin) : by_bin_(std::move(by_bin)) {}
  std::vector<double> by_bin_;  // [kBins], ascending
};

// The nearest non-decreasing values in the weighted sum of squares (pool adjacent violators). Weights of 0 have no effect; if all are 0,
// the values are 0. `values` and `weights` have the same length.
std::vector<double> isotonic(const std::vector<double>& values, const std::vector<double>& weights);

enum class PairKind { kFalseNegative, kDuplicate, kLeak, kRandom };
constexpr auto enum_words(PairKind) { return named("false_negative", "duplicate", "leak", "random"); }

struct MinedPair {
  int64_t a = 0, b = 0;                     // rows: a < b in one split; for a leak, a in the first and b in the second split
  float cosine = 0;                         // in [-1, 1]
  double false_negative = 0, gradient = 0;  // the gradient of a leak is NaN, because the loss never compares the pair
  PairKind kind = PairKind::kFalseNegative;

  double expected_gradient() const { return false_negative * gradient; }
};

enum class PairRank { kSimilarity, kGradient };
constexpr auto enum_words(PairRank) { return named("similarity", "gradient"); }

struct MiningOptions {
  PairRank rank = PairRank::kSimilarity;
  double temperature = 0.5;
  double tau_plus = 0.1;
  int64_t batch_size = 256;
  uint64_t seed = 1;
  void check() const;  // usage error unless temperature in [1e-3, 100], tau_plus in (0, 1), batch_size >= 2
};

// Cosines of two views of images, for a run; a feature table has none.
struct ViewCosines {
  CosineCounts cosines;
  double mean = 1;
  bool known() const { return cosines.total() > 0; }
};
// `views` is [images, 2, D], of any norm.
ViewCosines view_cosines(const at::Tensor& views);

// Ranks all pairs of candidates. `unit` is float32 [n, D], contiguous, with norms 1 or 0 (unit_rows.h). Equal ranks are ordered by cosine,
// then by rows. Rows of one of `groups` are no pair; of a group of more than 224 rows, some pairs with rows outside may be missing. The
// result is the same for any number of threads. Throws a data error for fewer than 2 rows.
class PairRanking {
 public:
  PairRanking(const at::Tensor& unit, const ViewCosines& views, const MiningOptions& options, Progress& progress,
              const std::vector<int32_t>& groups = {});  // one a row, or none

  const std::vector<MinedPair>& pairs() const { return pairs_; }
  const CosineCounts& random_cosines() const { return random_.cosines; }
  double false_negative(float cosine) const;  // P
  double gradient(int64_t a, int64_t b, float cosine) const;
  MinedPair scored(int64_t a, int64_t b, float cosine, PairKind kind) const;

 private:
  double weight(int64_t anchor, float cosine) const;

  MiningOptions options_;
  double positive_;  // s+
  RandomPairs random_;
  std::vector<double> posterior_;  // [CosineCounts::kBins]
  std::vector<MinedPair> pairs_;
};

// `count` pairs of two rows each, or all if there are fewer, drawn uniformly from all pairs without replacement, in the order drawn. Marks
// on this sample estimate the class prior.
std::vector<MinedPair> sampled_pairs(const at::Tensor& unit, const PairRanking& ranking, int64_t count, uint64_t seed);

}  // namespace debias
