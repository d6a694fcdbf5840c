#include "debias/data/readers/cifar.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/readers/image_files.h"
#include "debias/data/readers/image_listing.h"
#include "debias/data/readers/packed_dataset.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr int kCifarSide = 32;
constexpr int kCifarPlane = kCifarSide * kCifarSide;

struct Format {
  std::string name;
  std::vector<std::string> train_files;
  std::vector<std::string> test_files;
  std::string folder;      // of the published archive
  size_t label_bytes = 1;  // before the pixels; the last one is the label
  std::vector<std::string> class_names;
  std::vector<double> mean;
  std::vector<double> std;
};

const Format& cifar10_format() {
  static const Format format{"cifar10",
                             {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
                             {"test_batch.bin"},
                             "cifar-10-batches-bin",
                             1,
                             {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
                             {0.4914, 0.4822, 0.4465},
                             {0.2023, 0.1994, 0.2010}};
  return format;
}

const Format& cifar100_format() {
  static const Format format{
      "cifar100",
      {"train.bin"},
      {"test.bin"},
      "cifar-100-binary",
      2,
      {"apple",       "aquarium_fish", "baby",         "bear",       "beaver",       "bed",        "bee",         "beetle",   "bicycle",
       "bottle",      "bowl",          "boy",          "bridge",     "bus",          "butterfly",  "camel",       "can",      "castle",
       "caterpillar", "cattle",        "chair",        "chimpanzee", "clock",        "cloud",      "cockroach",   "couch",    "crab",
       "crocodile",   "cup",           "dinosaur",     "dolphin",    "elephant",     "flatfish",   "forest",      "fox",      "girl",
       "hamster",     "house",         "kangaroo",     "keyboard",   "lamp",         "lawn_mower", "leopard",     "lion",     "lizard",
       "lobster",     "man",           "maple_tree",   "motorcycle", "mountain",     "mouse",      "mushroom",    "oak_tree", "orange",
       "orchid",      "otter",         "palm_tree",    "pear",       "pickup_truck", "pine_tree",  "plain",       "plate",    "poppy",
       "porcupine",   "possum",        "rabbit",       "raccoon",    "ray",          "road",       "rocket",      "rose",     "sea",
       "seal",        "shark",         "shrew",        "skunk",      "skyscraper",   "snail",      "snake",       "spider",   "squirrel",
       "streetcar",   "sunflower",     "sweet_pepper", "table",      "tank",         "telephone",  "television",  "tiger",    "tractor",
       "train",       "trout",         "tulip",        "turtle",     "wardrobe",     "whale",      "willow_tree", "wolf",     "woman",
       "worm"},
      {0.5071, 0.4867, 0.4408},  // Khosla et al.'s SupContrast
      {0.2675, 0.2565, 0.2761}};
  return format;
}

DatasetInfo info_of(const Format& format, bool train) {
  DatasetInfo info;
  info.name = format.name;
  info.split = train ? "train" : "test";
  info.class_names = format.class_names;
  info.height = info.width = kCifarSide;
  info.mean = format.mean;
  info.std = format.std;
  return info;
}

// The folder, of root and root/<archive's folder>, that has any of the files.
fs::path folder_with(const std::string& root, const Format& format, const std::vector<std::string>& files) {
  for (const fs::path& folder : {fs::path(root), fs::path(root) / format.folder}) {
    for (const std::string& file : files) {
      std::error_code failure;
      if (fs::exists(folder / file, failure)) return folder;
    }
  }
  throw FileError(root,
                  fmt::format("data set '{}': found no {} in it or in its folder {}", format.name, fmt::join(files, ", "), format.folder));
}

void append_records(const fs::path& path, const Format& format, PackedImages& packed) {
  const std::vector<uint8_t> bytes = read_file_bytes(path.string());
  const size_t record = format.label_bytes + 3 * kCifarPlane;
  if (bytes.empty()) throw FileError(path.string(), "is empty");
  if (bytes.size() % record != 0) {
    throw FileError(path.string(), fmt::format("{} bytes are not a whole number of records of {} bytes", bytes.size(), record));
  }
  const size_t count = bytes.size() / record;
  packed.files.push_back({path.filename().string(), static_cast<int64_t>(count)});
  for (size_t i = 0; i < count; ++i) {
    const uint8_t label = bytes[i * record + format.label_bytes - 1];
    if (label >= format.class_names.size()) {
      throw FileError(path.string(), fmt::format("record {}: label {}, expected 0 to {}", i, label, format.class_names.size() - 1));
    }
    packed.labels.push_back(label);
    const uint8_t* red = &bytes[i * record + format.label_bytes];
    for (int p = 0; p < kCifarPlane; ++p)
      packed.pixels.insert(packed.pixels.end(), {red[p], red[p + kCifarPlane], red[p + 2 * kCifarPlane]});
  }
}

std::unique_ptr<Dataset> read_binary(const std::string& root, const Format& format, bool train) {
  const auto& files = train ? format.train_files : format.test_files;
  const fs::path folder = folder_with(root, format, files);
  PackedImages packed;
  packed.info = info_of(format, train);
  for (const std::string& file : files) append_records(folder / file, format, packed);
  return std::make_unique<PackedDataset>(std::move(packed));
}

bool has_image_folders(const std::string& root) {
  std::error_code failure;
  return fs::is_directory(fs::path(root) / "train", failure) || fs::is_directory(fs::path(root) / "test", failure);
}

std::unique_ptr<Dataset> read_image_folders(const std::string& root, const Format& format, bool train) {
  const std::string part = train ? "train" : "test";
  std::vector<ImageFile> files;
  for (const std::string& name : list_folders((fs::path(root) / part).string())) {
    const auto found = std::find(format.class_names.begin(), format.class_names.end(), name);
    const std::string folder = part + "/" + name;
    if (found == format.class_names.end()) {
      throw FileError((fs::path(root) / folder).string(),
                      fmt::format("is not a class of {}{}", format.name, suggestion(name, format.class_names)));
    }
    for (const std::string& file : list_images((fs::path(root) / folder).string(), root)) {
      files.push_back({folder + "/" + file, found - format.class_names.begin(), kUnknown});
    }
  }
  if (files.empty()) throw FileError((fs::path(root) / part).string(), "has no class folder with image files");
  std::stable_sort(files.begin(), files.end(), [](const ImageFile& a, const ImageFile& b) { return a.label < b.label; });
  return std::make_unique<ImageFiles>(info_of(format, train), root, std::move(files));
}

std::unique_ptr<Dataset> read_part(const std::string& root, const Format& format, bool train) {
  require_root(root, fmt::format("data set '{}'", format.name),
               fmt::format("{}", fmt::join(train ? format.train_files : format.test_files, ", ")));
  if (format.name == "cifar10" && has_image_folders(root)) return read_image_folders(root, format, train);
  return read_binary(root, format, train);
}

std::unique_ptr<Dataset> make(const CifarOptions& options, const Format& format) {
  if (options.split == Split::kTest) return read_part(options.root, format, false);
  return take_hold_out_part(read_part(options.root, format, true), options.hold_out,
                            options.split == Split::kHeldOut ? HoldOutPart::kHeldOut : HoldOutPart::kKept);
}

}  // namespace

std::unique_ptr<Dataset> make_cifar10(const CifarOptions& options) { return make(options, cifar10_format()); }
std::unique_ptr<Dataset> make_cifar100(const CifarOptions& options) { return make(options, cifar100_format()); }

}  // namespace debias
