// How an objective for two views uses more than two.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/losses/anchor_losses.h"
#include "debias/losses/objective.h"
#include "debias/losses/two_view.h"

namespace debias {

// grouping: the rows of views 0 and 1 are the anchors and each other's negatives. Further views are additional positives of an anchor, and
//           the exponentials of all its positives are averaged (Chuang et al. 2020, M > 1).
// pairs:    the mean of the two-view losses of all unordered pairs of views.
// With two views both are the two-view loss.
enum class Aggregation { kGrouping, kPairs };

constexpr auto enum_words(Aggregation) { return named("grouping", "pairs"); }

// The sums over pairs of views that an aggregation needs, or over all rows against keys. They are formed once, for any number of losses.
class AggregatedViews {
 public:
  struct Request {
    Aggregation aggregation = Aggregation::kGrouping;
    double temperature = 0.5;
    bool drop_false_negatives = false;
    bool with_self = false;  // as in TwoViewRequest
  };

  // `input` comes from checked_views. Usage error if labels are needed and missing.
  AggregatedViews(const ObjectiveInput& input, const Request& request, const char* objective);

  ObjectiveResult mean(double scale, const std::function<AnchorLosses(const TwoViewSums&)>& losses) const;

 private:
  ObjectiveInput input_;
  const char* objective_;
  std::vector<ViewPair> parts_;                              // with keys
  std::map<std::pair<int64_t, int64_t>, TwoViewSums> sums_;  // by first and second (ViewPair)
  Aggregation aggregation_;
};

}  // namespace debias
