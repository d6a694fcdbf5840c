// What the anchors of a batch are compared with: the floor between the formulas of the losses and the sums over pairs (pairs/pair_sums.h).
//
// Row v*B + i is view v of sample i, and every row carries three integers. Rows with equal sample keys are views of one image and never
// negatives of each other. Rows with equal labels are of one class; -1 is unknown and matches nothing, not even another -1. Positions in the
// batch have no meaning, so the same code handles any number of views, and rows gathered from several processes.
//
// Label-free losses (BatchComparison): two views u and v of B samples give 2B rows, all of them anchors: rows 0..B-1 are view u, rows B..2B-1 are
// view v, and the positive of row a is row (a + B) mod 2B. With s_ab = z_a . z_b / t, the negatives of a are all rows except a and its
// positive: N = 2B - 2. No exponential is formed without subtracting a maximum or a bound, so t = 1e-3 is as safe as t = 1. With keys
// (ObjectiveInput::keys) all V*B rows are anchors. The negatives of a are the keys of other samples; its positives are the given ones, or the
// keys of its own sample.
//
// Losses over classes (Classes): n = V*B rows, all of them anchors. The positives P(a) of anchor a are the other rows of its class, including
// its own other views; its negatives are the rows of other classes. A sample of unknown label (-1) has its own other views as positives and
// every other sample as a negative. With keys positives and negatives are keys, and the given positives are among them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/losses/objective.h"
#include "debias/pairs/pair_sums.h"

namespace debias {

// From one loss per anchor to an objective's value and diagnostics.
struct AnchorLosses {
  at::Tensor loss;    // [anchors], finite everywhere
  at::Tensor used{};  // bool [anchors]; undefined: all are
  LateNumber clamped = 0;
  std::optional<LateNumber> min_estimate{};
  std::optional<LateNumber> effective_sample_size{};  // mean over these anchors, if negatives are weighted
};

// The mean over the used anchors times `scale`; 0 without any. `engines` computed the sums behind the losses (Rows::engines).
ObjectiveResult mean_over_anchors(const AnchorLosses& losses, double scale, const std::shared_ptr<EngineRecord>& engines = {});

// Combines the results of one objective in several directions, at least one: the sum of their values times `share`.
ObjectiveResult joined(const std::vector<ObjectiveResult>& parts, double share);

// InfoNCE of a sum over the anchor's negatives: log(1 + e^{log_negatives - positive}), log_negatives being the log of that sum.
AnchorLosses losses_against(const at::Tensor& log_negatives, const at::Tensor& positive);

// A loss of 0 for every row, that of an anchor without negatives (a single sample). It is part of the graph.
AnchorLosses no_negatives(const at::Tensor& positive);

// The minimum over rows of estimate * e^shift in double, limited to finite values.
LateNumber smallest_estimate(const at::Tensor& estimate, const at::Tensor& shift);

// log(1 + e^x) without torch's default threshold at x = 20, which has an error of 2e-9.
at::Tensor log_one_plus_exp(const at::Tensor& x);

struct NegativeSum {
  double multiplier = 1;  // k
  bool constant = false;  // without gradient
};

// Anchors with the same number of negatives, for every source of scores: rows of a batch, keys, and neighbours in a text. Tensors are
// [anchors] and part of the graph.
class Anchors {
 public:
  virtual ~Anchors() = default;

  int64_t negatives = 0;     // N
  double temperature;        // t, by which s was divided
  at::Tensor positive;       // s_ap of the positive p in the numerator
  at::Tensor mean_positive;  // log of the mean of e^s over all positives of the anchor; with one positive both are the same
  at::Tensor log_negatives;  // log of the sum of e^s over all N negatives, if requested
  at::Tensor log_kept;       // the same over the kept negatives: log_negatives unless false negatives are dropped
  at::Tensor kept;           // number of kept negatives in the dtype of z, if false negatives are dropped
  at::Tensor labelled;       // bool, if false negatives are dropped: whether the anchor has a label
  at::Tensor itself;         // s_aa, if requested

  at::Tensor sum_of_kept() const;  // log_kept, or all negatives' sum, formed now, where it was not requested

  // Sums over each anchor's negatives j.
  virtual std::vector<at::Tensor> log_sums(const std::vector<NegativeSum>& requests) const = 0;       // log of the sum of e^{k s_aj}
  virtual std::vector<at::Tensor> ranked_log_sums(const std::vector<RankedSum>& requests) const = 0;  // as in pair_sums.h

  // A generous bound on the relative error of e^{k s} in the dtype of the anchors. An estimate this close to its floor does not count as
  // below it.
  double exponential_slack(double multiplier = 1) const;

 protected:
  explicit Anchors(double t) : temperature(t) {}
};

AnchorLosses biased_losses(const Anchors& anchors);  // InfoNCE: of the uncorrected sum over the kept negatives

using LossOfAnchors = std::function<AnchorLosses(const Anchors&)>;

// How an objective for two views uses more than two.
//
// grouping: the rows of views 0 and 1 are the anchors and each other's negatives. Further views are additional positives of an anchor, and
//           the exponentials of all its positives are averaged (Chuang et al. 2020, M > 1).
// pairs:    the mean of the two-view losses of all unordered pairs of views.
// With two views both are the two-view loss.
enum class Aggregation { kGrouping, kPairs };

constexpr auto enum_words(Aggregation) { return named("grouping", "pairs"); }

// How positives are formed: in one pass with the sums over all negatives; alone, for a loss that asks for other sums; or row by row, so that
// the gradients of sums and positives meet in the rows.
enum class PositivesFrom { kSumsOfAll, kSums, kRows };

// The label-free anchors of a batch: those of each pair of views that an aggregation needs, or all rows against keys, in one part for each
// number of negatives. Their sums are formed once, for any number of losses.
class BatchComparison {
 public:
  struct Request {
    const char* objective;  // named in messages
    double temperature;
    Aggregation aggregation = Aggregation::kPairs;
    bool drop_false_negatives = false;
    const char* labels_for = "drop_false_negatives";  // what needs labels, in messages
    bool one_positive = false;                        // only the positive in the numerator is used
    bool with_itself = false;                         // requests Anchors::itself
    PositivesFrom positives = PositivesFrom::kSumsOfAll;
  };

  // All rows are computed in float32 or float64: bfloat16 and float16 in float32, except products of bfloat16 rows.
  // Data error unless z is [B, V, D], floating point and not empty, and the keys fit, or if an anchor has no positive among them. Usage error
  // for V < 2 without keys, missing labels, and several positives for a loss that uses one.
  BatchComparison(const ObjectiveInput& input, const Request& request);
  ~BatchComparison();

  // The mean over anchors, of all parts together, or over pairs of views; pairs without a used anchor are left out. The value of an anchor
  // is its mean over the pairs that use it; clamped anchors are summed over pairs.
  ObjectiveResult mean(double scale, const LossOfAnchors& losses) const;

 private:
  struct Part;
  const Anchors& anchors(size_t part) const;  // formed once
  using LossesOfPart = std::function<AnchorLosses(size_t part)>;
  ObjectiveResult mean_over_parts(double scale, const LossesOfPart& losses_of) const;
  ObjectiveResult mean_over_view_pairs(double scale, const LossesOfPart& losses_of) const;

  ObjectiveInput input_;
  Request request_;
  std::vector<Part> parts_;
  mutable std::vector<std::unique_ptr<Anchors>> anchors_;  // of the parts
};

struct PairKeys {
  at::Tensor sample;  // int64 [rows]
  at::Tensor label;   // int64 [rows]; undefined when the input has none
  at::Tensor bias;    // int64 [rows]; undefined when the input has none
};

// The keys of `views` views of the input's B samples. `objective` names the caller in messages.
// Data error: keys that are not int64 [B], or, if anchors are compared with each other, two samples with the same key. (The loader numbers
// the occurrences of a repeated image, so that their keys differ.)
PairKeys pair_keys(const ObjectiveInput& input, int64_t views, const char* objective);

struct Classes {
  PairKeys keys;            // of the n rows
  Rows pairs;               // grouped by class, or by sample where the input has no labels
  at::Tensor positives;     // [n] |P(a)|, in the dtype of z
  at::Tensor negatives;     // [n]
  at::Tensor is_attracted;  // bool [n]: P(a) is not empty

  ObjectiveResult mean(const at::Tensor& loss, double scale) const { return mean_over_anchors({.loss = loss}, scale, pairs.engines); }
};

// Data error unless z is [B, V, D], floating point and not empty, and the keys fit. Half precision is computed in float32.
Classes classes_of(const ObjectiveInput& input, double temperature, const char* objective);

// Data error unless z is [B, V, D], floating point and not empty.
void require_embeddings(const at::Tensor& z, const char* objective);
void require_labels(const ObjectiveInput& input, const char* objective, const char* reason);  // usage error if they are missing
// Usage error if keys are given to an objective that compares its anchors with each other.
void refuse_keys(const ObjectiveInput& input, const char* objective);

}  // namespace debias
