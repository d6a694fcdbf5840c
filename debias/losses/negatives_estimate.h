// The sum over an anchor's negatives without those of its own class, estimated without labels, and the contrastive loss of that estimate.
//
//   g = (1 / tau_minus) ( S / N - tau_plus P ),     L_a = -log[ e^{s_ap} / (e^{s_ap} + N g) ]
//
// S is the sum of e^s over the N negatives, or an importance-weighted sum in its place; P is the mean of e^s over the positives. g
// estimates a mean of e^s and can fall below the smallest possible value of that mean; Clamp sets what then happens to the anchor.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "debias/core/options.h"
#include "debias/losses/anchor_losses.h"

namespace debias {

enum class Clamp { kFloor, kFallback, kPositive, kNone };

template <>
struct EnumNames<Clamp> {
  static constexpr std::array<std::pair<std::string_view, Clamp>, 4> values = {
      {{"floor", Clamp::kFloor}, {"fallback", Clamp::kFallback}, {"positive", Clamp::kPositive}, {"none", Clamp::kNone}}};
};

struct NegativesEstimate {
  at::Tensor log_sum;        // [rows] log S; kLogOfNothing (two_view.h) for an empty sum
  at::Tensor mean_positive;  // [rows] log P
  at::Tensor positive;       // [rows] s_ap
  int64_t negatives = 0;     // N; 0: every loss is 0
  double tau_plus = 0.1;
  double temperature = 0.5;
  Clamp clamp = Clamp::kFloor;
  double multiplier = 1;  // of s in the terms of log S, which scales the rounding error
};

// Losses, clamped anchors, and the smallest g before any clamp.
AnchorLosses estimate_losses(const NegativesEstimate& estimate);

}  // namespace debias
