// A table of samples by class and bias label, and no image.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "debias/data/sample_table.h"

namespace debias {

class SampleList : public SampleTable {
 public:
  explicit SampleList(std::vector<std::array<int64_t, 2>> keys) : keys_(std::move(keys)) {
    info_.name = "listed";
    info_.split = "train";
    info_.class_names = {"a", "b", "c"};
    info_.bias_names = {"red", "green"};
    info_.channels = 0;
    info_.mean = info_.std = {0.5};
  }
  const DatasetInfo& info() const override { return info_; }
  std::string what() const override { return "samples"; }
  int64_t size() const override { return static_cast<int64_t>(keys_.size()); }
  int64_t label(int64_t index) const override { return keys_[index][0]; }
  int64_t bias(int64_t index) const override { return keys_[index][1]; }
  int64_t id(int64_t index) const override { return first_id_ + index; }
  int64_t group(int64_t index) const override { return groups_.empty() ? kUnknown : groups_[index]; }
  std::string source(int64_t index) const override { return fmt::format("row {}", index); }

  void number_from(int64_t id) { first_id_ = id; }
  void take_groups(std::vector<int64_t> groups) {
    groups_ = std::move(groups);
    for (const int64_t group : groups_) {
      while (std::ssize(info_.group_names) <= group) info_.group_names.push_back(fmt::format("p{}", info_.group_names.size()));
    }
    info_.groups_from = "column patient";
  }
  void lose_classes() { info_.class_names.clear(); }
  void lose_biases() { info_.bias_names.clear(); }

 private:
  DatasetInfo info_;
  std::vector<std::array<int64_t, 2>> keys_;
  std::vector<int64_t> groups_;
  int64_t first_id_ = 0;
};

// `count` samples of each class and bias label given.
inline SampleList sample_list(const std::vector<std::pair<std::array<int64_t, 2>, int>>& groups) {
  std::vector<std::array<int64_t, 2>> keys;
  for (const auto& [key, count] : groups) keys.insert(keys.end(), static_cast<size_t>(count), key);
  return SampleList(std::move(keys));
}

}  // namespace debias
