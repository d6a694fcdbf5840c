// A head on a projection that FairKL keeps free of the bias.
//
// The projection x P, P [D, 64], is trained by epsilon-SupInfoNCE plus FairKL (Barbano et al. 2023, "Unbiased supervised contrastive
// learning") on normalised rows. Adam takes every step on all of at most kFairklRows group-balanced rows. A balanced head on x P then gives
// one linear head on x.
#pragma once

#include <cstdint>

#include "debias/fix/fit_rows.h"
#include "debias/fix/weighted_heads.h"

namespace debias {

constexpr int64_t kFairklRows = 2048;

// `biases`: of each row, as numbers from 0; rows of no group are left out. `l2` is the balanced head's. For standardised rows.
LinearHead fit_fairkl_head(const FitRows& rows, int64_t biases, double l2, uint64_t seed);

}  // namespace debias
