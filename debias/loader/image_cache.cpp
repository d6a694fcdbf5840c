#include "debias/loader/image_cache.h"

#include <utility>

namespace debias {

ImageCache::ImageCache(std::shared_ptr<const Dataset> dataset, int64_t bytes)
    : dataset_(std::move(dataset)), images_(bytes > 0 ? dataset_->size() : 0), bytes_left_(bytes) {}

ImageCache::~ImageCache() {
  for (auto& image : images_) delete image.load();
}

const Image& ImageCache::get(int64_t index, Image& decoded) const {
  if (images_.empty()) return decoded = dataset_->get(index).image;
  std::atomic<const Image*>& entry = images_[index];
  if (const Image* kept = entry.load(std::memory_order_acquire)) return *kept;
  decoded = dataset_->get(index).image;
  const auto bytes = static_cast<int64_t>(decoded.pixels.size() + sizeof(Image));
  if (bytes_left_.fetch_sub(bytes, std::memory_order_relaxed) < bytes) {
    bytes_left_.fetch_add(bytes, std::memory_order_relaxed);
    return decoded;
  }
  auto copy = std::make_unique<const Image>(decoded);
  const Image* expected = nullptr;
  if (entry.compare_exchange_strong(expected, copy.get(), std::memory_order_acq_rel)) return *copy.release();
  bytes_left_.fetch_add(bytes, std::memory_order_relaxed);
  return *expected;
}

}  // namespace debias
