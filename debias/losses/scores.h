// Scores that a method has formed itself and passes to the recipe's objective (Objective::on_scores).
//
//   rows             anchors against each other, or against keys: ObjectiveInput (losses/objective.h). The objective forms these scores and
//                    need not hold all of them. Bilinear scores z^T W k are those of the rows W^T z against the keys k.
//   BankDraws        each anchor against rows of a memory bank that are drawn for this anchor alone
//   NeighbourScores  sentences of a text against each other; the sentences next to the anchor are its positives
//
// The objective divides by its temperature, computes the loss by its options, and takes the mean. ObjectiveEntry::takes_scores lists the
// forms that an objective accepts; Objective::refusal() explains which options a form excludes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "debias/losses/objective.h"

namespace debias {

class BankNce;

struct BankDraws {
  at::Tensor anchors;      // [B, D]
  at::Tensor bank;         // [n, D], without gradient
  at::Tensor ids;          // int32 [B, 1 + K] on the CPU, rows of the bank: the positive of each anchor, then K negatives
  BankNce* nce = nullptr;  // loss that replaces the cross-entropy over the scores; its state is set by the first batch
};

enum class NeighbourNegatives { kNegatives, kOfficial };  // neighbours.h

struct NeighbourScores {
  at::Tensor products;                            // [B, B] products of sentence i's f and sentence j's g, in the order of the text
  int64_t context = 1;                            // number of positives on either side, at least 1
  std::optional<NeighbourNegatives> negatives{};  // none: as in the objective's paper
};

// Why options that need labels are rejected for scores.
inline constexpr const char* kDropsWithoutLabels = "drop_false_negatives: scores have no labels; leave it out";

struct Scores {
  // The losses of several banks are added.
  std::variant<std::vector<BankDraws>, NeighbourScores> of;

  ScoreForm form() const;
};

}  // namespace debias
