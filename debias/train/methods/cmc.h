// Contrastive multiview coding (Tian, Krishnan and Isola 2020): the two halves of an image's channels (L and ab of L*a*b*, Y and CbCr) are
// its two views, each with a network of its own, and each is compared with a memory bank of the other.
//
//   scores of anchor i against the other half's bank: its own row (the positive, of an earlier epoch), and K rows drawn uniformly
//   after each step: row i <- (momentum row i + (1 - momentum) projection i) / length, in the half's own bank
//
// Both halves' losses are added. An objective that takes draws of each anchor's own (ScoreForm::kDraws: infonce, and debiased_negatives with
// clamp: fallback) is evaluated on them, as is published (and in Chuang et al. 2020, Table 1); `loss: nce` is in place of infonce's
// cross-entropy. Other objectives that take keys are given the same K draws for a whole batch.
// Evaluated are both networks, one after the other.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "debias/core/options.h"
#include "debias/core/safetensors.h"
#include "debias/encoders/encoder.h"
#include "debias/losses/bank_draws.h"
#include "debias/train/methods/method.h"

namespace debias {

// Two networks of one shape, one for the first channels of an image and one for the others, as one encoder and one head: what contrastive
// multiview coding trains and evaluates (both representations, one after the other).

// Features are those of `first` (of the first `channels` channels), then those of `second`. Names are "first." and "second.".
std::shared_ptr<Encoder> channel_halves(std::shared_ptr<Encoder> first, std::shared_ptr<Encoder> second, int64_t channels);

// Each head on the features of its encoder, of which the first has `features`.
std::shared_ptr<Head> head_halves(std::shared_ptr<Head> first, std::shared_ptr<Head> second, int64_t features);

// A memory bank (Wu et al. 2018; contrastive multiview coding): for each sample of the data the feature it had when it was last seen.
//
// A batch is scored against rows that are drawn from it (losses/bank_draws.h), and its own rows are updated after the step. Rows begin
// uniform in [-b, b], b = 1 / sqrt(D / 3), which makes their mean square length 1. All that is drawn is a function of seed and step.
class MemoryBank {
 public:
  // `number` tells apart the banks of a run that share its seed.
  MemoryBank(int64_t samples, int64_t dim, uint64_t seed, uint16_t number = 0, c10::Device device = c10::kCPU);

  const at::Tensor& rows() const { return rows_; }  // [samples, dim] float32, on the device
  int64_t samples() const { return rows_.size(0); }

  // Row ids[i] becomes momentum * row + (1 - momentum) * features[i], divided by its length. Of a sample that is in the batch twice the
  // last feature counts. ids int64 [B] on the CPU, features [B, dim]; a data error for an id that is no sample.
  void update(const at::Tensor& ids, const at::Tensor& features, double momentum = 0.5);

  // The rows, as they are in the tensor `name` of a checkpoint. A data error for the bank of other data or of another dimension.
  void load(const SafetensorsFile& file, const std::string& name);

 private:
  at::Tensor rows_;
};

// What a checkpoint keeps of the estimator against a bank: its normaliser, float64 [1], 0 where none is set. load: a data error where the
// tensor `name` is missing or is no normaliser.
at::Tensor normaliser_state(const BankNce& nce);
void load_normaliser(BankNce& nce, const SafetensorsFile& file, const std::string& name);

// For each sample of a batch the rows to score it against: int32 [B, 1 + negatives], its own id first, then draws that are uniform over
// all samples, with replacement, its own id among them. own: int64 [B].
at::Tensor draw_bank_ids(const at::Tensor& own, int64_t negatives, int64_t samples, uint64_t seed, uint64_t step);

enum class BankLossKind { kSoftmax, kNce };
constexpr auto enum_words(BankLossKind) { return named("softmax", "nce"); }

struct CmcOptions {
  int64_t negatives = 16384;
  double momentum = 0.5;
  BankLossKind loss = BankLossKind::kSoftmax;
  void describe(OptionVisitor& o) {
    o("negatives", negatives, Range::closed(1, 1 << 24),
      "number of memory-bank entries that an anchor is compared with, drawn with replacement");
    o("momentum", momentum, Range::half_open(0, 1), "momentum of the memory-bank entries");
    o("loss", loss, "loss on infonce's scores: cross-entropy, or noise-contrastive estimation");
  }
};

MethodEntry cmc_entry();

}  // namespace debias
