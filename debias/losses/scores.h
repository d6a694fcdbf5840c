// Scores that a method has formed itself, and hands to the objective that the recipe names (Objective::on_scores).
//
//   rows             anchors against each other, or against keys: ObjectiveInput (losses/objective.h). The objective forms these scores, and
//                    need not hold all of them. Bilinear scores z^T W k are those of the rows W^T z against the keys k.
//   BankDraws        each anchor against rows of a memory bank, drawn for it alone
//   NeighbourScores  sentences of a text against each other, those next to the anchor being its positives
//
// The objective divides by its temperature, chooses the loss by its options, and takes the mean. Which forms it takes stands in its entry
// (ObjectiveEntry::takes_scores), and what its options have to be there in Objective::refusal().
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
  at::Tensor ids;          // int32 [B, 1 + K] on the CPU: rows of the bank; of each anchor the positive, then K negatives
  BankNce* nce = nullptr;  // the loss, in place of the cross-entropy over the anchor's scores; its state follows the first batch
};

enum class NeighbourNegatives { kNegatives, kOfficial };  // scores/neighbours.h

struct NeighbourScores {
  at::Tensor products;                            // [B, B] of sentence i's f and sentence j's g, sentences in their order
  int64_t context = 1;                            // sentences to either side that are positives, at least 1
  std::optional<NeighbourNegatives> negatives{};  // none: those of the objective's publication
};

// Why options that read labels have no meaning on scores.
inline constexpr const char* kDropsWithoutLabels = "drop_false_negatives: scores have no labels; leave it out";

struct Scores {
  // Of several banks the losses are added.
  std::variant<std::vector<BankDraws>, NeighbourScores> of;

  ScoreForm form() const;
};

}  // namespace debias
