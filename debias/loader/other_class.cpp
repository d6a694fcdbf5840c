#include "debias/loader/other_class.h"

#include <algorithm>
#include <numeric>

#include "debias/core/error.h"

namespace debias {

OtherClassDraw::OtherClassDraw(const Dataset& dataset) : labels_(dataset.size()), order_(labels_.size()), position_(labels_.size()) {
  const auto count = static_cast<int64_t>(labels_.size());
  for (int64_t i = 0; i < count; ++i) labels_[i] = dataset.label(i);
  std::iota(order_.begin(), order_.end(), int64_t{0});
  std::stable_sort(order_.begin(), order_.end(), [this](int64_t a, int64_t b) { return labels_[a] < labels_[b]; });
  for (int64_t position = 0; position < count; ++position) {
    position_[order_[position]] = position;
    auto& block = blocks_.try_emplace(labels_[order_[position]], position, position).first->second;
    block.second = position + 1;
  }
  for (int64_t i = 0; i < count; ++i) {
    const auto [begin, end] = excluded(i);
    if (end - begin == count)
      throw usage_error("views: noise: data set '{}' has images of one class only; set noise: 0", dataset.info().name);
  }
}

std::pair<int64_t, int64_t> OtherClassDraw::excluded(int64_t index) const {
  if (labels_[index] == kUnknown) return {position_[index], position_[index] + 1};
  return blocks_.at(labels_[index]);
}

int64_t OtherClassDraw::draw(int64_t index, Random& random) const {
  const auto [begin, end] = excluded(index);
  const int64_t drawn = random.below(static_cast<int64_t>(order_.size()) - (end - begin));
  return order_[drawn < begin ? drawn : drawn + (end - begin)];
}

}  // namespace debias
