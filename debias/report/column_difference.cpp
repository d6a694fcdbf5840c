#include "debias/report/column_difference.h"

#include <algorithm>

namespace debias {

ColumnDifference column_difference(const RunColumn& a, const std::vector<double>& of_a, const RunColumn& b,
                                   const std::vector<double>& of_b) {
  const bool same_seeds = std::ranges::equal(
      a.runs, b.runs, {}, [](const RunRecord* run) { return run->seed(); }, [](const RunRecord* run) { return run->seed(); });
  if (same_seeds && a.has_seeds()) return {paired_difference(of_a, of_b), true};
  return {welch_difference(of_a, of_b), false};
}

}  // namespace debias
