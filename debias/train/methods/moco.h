// Momentum contrast: keys come from a copy of the network that follows it slowly, and from a queue of earlier keys.
//
//   q = projection of one view by the network, k = projection of the other by the copy, both of unit norm
//   after each step: copy <- momentum copy + (1 - momentum) network (parameters; running statistics are the copy's own)
//
// version v2 (He et al. 2020, Algorithm 1; Chen et al. 2020): each q has its own k as positive and the queue's K keys as negatives; then
//   the batch's keys take the place of the oldest. The queue begins with random rows of unit norm.
// version v3 (Chen, Xie and He 2021): no queue; the keys of the batch are compared with, in both directions, and q passes a predictor (two
//   layers with batch normalisation) that the copy lacks. `queue: 0` with any other option is its shape without one. Its momentum rises to 1
//   by half a cosine: 1 - (1 - momentum) (1 + cos(pi f)) / 2 with the share f of the run's steps that is done.
//
// The ids of the samples and, where known, their labels travel with the keys: keys of the anchor's own image are not negatives, objectives
// over classes find their positives in the queue, and the share of the negatives that are of the anchor's class is logged
// (false_negative_share).
//
// shuffle_bn G (ShuffleBN, He et al. section 3.3): a query and its positive key are normalised with statistics of the same set of images, the
// keys of the queue with those of other batches, so that the statistics give the positive away. With G > 1 the copy's batch is permuted, each
// of G groups is normalised by itself, and the keys are put back in order; the permutation follows from seed and step. Queries keep the
// statistics of the whole batch. G divides the batch and leaves at least two images in a group; with several ranks it is rejected, since a
// group needs images of all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/options.h"
#include "debias/core/safetensors.h"
#include "debias/train/methods/method.h"
#include "debias/train/methods/model.h"

namespace debias {

// The newest keys of a run, with the samples and labels that they are of: a ring of rows.
class KeyQueue {
 public:
  // `size` random rows of unit norm, a function of `seed`, of no sample and no class (-1).
  KeyQueue(int64_t size, int64_t dim, uint64_t seed, c10::Device device);

  // Rows [n, D] take the place of the oldest, in place: after the backward pass that reads them. n divides the size.
  void add(const at::Tensor& rows, const at::Tensor& samples, const at::Tensor& labels);

  const at::Tensor& rows() const { return rows_; }        // float32 [K, D]
  const at::Tensor& samples() const { return samples_; }  // int64 [K]
  const at::Tensor& labels() const { return labels_; }

  std::vector<std::pair<std::string, at::Tensor>> state() const;  // "queue.rows", ".samples", ".labels", ".next"
  void load(const SafetensorsFile& file);                         // data errors: missing, or of another size

 private:
  at::Tensor rows_, samples_, labels_;
  int64_t next_ = 0;
};

// A copy of encoder and head that follows them: theta' <- m theta' + (1 - m) theta, without gradient. A part that any method can have.
class MomentumCopy {
 public:
  MomentumCopy(const Model& of, const Recipe& recipe, int64_t channels);  // equal to it at first; channels of the images

  void follow(const Model& model, double momentum);  // parameters; running statistics are the copy's own, of what passes it
  ModelOutput forward(const torch::Tensor& images, const ForwardOptions& options) const { return debias::forward(copy_, images, options); }

  std::vector<const torch::nn::Module*> networks() const { return {copy_.encoder.get(), copy_.head.get()}; }
  Encoder& encoder() const { return *copy_.encoder; }
  std::vector<std::pair<std::string, torch::Tensor>> state() const;  // "momentum.encoder.", "momentum.head."
  void load(const SafetensorsFile& file);

 private:
  Model copy_;
};

// A batch's rows in a random order, cut into groups of one size, and back: what ShuffleBN normalises together (He et al. 2020, section 3.3).
class ShuffledGroups {
 public:
  // A uniformly random order that follows from seed and step alone. `groups` divides `rows` (logic error otherwise).
  ShuffledGroups(int64_t rows, int64_t groups, uint64_t seed, uint64_t step);

  const std::vector<at::Tensor>& groups() const { return groups_; }  // int64 [rows / groups] each: which rows
  // Results of the groups [rows / groups, ...], one after the other, as [rows, ...] in the batch's own order.
  at::Tensor in_order(const std::vector<at::Tensor>& of_groups) const;

 private:
  std::vector<at::Tensor> groups_;
  at::Tensor place_;  // int64 [rows]: of each row among the groups
};

enum class MomentumSchedule { kConstant, kCosine };
constexpr auto enum_words(MomentumSchedule) { return named("constant", "cosine"); }

enum class MocoVersion { kV2, kV3 };
constexpr auto enum_words(MocoVersion) { return named("v2", "v3"); }

struct MocoOptions {
  MocoVersion version = MocoVersion::kV2;
  Auto<double> momentum = {};
  Auto<MomentumSchedule> momentum_schedule = {};
  Auto<int64_t> queue = {};
  Auto<bool> symmetric = {};
  Auto<int64_t> predictor = {};
  int64_t shuffle_bn = 1;
  void describe(OptionVisitor& o) {
    o("version", version, "v2: a queue of keys; v3: the batch's own keys, both directions, a predictor");
    o("momentum", momentum, Range::closed(0, 1), "momentum of the key encoder; auto: 0.999 in v2, 0.99 in v3");
    o("momentum_schedule", momentum_schedule, "cosine: rises to 1 over the run; auto: constant in v2, cosine in v3");
    o("queue", queue, Range::closed(0, 1 << 24),
      "number of keys in the queue, a multiple of the keys per step; auto: 4096 in v2, 0 (no queue) in v3");
    o("symmetric", symmetric, "use each view as queries for the keys of the other; auto: true in v3");
    o("predictor", predictor, Range::closed(0, 65536),
      "hidden width of the predictor, a head on the queries only; 0: no predictor; auto: 0 in v2, 4096 in v3");
    o("shuffle_bn", shuffle_bn, Range::closed(1, 65536),
      "number of groups of the shuffled batch that the momentum encoder normalises separately, a divisor of the batch size; 1: no "
      "shuffling");
  }

  MocoOptions resolved() const;  // `auto` by version
};

// The momentum of resolved options once `done` of `steps` steps are.
double momentum_at(const MocoOptions& options, int64_t done, int64_t steps);

MethodEntry moco_entry();

}  // namespace debias
