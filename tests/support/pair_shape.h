// The size of a problem of pairs: what tests of pair sums are run over.
#pragma once

#include <cstdint>
#include <ostream>

namespace debias {

struct PairShape {
  int64_t n, dim, groups;
  double temperature;
};

inline void PrintTo(const PairShape& shape, std::ostream* out) {
  *out << "n " << shape.n << ", D " << shape.dim << ", groups " << shape.groups << ", t " << shape.temperature;
}

}  // namespace debias
