// Contrastive multiview coding (Tian, Krishnan and Isola 2020): the two halves of an image's channels (L and ab of L*a*b*, Y and CbCr) are
// its two views, each with a network of its own, and each is compared with a memory bank of the other.
//
//   scores of anchor i against the other half's bank: its own row (the positive, of an earlier epoch), and K rows drawn uniformly
//   after each step: row i <- (momentum row i + (1 - momentum) projection i) / length, in the half's own bank
//
// The objective says what an anchor pays for its scores; both halves' losses are added. `infonce` and `debiased_negatives` with clamp:
// fallback are computed on scores, each anchor with draws of its own (`loss: nce` in place of the cross-entropy for the first), as is
// published (and in Chuang et al. 2020, Table 1). Other objectives that take keys are given the same K draws for a whole batch.
// Judged are both networks, one after the other.
#pragma once

#include "debias/core/options.h"
#include "debias/train/bank_loss.h"
#include "debias/train/method.h"

namespace debias {

class CmcOptions {
 public:
  DEBIAS_OPTION(CmcOptions, int64_t, negatives, 16384)
  DEBIAS_OPTION(CmcOptions, double, momentum, 0.5)
  DEBIAS_OPTION(CmcOptions, BankLossKind, loss, BankLossKind::kSoftmax)
  static const OptionTable<CmcOptions>& table();
};

MethodEntry cmc_entry();

}  // namespace debias
