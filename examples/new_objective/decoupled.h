// The decoupled contrastive loss: InfoNCE without the positive in its denominator.
//
//   L_a = -log[ e^{s_ap} / sum over the negatives j of e^{s_aj} ],   s_ab = z_a . z_b / t,   value = mean over the 2B anchors
//
// p is the other view of a's sample; the negatives are both views of every other sample. L_a may be negative. z [B, V, D], rows of unit
// norm; V > 2: the mean over all unordered pairs of views. One sample has no negatives: its loss is 0.
// Throws: usage error on V < 2 and options out of range; data error on shapes and dtypes.
//
// Source: Yeh et al. 2022, eq. 6.
#pragma once

#include <optional>

#include "debias/core/options.h"
#include "debias/losses/objective.h"

namespace debias {

struct DecoupledOptions {
  static constexpr char kName[] = "decoupled";
  double temperature = 0.5;
  std::optional<double> base_temperature = std::nullopt;
  void describe(OptionVisitor& o);

  ObjectiveResult loss(const ObjectiveInput& input) const;  // the options must be in their ranges
};

inline ObjectiveResult decoupled(const ObjectiveInput& input, const DecoupledOptions& options) { return checked_loss(input, options); }

}  // namespace debias
