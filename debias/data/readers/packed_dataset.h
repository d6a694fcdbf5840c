// A labelled data set whose images, all of one size, are in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"
#include "debias/data/dataset.h"

namespace debias {

// The splits that data sets of two fixed parts have.
enum class Split { kTrain, kTest, kHeldOut };

constexpr auto enum_words(Split) { return named("train", "test", "held_out"); }

struct PackedImages {
  DatasetInfo info;             // height, width and channels set
  std::vector<uint8_t> pixels;  // images * height * width * channels, interleaved
  std::vector<uint8_t> labels;  // one an image
  struct File {
    std::string name;
    int64_t images = 0;
  };
  std::vector<File> files;  // where the images are from, in order
};

class PackedDataset : public Dataset {
 public:
  explicit PackedDataset(PackedImages images);

  const DatasetInfo& info() const override { return images_.info; }
  int64_t size() const override { return static_cast<int64_t>(images_.labels.size()); }
  Sample get(int64_t index) const override;
  int64_t label(int64_t index) const override;
  std::string source(int64_t index) const override;  // "data_batch_1.bin record 17"

 private:
  PackedImages images_;
};

}  // namespace debias
