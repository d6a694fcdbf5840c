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

#include <array>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/train/methods/method.h"

namespace debias {

enum class BankLossKind { kSoftmax, kNce };
template <>
struct EnumNames<BankLossKind> {
  static constexpr std::array<std::pair<std::string_view, BankLossKind>, 2> values = {
      {{"softmax", BankLossKind::kSoftmax}, {"nce", BankLossKind::kNce}}};
};

class CmcOptions {
 public:
  DEBIAS_OPTION(CmcOptions, int64_t, negatives, 16384)
  DEBIAS_OPTION(CmcOptions, double, momentum, 0.5)
  DEBIAS_OPTION(CmcOptions, BankLossKind, loss, BankLossKind::kSoftmax)
  static const OptionTable<CmcOptions>& table();
};

MethodEntry cmc_entry();

}  // namespace debias
