// A data set: a table of samples, and for each index an image. Nothing random happens in get().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/sample_table.h"
#include "debias/image/image.h"

namespace debias {

struct Sample {
  Image image;
  int64_t id = 0;  // index in the source: stays the same under splits and selections
  int64_t label = kUnknown;
  int64_t bias = kUnknown;
};

// Thread-safe for concurrent calls of every const method.
class Dataset : public SampleTable {
 public:
  std::string what() const override { return "images"; }
  const Dataset* images() const override { return this; }
  virtual Sample get(int64_t index) const = 0;  // data error naming the file when it cannot be read
  // At least what `choose` requests, which is called if less than the whole can be read: with less work than get(), and blind to some
  // damage outside of it.
  virtual PartialImage region(int64_t index, const RegionChooser&) const { return PartialImage::whole(get(index).image); }
};

// Throws std::out_of_range unless 0 <= index < size(): a mistake of the program, not of a user.
void require_index(const Dataset& dataset, int64_t index);

}  // namespace debias
