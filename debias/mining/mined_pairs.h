// Finds, without labels, pairs of images that a contrastive loss pushes apart and should not.
//
// For rows z_a of norm 1 with cosines s_ab, temperature t and N = 2B - 2 negatives of an anchor in a batch of B:
//
//   gradient        g_ab = (w_ab + w_ba) / 2,   w_ab = e^{s_ab/t} / (e^{s+/t} + N m_a),   m_a the mean of e^{s_aj/t} over random j
//                   w_ab is the softmax weight of b among the anchor's negatives in an average batch, which is the gradient of InfoNCE with
//                   respect to s_ab in units of 1/t; s+ is the mean cosine of two views, 1 without views
//   false_negative  P(s_ab), the probability that both are of one class (false_negative_posterior.h)
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
#include "debias/mining/false_negative_posterior.h"

namespace debias {

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
