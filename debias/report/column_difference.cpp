#include "debias/report/column_difference.h"

namespace debias {

ColumnDifference column_difference(const RunColumn& a, const std::vector<double>& of_a, const RunColumn& b,
                                   const std::vector<double>& of_b) {
  const auto with_seeds = [](const RunColumn& column, const std::vector<double>& values) {
    SeedValues found{{}, values};
    for (const RunRecord* run : column.runs) found.seeds.push_back(run->seed());
    return found;
  };
  return {seed_difference(with_seeds(a, of_a), with_seeds(b, of_b))};
}

}  // namespace debias
