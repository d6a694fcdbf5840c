// Decoded images of a data set, kept while they fit.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/data/decode.h"
#include "debias/image/view_frame.h"

namespace debias {

// Filled lazily by whoever needs an image first. Thread-safe without locks: each entry is published once by a compare-exchange; when two
// threads decode the same image at once, the second result is dropped. Images are kept, whole, until `bytes` are used up; of later ones
// what is needed is decoded anew each time. Neither an image's pixels nor whether it can be read depend on the cache: with
// Decode::kScaled, where pixels depend on what is needed of an image, no such image is kept.
class ImageCache {
 public:
  ImageCache(std::shared_ptr<const Dataset> dataset, Decode decode, int64_t bytes);
  ~ImageCache();
  ImageCache(const ImageCache&) = delete;
  ImageCache& operator=(const ImageCache&) = delete;

  // At least what `choose` requests: of the image where it is kept, else of `decoded`, which it is put into.
  ImagePart get(int64_t index, const RegionChooser& choose, PartialImage& decoded) const;

 private:
  struct Read {
    PartialImage part;
    bool is_keepable = true;
  };
  Read read(int64_t index, const RegionChooser& choose) const;

  const std::shared_ptr<const Dataset> dataset_;
  const Decode decode_;
  mutable std::vector<std::atomic<const Image*>> images_;
  mutable std::atomic<int64_t> bytes_left_;
};

}  // namespace debias
