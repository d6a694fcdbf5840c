// The difference of a number between two columns, against the spread of their seeds.
#pragma once

#include <vector>

#include "debias/report/run_column.h"
#include "debias/report/seed_interval.h"

namespace debias {

struct ColumnDifference : SeedDifference {  // no half width where a side has one seed
  // A difference that is the same in every seed has an interval without width, which is no evidence about further seeds.
  bool has_width() const { return interval.half_width > 0; }
  bool larger_than_spread() const { return has_width() && (interval.low() > 0 || interval.high() < 0); }
};

// Values by run of each column; NaN where a run lacks the number. Paired or not as seed_difference() says.
ColumnDifference column_difference(const RunColumn& a, const std::vector<double>& of_a, const RunColumn& b,
                                   const std::vector<double>& of_b);

}  // namespace debias
