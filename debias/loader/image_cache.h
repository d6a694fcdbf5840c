// Decoded images of a data set, kept while they fit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "debias/data/dataset.h"

namespace debias {

// Filled lazily by whoever needs an image first. Thread-safe without locks: each entry is published once by a compare-exchange; when two
// threads decode the same image at once, the second result is dropped. Images are kept until `bytes` are used up; later ones are decoded
// anew each time.
class ImageCache {
 public:
  ImageCache(std::shared_ptr<const Dataset> dataset, int64_t bytes);
  ~ImageCache();
  ImageCache(const ImageCache&) = delete;
  ImageCache& operator=(const ImageCache&) = delete;

  // The image itself where it is kept, else `decoded`, which it is put into.
  const Image& get(int64_t index, Image& decoded) const;

 private:
  const std::shared_ptr<const Dataset> dataset_;
  mutable std::vector<std::atomic<const Image*>> images_;
  mutable std::atomic<int64_t> bytes_left_;
};

}  // namespace debias
