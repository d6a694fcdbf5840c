#include "debias/loader/image_reader.h"

#include <algorithm>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "debias/core/error.h"

namespace debias {

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
