#include "debias/loader/loader_options.h"

#include <algorithm>
#include <numeric>

#include "debias/core/error.h"
#include "debias/data/sample_table.h"

namespace debias {

void LoaderOptions::check() const {
  const auto at_least = [](const char* name, int64_t value, int64_t least) {
    if (value < least) throw usage_error("loader: {}: {} is out of range; give a value that is >= {}", name, value, least);
  };
  at_least("batch_size", batch_size, 1);
  at_least("views", views, 1);
  at_least("workers", workers, 0);
  at_least("prefetch", prefetch, 1);
  at_least("cache_megabytes", cache_megabytes, 0);
  at_least("rank", rank, 0);
  at_least("ranks", ranks, rank + 1);
  const auto at_most = [](const char* name, int64_t value, int64_t most) {
    if (value > most) throw usage_error("loader: {}: {} is out of range; give a value that is <= {}", name, value, most);
  };
  at_most("views", views, UINT16_MAX);  // what a RngKey holds
  at_most("workers", workers, 1024);
  at_most("prefetch", prefetch, 1024);
  if (!(noise >= 0 && noise <= 1)) {
    throw usage_error("views: noise: {} is out of range; give a value in [0, 1]", noise);
  }
  if (links != nullptr && views < 2) throw usage_error("data: must_link: positive needs a second view; set views.count: 2");
  if (links != nullptr && noise > 0) {
    throw usage_error("data: must_link: positive and views: noise both choose the image of a second view; leave one out");
  }
  if (noise > 0 && views < 2) throw usage_error("views: noise needs a second view; set count: 2");
}

LinkedImages::LinkedImages(std::vector<int64_t> groups) : groups_(std::move(groups)) {
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i] != kUnknown) members_[groups_[i]].push_back(static_cast<int64_t>(i));
  }
}

int64_t LinkedImages::draw(int64_t index, Random& random) const {
  const int64_t group = groups_[static_cast<size_t>(index)];
  if (group == kUnknown) return index;
  const std::vector<int64_t>& members = members_.at(group);
  return members[static_cast<size_t>(random.below(std::ssize(members)))];
}

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

void PlannedViews::start(const RngKey& key, int64_t first, int64_t last) {
  key_ = key;
  first_ = first;
  count_ = last - first;
  height_ = width_ = 0;
  if (std::ssize(plans_) < count_) plans_.resize(count_);
}

std::span<const ViewPlan> PlannedViews::of(const ViewPipeline& pipeline, int height, int width) {
  if (height != height_ || width != width_) {
    for (int64_t i = 0; i < count_; ++i) {
      key_.view = static_cast<uint16_t>(first_ + i);
      pipeline.draw(height, width, key_, plans_[i]);
    }
    height_ = height;
    width_ = width;
  }
  return {plans_.data(), static_cast<size_t>(count_)};
}

}  // namespace debias
