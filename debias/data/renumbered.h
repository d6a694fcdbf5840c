// A data set whose labels and bias labels are other numbers, under other names. Images, ids and sources stay those of the source.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"

namespace debias {

class Renumbered : public Dataset {
 public:
  // One label and one bias label for each image; empty names leave those of the source.
  Renumbered(std::shared_ptr<const Dataset> source, const std::vector<std::string>& class_names, const std::vector<std::string>& bias_names,
             std::vector<int64_t> labels, std::vector<int64_t> biases);

  // In place of the source's; `from` is DatasetInfo::groups_from.
  void take_groups(std::vector<std::string> names, std::vector<int64_t> groups, std::string from);

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return source_->size(); }
  Sample get(int64_t index) const override;
  PartialImage region(int64_t index, const RegionChooser& choose) const override { return source_->region(index, choose); }
  int64_t id(int64_t index) const override { return source_->id(index); }
  int64_t label(int64_t index) const override { return of(labels_, index); }
  int64_t bias(int64_t index) const override { return of(biases_, index); }
  int64_t group(int64_t index) const override { return groups_.empty() ? source_->group(index) : of(groups_, index); }
  std::string source(int64_t index) const override { return source_->source(index); }

 private:
  int64_t of(const std::vector<int64_t>& numbers, int64_t index) const;

  std::shared_ptr<const Dataset> source_;
  DatasetInfo info_;
  std::vector<int64_t> labels_, biases_, groups_;
};

}  // namespace debias
