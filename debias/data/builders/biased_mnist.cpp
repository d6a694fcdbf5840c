#include "debias/data/builders/biased_mnist.h"

#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/builders/bias_assignment.h"
#include "debias/data/builders/made_folder.h"
#include "debias/data/readers/mnist.h"

namespace debias {
namespace {

constexpr int kDigitSide = 28;
constexpr int64_t kDigits = 10;

struct Background {
  std::string_view name;
  std::array<uint8_t, 3> rgb;
};
using Palette = std::array<Background, kDigits>;

Palette palette_of(MnistPalette which) {
  Palette palette = {{{"red", {255, 0, 0}},
                      {"green", {0, 255, 0}},
                      {"blue", {0, 0, 255}},
                      {"yellow", {225, 225, 0}},
                      {"magenta", {225, 0, 225}},
                      {"cyan", {0, 255, 255}},
                      {"orange", {255, 128, 0}},
                      {"rose", {255, 0, 128}},
                      {"violet", {128, 0, 255}},
                      {"grey", {128, 128, 128}}}};
  if (which == MnistPalette::kUsc) palette.back() = {"mint", {50, 255, 128}};
  return palette;
}

DatasetInfo info_of(const Palette& palette, FolderSplit split) {
  DatasetInfo info;
  info.name = "biased_mnist";
  info.split = enum_name(split);
  for (int64_t digit = 0; digit < kDigits; ++digit) info.class_names.push_back(std::to_string(digit));
  for (const Background& colour : palette) info.bias_names.emplace_back(colour.name);
  info.height = info.width = kDigitSide;
  info.mean = info.std = {0.5, 0.5, 0.5};
  return info;
}

class BiasedMnist : public Dataset {
 public:
  BiasedMnist(std::unique_ptr<Dataset> digits, std::vector<int64_t> biases, const Palette& palette, FolderSplit split)
      : digits_(std::move(digits)), biases_(std::move(biases)), palette_(palette), info_(info_of(palette, split)) {}

  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return digits_->size(); }
  int64_t id(int64_t index) const override { return digits_->id(index); }
  int64_t label(int64_t index) const override { return digits_->label(index); }
  int64_t bias(int64_t index) const override {
    require_index(*this, index);
    return biases_[static_cast<size_t>(index)];
  }
  std::string source(int64_t index) const override { return digits_->source(index); }

  Sample get(int64_t index) const override {
    Sample sample = digits_->get(index);
    sample.bias = bias(index);
    const std::array<uint8_t, 3>& background = palette_[static_cast<size_t>(sample.bias)].rgb;
    std::vector<uint8_t> pixels;
    pixels.reserve(3 * sample.image.pixels.size());
    for (const uint8_t ink : sample.image.pixels) {
      for (const uint8_t value : background) pixels.push_back(ink != 0 ? 255 : value);
    }
    sample.image.pixels = std::move(pixels);
    sample.image.channels = 3;
    return sample;
  }

 private:
  std::unique_ptr<Dataset> digits_;
  std::vector<int64_t> biases_;
  Palette palette_;
  DatasetInfo info_;
};

void require_digits(const BiasedMnistOptions& options) {
  const std::string images = options.split == FolderSplit::kTest ? "t10k-images-idx3-ubyte" : "train-images-idx3-ubyte";
  require_root(options.root, "data set 'biased_mnist'",
               fmt::format("MNIST's {} and labels, plain or .gz, or for folders align and conflict", images));
  for (const char* suffix : {"", ".gz"}) {
    std::error_code failure;
    if (std::filesystem::exists(std::filesystem::path(options.root) / (images + suffix), failure)) return;
  }
  throw FileError(
      options.root,
      fmt::format("data set 'biased_mnist': found neither MNIST's {} (plain or .gz) nor folders align and conflict in it", images));
}

std::unique_ptr<Dataset> digits_of(const BiasedMnistOptions& options) {
  if (options.split == FolderSplit::kValid) {
    throw usage_error(
        "data set 'biased_mnist': split valid exists only in a folder written by data make; for MNIST itself, write split: held_out");
  }
  require_digits(options);
  MnistOptions digits;
  digits.root = options.root;
  digits.hold_out = options.hold_out;
  if (options.split == FolderSplit::kTest) digits.split = Split::kTest;
  if (options.split == FolderSplit::kHeldOut) digits.split = Split::kHeldOut;
  return make_mnist(digits);
}

}  // namespace

std::unique_ptr<Dataset> make_biased_mnist(const BiasedMnistOptions& options) {
  const Palette palette = palette_of(options.palette);
  if (is_made_folder(options.root)) return read_made_folder(info_of(palette, options.split), options.root, options.split, options.hold_out);
  std::unique_ptr<Dataset> digits = digits_of(options);
  std::vector<int64_t> labels(static_cast<size_t>(digits->size()));
  for (int64_t i = 0; i < digits->size(); ++i) labels[static_cast<size_t>(i)] = digits->label(i);
  RngKey key = {.seed = static_cast<uint64_t>(options.hold_out.seed), .epoch = static_cast<uint64_t>(options.split)};
  std::vector<int64_t> biases = assign_biases(labels, kDigits, options.correlation, key);
  return std::make_unique<BiasedMnist>(std::move(digits), std::move(biases), palette, options.split);
}

}  // namespace debias
