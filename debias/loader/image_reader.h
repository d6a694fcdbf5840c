// Reads the images of a data set: kept decoded while they fit, each failure with the name of its source, and another image in the place
// of one that cannot be read where that is requested.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "debias/data/on_error.h"
#include "debias/loader/image_cache.h"

namespace debias {

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
