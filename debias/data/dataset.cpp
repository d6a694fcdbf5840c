#include "debias/data/dataset.h"

#include <fmt/format.h>

#include <stdexcept>

namespace debias {

void require_index(const Dataset& dataset, int64_t index) {
  if (index >= 0 && index < dataset.size()) return;
  throw std::out_of_range(fmt::format("data set '{}': index {} of {} images", dataset.info().name, index, dataset.size()));
}

}  // namespace debias
