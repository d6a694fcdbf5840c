// Reads the images of a data set: kept decoded while they fit, each failure with the name of its source, and another image in the place
// of one that cannot be read where that is requested.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "debias/augment/view_pipeline.h"
#include "debias/augment/view_target.h"
#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/data/decode.h"
#include "debias/image/view_frame.h"

namespace debias {

// Options of a loader of images.

// Images that are views of one sample: the second view of an image may be made of another of its group.
class LinkedImages {
 public:
  // [images]: the group of each, or kUnknown of an image of none.
  explicit LinkedImages(std::vector<int64_t> groups);
  // An image of the group of `index`, each equally likely, itself included; itself where it has no group.
  int64_t draw(int64_t index, Random& random) const;

 private:
  std::vector<int64_t> groups_;
  std::unordered_map<int64_t, std::vector<int64_t>> members_;
};

struct LoaderOptions {
  int64_t batch_size = 256;
  int64_t views = 1;
  bool drop_last = false;
  int64_t workers = 1;   // 0: in the calling thread
  int64_t prefetch = 2;  // batches ready ahead of the consumer
  uint64_t seed = 1;
  double noise = 0.0;                              // share of second views made from an image of another class
  std::shared_ptr<const LinkedImages> links = {};  // second views are made of an image of the same group
  OnError on_error = OnError::kStop;
  Decode decode = Decode::kExact;
  int64_t cache_megabytes = 1024;  // data sets whose decoded pixels fit stay in memory
  int64_t rank = 0;                // makes the rows [B rank / ranks, B (rank + 1) / ranks) of a batch of B
  int64_t ranks = 1;
  // Memory format of views, so that a network of this format copies nothing: their shape is [V, B, C, H, W] all the same.
  ViewTarget::Order order = ViewTarget::Order::kChannelsFirst;
  ViewTarget::Type type = ViewTarget::Type::kFloat32;

  void check() const;  // a usage error where a value is out of range
};

// Uniform draws of an image of another class, for false-positive views.

// For an image with a label: every image with a different label or none is equally likely. For an image without: every other image.
class OtherClassDraw {
 public:
  // A usage error when some image has no image of another class.
  explicit OtherClassDraw(const Dataset& dataset);
  int64_t draw(int64_t index, Random& random) const;

 private:
  std::pair<int64_t, int64_t> excluded(int64_t index) const;  // positions in order_ that are not eligible

  std::vector<int64_t> labels_;
  std::vector<int64_t> order_;     // indices grouped by label
  std::vector<int64_t> position_;  // of each index in order_
  std::unordered_map<int64_t, std::pair<int64_t, int64_t>> blocks_;
};

// The views of one row of a batch, drawn as soon as the size of its image is known.
class PlannedViews {
 public:
  // Views `first` to `last` - 1 of the row that `key` names; nothing is drawn yet.
  void start(const RngKey& key, int64_t first, int64_t last);

  // Their plans for an image of this size. Drawn once: a plan depends on nothing else.
  std::span<const ViewPlan> of(const ViewPipeline& pipeline, int height, int width);

 private:
  RngKey key_;
  int64_t first_ = 0, count_ = 0;
  int height_ = 0, width_ = 0;  // that the plans are for
  std::vector<ViewPlan> plans_;
};

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
