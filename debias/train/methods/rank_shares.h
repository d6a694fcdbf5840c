// Joint work of the ranks inside a step: statistics of batch normalisation over all rows, and each a share of the loss's pairs.
#pragma once

#include <memory>

#include "debias/encoders/batch_norm.h"
#include "debias/pairs/rows.h"
#include "debias/ranks/ranks.h"

namespace debias {

// Both hold on to `ranks`.
std::unique_ptr<const NormPeers> norm_peers(const Ranks& ranks);
std::unique_ptr<const RowShare> row_share(const Ranks& ranks);

}  // namespace debias
