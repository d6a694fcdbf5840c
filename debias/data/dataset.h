// A data set: a size, and for each index an image with its id, label and bias. Nothing random happens in get().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/image/image.h"
#include "debias/image/partial_image.h"

namespace debias {

constexpr int64_t kUnknown = -1;  // a label or bias that is not known; it matches nothing

struct Sample {
  Image image;
  int64_t id = 0;  // index in the source: stays the same under splits and selections
  int64_t label = kUnknown;
  int64_t bias = kUnknown;
};

struct DatasetInfo {
  std::string name;                      // registry name
  std::string split;                     // train, test, held_out, ...
  std::vector<std::string> class_names;  // empty when unlabelled
  std::vector<std::string> bias_names;   // empty when there is no bias attribute
  int channels = 3;
  int height = 0, width = 0;         // 0 when images differ
  std::vector<double> mean, std;     // the field's normalisation constants for it, per channel, of values in [0, 1]
  std::vector<std::string> remarks;  // one line each: what a reader left out
};

// Thread-safe for concurrent calls of every const method.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const DatasetInfo& info() const = 0;
  virtual int64_t size() const = 0;
  virtual Sample get(int64_t index) const = 0;  // data error naming the file when it cannot be read
  // At least what `choose` asks for, which is called where less than the whole can be read: with less work than get(), and blind to some
  // damage outside of it.
  virtual PartialImage region(int64_t index, const RegionChooser&) const { return PartialImage::whole(get(index).image); }
  virtual int64_t id(int64_t index) const { return index; }
  virtual int64_t label(int64_t) const { return kUnknown; }  // without decoding
  virtual int64_t bias(int64_t) const { return kUnknown; }
  virtual std::string source(int64_t index) const = 0;  // "train/cat/0001.jpg" or "data_batch_1.bin record 17", for messages and embed
};

// Throws std::out_of_range unless 0 <= index < size(): a mistake of the program, not of a user.
void require_index(const Dataset& dataset, int64_t index);

}  // namespace debias
