// A data set without files: image i is noise from a stream of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "debias/augment/chosen.h"
#include "debias/augment/view_pipeline.h"
#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/data/dataset.h"
#include "debias/data/sampler.h"
#include "debias/loader/loader.h"

namespace debias {

class FakeDataset : public Dataset {
 public:
  static constexpr int64_t kFirstId = 100;
  static int64_t label_of(int64_t index) { return index % 3; }
  static int64_t bias_of(int64_t index) { return index % 2; }

  explicit FakeDataset(int64_t size) : size_(size) {
    info_.name = "fake";
    info_.split = "train";
    info_.height = 12;
    info_.width = 10;
    labels_.resize(size);
    for (int64_t i = 0; i < size; ++i) labels_[i] = label_of(i);
  }

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return size_; }
  int64_t id(int64_t index) const override { return kFirstId + index; }
  int64_t label(int64_t index) const override { return labels_[index]; }
  int64_t bias(int64_t index) const override { return bias_of(index); }
  std::string source(int64_t index) const override { return "fake/" + std::to_string(index) + ".png"; }

  Sample get(int64_t index) const override {
    if (const auto broken = broken_.find(index); broken != broken_.end()) throw Error(broken->second, "the checksum does not match");
    Image image{index == odd_ ? 11 : 12, 10, 3, {}};
    image.pixels.resize(static_cast<size_t>(image.height) * image.width * 3);
    Random random({.domain = RngDomain::kTest, .sample = static_cast<uint64_t>(index)});
    for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(flat_ ? index : random.bits());
    ++gets_;
    return {std::move(image), id(index), label(index), bias(index)};
  }

  int64_t gets() const { return gets_; }
  void wait_for_gets(int64_t count) const {
    while (gets_ < count) std::this_thread::yield();
  }

  void hide_size() { info_.height = info_.width = 0; }
  void set_label(int64_t index, int64_t label) { labels_[index] = label; }
  void break_image(int64_t index, ErrorKind kind = ErrorKind::kData) { broken_.emplace(index, kind); }
  void resize_image(int64_t index) { odd_ = index; }
  void make_flat() { flat_ = true; }  // every pixel of image i is i

 private:
  const int64_t size_;
  DatasetInfo info_;
  std::vector<int64_t> labels_;
  std::map<int64_t, ErrorKind> broken_;
  int64_t odd_ = -1;
  bool flat_ = false;
  mutable std::atomic<int64_t> gets_{0};
};

inline ViewPipeline views(const std::string& yaml) { return read_views(parse_yaml(yaml, "r.yaml")).make({0.5}, {0.5}); }

}  // namespace debias
