// How an objective for two views uses more of them.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "debias/core/options.h"

namespace debias {

// grouping: the rows of views 0 and 1 are the anchors and each other's negatives; the further views only join the anchor's positives, whose
//           exponentials are averaged (Chuang et al. 2020, M > 1).
// pairs:    the two-view loss of every unordered pair of views, averaged.
// With two views both are the two-view loss.
enum class Aggregation { kGrouping, kPairs };

template <>
struct EnumNames<Aggregation> {
  static constexpr std::array<std::pair<std::string_view, Aggregation>, 2> values = {
      {{"grouping", Aggregation::kGrouping}, {"pairs", Aggregation::kPairs}}};
};

}  // namespace debias
