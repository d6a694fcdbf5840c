#include "debias/data/builders/garments_on_scenes.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/data/builders/bias_assignment.h"
#include "debias/data/csv_text.h"
#include "debias/data/data_stream.h"
#include "debias/data/folder_layout.h"
#include "debias/data/parallel_blocks.h"
#include "debias/data/readers/mnist.h"
#include "debias/image/geometry.h"
#include "debias/image/image_encode.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 10> kGarments = {"t-shirt", "trouser", "pullover", "dress",   "coat",
                                                   "sandal",  "shirt",   "sneaker",  "handbag", "ankle_boot"};
constexpr int kOpaqueInk = 64;

// The images of each scene class, in the order of the folder.
struct Scenes {
  std::shared_ptr<const Dataset> images;
  std::vector<std::vector<int64_t>> of_class;
};

struct ComposedImage {
  int64_t garment = 0;  // index in Fashion-MNIST's split
  int64_t label = 0, bias = 0;
  std::string path;  // below the folder
};

struct ComposedSplit {
  std::string name;
  std::shared_ptr<const Dataset> garments;
  Scenes scenes;
  std::vector<ComposedImage> images;
};

Scenes read_scenes(const std::string& folder, const std::string& split) {
  Scenes scenes{open_split(folder, split), {}};
  scenes.of_class.resize(scenes.images->info().class_names.size());
  for (int64_t i = 0; i < scenes.images->size(); ++i) {
    if (const int64_t label = scenes.images->label(i); label >= 0) scenes.of_class[static_cast<size_t>(label)].push_back(i);
  }
  for (size_t k = 0; k < scenes.of_class.size(); ++k) {
    if (scenes.of_class[k].empty())
      throw FileError(folder, fmt::format("scenes: class {} has no image", scenes.images->info().class_names[k]));
  }
  return scenes;
}

ComposedSplit list_split(const std::string& name, const GarmentsOnScenesOptions& options, Scenes scenes, int64_t classes) {
  const bool test = name == "test";
  const int64_t most = test ? options.test_count : options.train_count;
  ComposedSplit split{
      name, make_mnist(MnistOptions{.root = options.root, .split = test ? Split::kTest : Split::kTrain}), std::move(scenes), {}};
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < split.garments->size() && (most == 0 || std::ssize(labels) < most); ++i) {
    const int64_t label = split.garments->label(i);
    if (label >= classes) continue;
    labels.push_back(label);
    split.images.push_back({i, label, 0, fmt::format("{}/{}/{:05}.png", name, kGarments[static_cast<size_t>(label)], i)});
  }
  const double correlation = test ? 1 / static_cast<double>(classes) : options.correlation;
  const auto biases = assign_biases(labels, classes, correlation, {.seed = static_cast<uint64_t>(options.seed), .epoch = test ? 1U : 0U});
  for (size_t i = 0; i < biases.size(); ++i) split.images[i].bias = biases[i];
  return split;
}

Image square_of(const Image& image, int size) {
  const int side = std::min(image.height, image.width);
  const Box box{(image.height - side) / 2, (image.width - side) / 2, side, side};
  Image square = resized_crop(image, box, size, size);
  if (square.channels == 3) return square;
  std::vector<uint8_t> pixels;
  for (const uint8_t grey : square.pixels) pixels.insert(pixels.end(), 3, grey);
  return {size, size, 3, std::move(pixels)};
}

void lay_over(Image& scene, const Image& garment) {
  const int top = (scene.height - garment.height) / 2, left = (scene.width - garment.width) / 2;
  for (int y = 0; y < garment.height; ++y) {
    for (int x = 0; x < garment.width; ++x) {
      const int ink = garment.row(y)[x], opacity = std::min(ink, kOpaqueInk);
      uint8_t* pixel = scene.pixels.data() + 3 * ((static_cast<size_t>(top) + y) * scene.width + left + x);
      for (int channel = 0; channel < 3; ++channel) {
        pixel[channel] = static_cast<uint8_t>((ink * opacity + pixel[channel] * (kOpaqueInk - opacity) + kOpaqueInk / 2) / kOpaqueInk);
      }
    }
  }
}

Image compose(const ComposedSplit& split, const ComposedImage& image, const GarmentsOnScenesOptions& options) {
  const std::vector<int64_t>& scenes = split.scenes.of_class[static_cast<size_t>(image.bias)];
  Random random({.domain = RngDomain::kData,
                 .seed = static_cast<uint64_t>(options.seed),
                 .epoch = split.name == "test" ? 1U : 0U,
                 .sample = static_cast<uint64_t>(image.garment),
                 .step = static_cast<uint16_t>(DataStream::kScene)});
  const int size = static_cast<int>(options.size), side = size * 7 / 8;
  Image composed = square_of(split.scenes.images->get(scenes[static_cast<size_t>(random.below(std::ssize(scenes)))]).image, size);
  lay_over(composed, resized(split.garments->get(image.garment).image, side, side));
  return composed;
}

void write_split(const ComposedSplit& split, const GarmentsOnScenesOptions& options, const fs::path& folder, Progress& progress) {
  for (const ComposedImage& image : split.images) fs::create_directories((folder / image.path).parent_path());
  progress.begin("making " + split.name, std::ssize(split.images));
  const auto write_block = [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const ComposedImage& image = split.images[static_cast<size_t>(i)];
      write_into_folder((folder / image.path).string(), encode_png(compose(split, image, options)));
    }
  };
  for_each_block(std::ssize(split.images), 64, write_block, [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
}

std::vector<ComposedSplit> list_all(const GarmentsOnScenesOptions& options, MadeCounts& counts) {
  const FolderLayout layout = find_layout(options.scenes);
  Scenes train = read_scenes(options.scenes, layout.train);
  const int64_t classes = std::min(std::ssize(kGarments), std::ssize(train.of_class));
  if (classes < 2) {
    throw FileError(options.scenes, fmt::format("scenes: expected at least two class folders of images, found {}", train.of_class.size()));
  }
  Scenes test = layout.test.empty() ? train : read_scenes(options.scenes, layout.test);
  if (layout.test.empty()) counts.remarks.push_back("the scenes have no split test: test images have the same scenes as training images");
  if (test.images->info().class_names != train.images->info().class_names) {
    throw FileError(options.scenes, fmt::format("{} has other classes than {}", layout.test, layout.train));
  }
  return {list_split("train", options, std::move(train), classes), list_split("test", options, std::move(test), classes)};
}

}  // namespace

MadeCounts make_garments_on_scenes(const GarmentsOnScenesOptions& options, const std::string& out, Progress& progress) {
  const char* what = "data make garments_on_scenes";
  if (options.scenes.empty()) throw usage_error("{}: no scenes; pass scenes=DIR, images in class folders", what);
  AtomicFolder made(out);
  MadeCounts counts;
  std::string csv = csv_line({"path", "label", "bias"});
  for (const ComposedSplit& split : list_all(options, counts)) {
    write_split(split, options, made.building(), progress);
    MadeCounts::Part part{split.name, 0, 0};
    for (const ComposedImage& image : split.images) {
      ++(image.bias == image.label ? part.aligned : part.conflicting);
      csv += csv_line({image.path, kGarments[static_cast<size_t>(image.label)],
                       split.scenes.images->info().class_names[static_cast<size_t>(image.bias)]});
    }
    counts.parts.push_back(part);
  }
  write_file_atomically((fs::path(made.building()) / "planted.csv").string(), csv);
  made.commit();
  return counts;
}

}  // namespace debias
