#include "debias/data/readers/mnist.h"

#include <filesystem>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/readers/idx_file.h"
#include "debias/data/readers/packed_dataset.h"

namespace debias {
namespace {

constexpr int kSide = 28;
constexpr int kClasses = 10;

std::string existing_file(const std::string& root, const std::string& name) {
  for (const char* suffix : {"", ".gz"}) {
    const std::string path = (std::filesystem::path(root) / (name + suffix)).string();
    std::error_code failure;
    if (std::filesystem::exists(path, failure)) return path;
  }
  throw FileError(root, fmt::format("data set 'mnist': found neither {} nor {}.gz in it", name, name));
}

std::unique_ptr<Dataset> read_part(const std::string& root, bool train) {
  const std::string prefix = train ? "train" : "t10k";
  require_root(root, "data set 'mnist'", fmt::format("{}-images-idx3-ubyte and {}-labels-idx1-ubyte, plain or .gz", prefix, prefix));
  const std::string image_path = existing_file(root, prefix + "-images-idx3-ubyte");
  const std::string label_path = existing_file(root, prefix + "-labels-idx1-ubyte");
  IdxArray images = read_idx(image_path, 3);
  IdxArray labels = read_idx(label_path, 1);
  if (images.shape[1] != kSide || images.shape[2] != kSide) {
    throw FileError(image_path, fmt::format("expected images of {}x{}, found {}x{}", kSide, kSide, images.shape[1], images.shape[2]));
  }
  if (images.shape[0] != labels.shape[0]) {
    throw FileError(label_path, fmt::format("{} labels for the {} images of {}", labels.shape[0], images.shape[0], image_path));
  }
  for (size_t i = 0; i < labels.values.size(); ++i) {
    if (labels.values[i] >= kClasses) throw FileError(label_path, fmt::format("record {}: label {}, expected 0 to 9", i, labels.values[i]));
  }
  PackedImages packed;
  packed.info.name = "mnist";
  packed.info.split = train ? "train" : "test";
  for (int digit = 0; digit < kClasses; ++digit) packed.info.class_names.push_back(std::to_string(digit));
  packed.info.channels = 1;
  packed.info.height = packed.info.width = kSide;
  packed.info.mean = {0.1307};  // of the training images
  packed.info.std = {0.3081};
  packed.files = {{std::filesystem::path(image_path).filename().string(), images.shape[0]}};
  packed.pixels = std::move(images.values);
  packed.labels = std::move(labels.values);
  return std::make_unique<PackedDataset>(std::move(packed));
}

}  // namespace

std::unique_ptr<Dataset> make_mnist(const MnistOptions& options) {
  if (options.split == Split::kTest) return read_part(options.root, false);
  return take_hold_out_part(read_part(options.root, true), options.hold_out,
                            options.split == Split::kHeldOut ? HoldOutPart::kHeldOut : HoldOutPart::kKept);
}

}  // namespace debias
