#include "debias/data/readers/packed_dataset.h"

#include <fmt/format.h>

#include <utility>

namespace debias {

PackedDataset::PackedDataset(PackedImages images) : images_(std::move(images)) {}

int64_t PackedDataset::label(int64_t index) const {
  require_index(*this, index);
  return images_.labels[static_cast<size_t>(index)];
}

Sample PackedDataset::get(int64_t index) const {
  Sample sample;
  sample.id = index;
  sample.label = label(index);
  const DatasetInfo& info = images_.info;
  sample.image.height = info.height;
  sample.image.width = info.width;
  sample.image.channels = info.channels;
  const auto bytes = static_cast<int64_t>(info.height) * info.width * info.channels;
  const auto first = images_.pixels.begin() + index * bytes;
  sample.image.pixels.assign(first, first + bytes);
  return sample;
}

std::string PackedDataset::source(int64_t index) const {
  require_index(*this, index);
  int64_t record = index;
  auto file = images_.files.begin();
  while (record >= file->images) record -= (file++)->images;
  return fmt::format("{} record {}", file->name, record);
}

}  // namespace debias
