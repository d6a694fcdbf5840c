#include "debias/loader/image_reader.h"

#include <algorithm>
#include <exception>
#include <new>
#include <numeric>
#include <stdexcept>

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

std::exception_ptr with_source(const std::exception_ptr& error, const std::string& source) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    const std::string message = e.what();
    if (message.find(source) != std::string::npos) return error;
    return std::make_exception_ptr(Error(e.kind(), source + ": " + message));
  } catch (const std::bad_alloc&) {
    return std::make_exception_ptr(resource_error("{}: out of memory while its views were made; lower batch_size or workers", source));
  } catch (const std::exception& e) {
    return std::make_exception_ptr(std::runtime_error(source + ": " + e.what()));
  }
}

ImageReader::ImageReader(std::shared_ptr<const Dataset> dataset, OnError on_error, Decode decode, int64_t cache_bytes)
    : dataset_(std::move(dataset)), on_error_(on_error), cache_(dataset_, decode, cache_bytes) {}

ImagePart ImageReader::read_one(int64_t index, const RegionChooser& choose, PartialImage& memory) const {
  try {
    return cache_.get(index, choose, memory);
  } catch (...) {
    std::rethrow_exception(with_source(std::current_exception(), dataset_->source(index)));
  }
}

ImageReader::Found ImageReader::read(int64_t index, const RegionChooser& choose, PartialImage& memory,
                                     const std::function<int64_t()>& draw) const {
  Found found{{}, index, {}};
  const int64_t most = std::min<int64_t>(kStandIns, dataset_->size() - 1);
  for (int64_t drawn = 0;; ++drawn, found.index = draw()) {
    try {
      found.image = read_one(found.index, choose, memory);
      return found;
    } catch (const Error& error) {
      if (on_error_ == OnError::kStop || error.kind() != ErrorKind::kData) throw;
      found.unreadable.emplace(found.index, error.what());
    }
    if (drawn == most) {
      throw data_error("{}; nor can {} others drawn in its place be read; look at all of them with debias data check",
                       found.unreadable.at(index), drawn);
    }
  }
}

namespace {

int64_t bytes_of(int height, int width, int channels) {
  return static_cast<int64_t>(height) * width * channels + static_cast<int64_t>(sizeof(Image));
}

ImagePart part_of(const PartialImage& part) {
  return {part.image.pixels.data(), part.image.channels, part.region, part.height, part.width};
}

}  // namespace

ImageCache::ImageCache(std::shared_ptr<const Dataset> dataset, Decode decode, int64_t bytes)
    : dataset_(std::move(dataset)), decode_(decode), images_(bytes > 0 ? dataset_->size() : 0), bytes_left_(bytes) {}

ImageCache::~ImageCache() {
  for (auto& image : images_) delete image.load();
}

ImagePart ImageCache::get(int64_t index, const RegionChooser& choose, PartialImage& decoded) const {
  if (images_.empty()) return part_of(decoded = dataset_->region(index, choose));
  std::atomic<const Image*>& entry = images_[index];
  if (const Image* kept = entry.load(std::memory_order_acquire)) return whole(*kept);
  Read found = read(index, choose);
  decoded = std::move(found.part);
  if (!found.is_keepable) return part_of(decoded);
  const int64_t bytes = bytes_of(decoded.height, decoded.width, decoded.image.channels);
  if (bytes_left_.fetch_sub(bytes, std::memory_order_relaxed) < bytes) {
    bytes_left_.fetch_add(bytes, std::memory_order_relaxed);
    return part_of(decoded);
  }
  auto copy = std::make_unique<const Image>(decoded.image);
  const Image* expected = nullptr;
  if (entry.compare_exchange_strong(expected, copy.get(), std::memory_order_acq_rel)) return whole(*copy.release());
  bytes_left_.fetch_add(bytes, std::memory_order_relaxed);
  return whole(*expected);
}

// Whole where there is room to keep it. Damage beyond what is needed then fails the reading, which without that room it would not: what is
// needed decides.
ImageCache::Read ImageCache::read(int64_t index, const RegionChooser& choose) const {
  bool has_choice = false, is_kept = true;
  const auto whole_if_kept = [&](int height, int width) {
    has_choice = true;
    is_kept = decode_ == Decode::kExact && bytes_of(height, width, 3) <= bytes_left_.load(std::memory_order_relaxed);
    return is_kept ? whole_region(height, width) : choose(height, width);
  };
  try {
    PartialImage part = dataset_->region(index, whole_if_kept);
    return {std::move(part), is_kept};
  } catch (const Error& error) {
    if (!has_choice || !is_kept || error.kind() != ErrorKind::kData) throw;
  }
  return {dataset_->region(index, choose), false};
}

}  // namespace debias
