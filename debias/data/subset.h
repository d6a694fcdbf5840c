// Some images of a data set, in a given order. Ids, labels and biases stay those of the source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"

namespace debias {

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
