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

// Some images of a data set, in a given order. Ids, labels and biases stay those of the source.
class Subset : public Dataset {
 public:
  // `indices` into `source`; std::out_of_range when one is not. `split` becomes info().split, and `remark`, if any, one of its remarks.
  Subset(std::shared_ptr<const Dataset> source, std::vector<int64_t> indices, std::string split, const std::string& remark = "");

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  Sample get(int64_t index) const override { return source_->get(at(index)); }
  PartialImage region(int64_t index, const RegionChooser& choose) const override { return source_->region(at(index), choose); }
  int64_t id(int64_t index) const override { return source_->id(at(index)); }
  int64_t label(int64_t index) const override { return source_->label(at(index)); }
  int64_t bias(int64_t index) const override { return source_->bias(at(index)); }
  int64_t group(int64_t index) const override { return source_->group(at(index)); }
  std::string source(int64_t index) const override { return source_->source(at(index)); }

 private:
  int64_t at(int64_t index) const;

  std::shared_ptr<const Dataset> source_;
  std::vector<int64_t> indices_;
  DatasetInfo info_;
};

}  // namespace debias
