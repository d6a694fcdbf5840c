#include "debias/report/holm.h"

#include <algorithm>
#include <cmath>

namespace debias {

std::vector<double> holm_adjusted(const std::vector<double>& p) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](size_t i) { return p[i]; });
  std::vector<double> adjusted(p.size(), NAN);
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::fmax(largest, std::fmin(1, static_cast<double>(order.size() - rank) * p[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

}  // namespace debias
