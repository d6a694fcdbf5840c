#include "debias/data/array_files.h"

#include <algorithm>

#include "debias/core/dtype.h"
#include "debias/core/error.h"
#include "debias/core/npy.h"

namespace debias {
namespace {

std::vector<uint8_t> pixels_of(const Dataset& dataset, int64_t count, std::vector<int64_t>& shape, Progress& progress) {
  std::vector<uint8_t> pixels;
  progress.begin("exporting " + dataset.info().name, count);
  for (int64_t i = 0; i < count; ++i) {
    const Image image = dataset.get(i).image;
    if (i == 0) {
      shape = {count, image.height, image.width, image.channels};
      const auto bytes = checked_product(shape);
      if (!bytes) throw resource_error("data export: {} images of {}x{} are too many for one file", count, image.height, image.width);
      pixels.reserve(static_cast<size_t>(*bytes));
    }
    if (image.height != shape[1] || image.width != shape[2]) {
      throw data_error("data export: images differ in size: {} is {}x{}, {} is {}x{}; export needs one size", dataset.source(0), shape[1],
                       shape[2], dataset.source(i), image.height, image.width);
    }
    pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
    if (i % 256 == 0) progress.advance(i, "");
  }
  progress.end();
  return pixels;
}

void write_integers(const std::string& path, const Dataset& dataset, int64_t count, int64_t (Dataset::*value)(int64_t) const) {
  if (path.empty()) return;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back((dataset.*value)(i));
  write_npy(path, DType::kInt64, {count}, values.data());
}

}  // namespace

std::vector<int64_t> write_arrays(const Dataset& dataset, const ArrayFiles& files, std::optional<int64_t> limit, Progress& progress) {
  if (!files.biases.empty() && dataset.info().bias_names.empty()) {
    throw usage_error("data export: data set '{}' has no bias attribute; leave out --bias", dataset.info().name);
  }
  if (!files.labels.empty() && dataset.info().class_names.empty()) {
    throw usage_error("data export: data set '{}' is unlabelled here; leave out --labels", dataset.info().name);
  }
  if (limit && *limit < 1) throw usage_error("data export: --limit {}: expected at least 1", *limit);
  const int64_t count = std::min(dataset.size(), limit.value_or(dataset.size()));
  std::vector<int64_t> shape;
  const std::vector<uint8_t> pixels = pixels_of(dataset, count, shape, progress);
  write_npy(files.pixels, DType::kUInt8, shape, pixels.data());
  write_integers(files.labels, dataset, count, &Dataset::label);
  write_integers(files.biases, dataset, count, &Dataset::bias);
  return shape;
}

}  // namespace debias
