// Reads the images of a data set: kept decoded while they fit, each failure with the name of its source, and another image in the place
// of one that cannot be read where that is requested.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/data/decode.h"
#include "debias/data/on_error.h"
#include "debias/image/view_frame.h"

namespace debias {

// Decoded images of a data set, kept while they fit.

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

class ImageReader {
 public:
  static constexpr int kStandIns = 16;  // drawn for one image

  struct Found {
    ImagePart image;  // at least what was requested
    int64_t index = 0;
    std::map<int64_t, std::string> unreadable;  // why not, by index: the requested image, and substitutes drawn before this one
  };

  ImageReader(std::shared_ptr<const Dataset> dataset, OnError on_error, Decode decode, int64_t cache_bytes);

  // At least what `choose` requests of the image, in the cache or in `memory`. With OnError::kSubstitute, where reading it ends in a data
  // error: of the first that can be read of up to kStandIns indices that `draw` gives; when none can, a data error that names the image
  // requested. Thread-safe.
  Found read(int64_t index, const RegionChooser& choose, PartialImage& memory, const std::function<int64_t()>& draw) const;

 private:
  ImagePart read_one(int64_t index, const RegionChooser& choose, PartialImage& memory) const;

  std::shared_ptr<const Dataset> dataset_;
  OnError on_error_;
  ImageCache cache_;
};

// `error`, its message beginning with the source unless that is in it already.
std::exception_ptr with_source(const std::exception_ptr& error, const std::string& source);

}  // namespace debias
