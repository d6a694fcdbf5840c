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

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

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
