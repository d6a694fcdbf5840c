#include "debias/data/dataset.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace debias {

void require_index(const Dataset& dataset, int64_t index) {
  if (index >= 0 && index < dataset.size()) return;
  throw std::out_of_range(fmt::format("data set '{}': index {} of {} images", dataset.info().name, index, dataset.size()));
}

Subset::Subset(std::shared_ptr<const Dataset> source, std::vector<int64_t> indices, std::string split, const std::string& remark)
    : source_(std::move(source)), indices_(std::move(indices)), info_(source_->info()) {
  for (int64_t index : indices_) require_index(*source_, index);
  info_.split = std::move(split);
  if (!remark.empty()) info_.remarks.push_back(remark);
}

int64_t Subset::at(int64_t index) const {
  require_index(*this, index);
  return indices_[static_cast<size_t>(index)];
}

}  // namespace debias
