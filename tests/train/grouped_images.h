// The images of another set in groups: image i is of group i / size.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "debias/data/dataset.h"
#include "tests/train/training.h"

namespace debias {

class GroupedImages : public Dataset {
 public:
  GroupedImages(std::shared_ptr<const Dataset> images, int64_t size) : images_(std::move(images)), size_(size), info_(images_->info()) {
    for (int64_t i = 0; i < images_->size(); i += size) info_.group_names.push_back(fmt::format("burst {}", i / size));
    info_.groups_from = "column burst";
  }
  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return images_->size(); }
  Sample get(int64_t index) const override { return images_->get(index); }
  int64_t id(int64_t index) const override { return images_->id(index); }
  int64_t label(int64_t index) const override { return images_->label(index); }
  int64_t bias(int64_t index) const override { return images_->bias(index); }
  int64_t group(int64_t index) const override { return index / size_; }
  std::string source(int64_t index) const override { return images_->source(index); }

 private:
  std::shared_ptr<const Dataset> images_;
  int64_t size_;
  DatasetInfo info_;
};

// input_for, with every `size` images a group.
inline TrainInput grouped_input(const Config& root, int64_t size) {
  TrainInput input = input_for(root);
  input.dataset = std::make_shared<GroupedImages>(input.recipe.train_data.make_images(), size);
  return input;
}

}  // namespace debias
