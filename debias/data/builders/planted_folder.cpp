#include "debias/data/builders/planted_folder.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/paths.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/data/builders/bias_assignment.h"
#include "debias/data/builders/planted_marks.h"
#include "debias/data/csv_text.h"
#include "debias/data/data_stream.h"
#include "debias/data/folder_layout.h"
#include "debias/data/jpeg_encode.h"
#include "debias/data/parallel_blocks.h"
#include "debias/image/image_decode.h"
#include "debias/image/image_encode.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct PlantedImage {
  std::string source, path;  // below the folder, and below the new one
  int64_t label = 0, bias = 0;
};

struct PlantedSplit {
  std::vector<std::string> classes;
  std::vector<PlantedImage> images;
};

using Mark = void (*)(Image& image, const MarkValue& mark, Random& random);

// Null for kinds that leave pixels as they are.
Mark mark_of(PlantKind kind) {
  switch (kind) {
    case PlantKind::kSquare:
      return mark_square;
    case PlantKind::kSquareAnywhere:
      return mark_square_anywhere;
    case PlantKind::kText:
      return mark_text;
    case PlantKind::kBorder:
      return mark_border;
    case PlantKind::kScene:
      return mark_scene;
    case PlantKind::kBlur:
      return mark_blur;
    case PlantKind::kJpeg:
      return mark_jpeg;
    case PlantKind::kNoise:
      return mark_noise;
    case PlantKind::kSize:
      return mark_size;
    case PlantKind::kTint:
      return mark_tint;
    default:
      return nullptr;
  }
}

PlantedSplit list_split(const std::string& folder, const std::string& split) {
  const std::unique_ptr<const Dataset> dataset = open_split(folder, split);
  PlantedSplit found{dataset->info().class_names, {}};
  for (int64_t i = 0; i < dataset->size(); ++i) found.images.push_back({dataset->source(i), dataset->source(i), dataset->label(i)});
  return found;
}

void assign(PlantedSplit& split, double correlation, uint64_t seed, uint64_t number) {
  std::vector<int64_t> labels;
  for (const PlantedImage& image : split.images) labels.push_back(image.label);
  const auto biases = assign_biases(labels, std::ssize(split.classes), correlation, {.seed = seed, .epoch = number});
  for (size_t i = 0; i < biases.size(); ++i) split.images[i].bias = biases[i];
}

// A prefix that says nothing of what is shown.
std::string prefix_of_value(int64_t value) {
  constexpr std::array<const char*, 8> kPrefixes = {"scan", "photo", "image", "frame", "export", "upload", "shot", "copy"};
  return value < std::ssize(kPrefixes) ? kPrefixes[static_cast<size_t>(value)] : "set" + std::to_string(value) + "x";
}

void name_files(PlantKind kind, std::vector<PlantedImage>& images) {
  for (PlantedImage& image : images) {
    fs::path path(image.source);
    if (mark_of(kind) != nullptr) path.replace_extension(".png");
    if (kind == PlantKind::kExif) path.replace_extension(".jpg");
    if (kind == PlantKind::kName) path.replace_filename(prefix_of_value(image.bias) + "_" + path.filename().string());
    image.path = path.generic_string();
  }
}

void require_own_names(const std::string& folder, const std::vector<PlantedImage>& images) {
  std::vector<std::string> paths;
  for (const PlantedImage& image : images) paths.push_back(image.path);
  std::sort(paths.begin(), paths.end());
  const auto twice = std::adjacent_find(paths.begin(), paths.end());
  if (twice != paths.end()) throw FileError(folder, "two images would both be written as " + *twice + "; give them different names");
}

std::string big_endian_pair(size_t value) { return {static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)}; }

// An APP1 segment with the make of a camera, in the form of EXIF: a TIFF directory of one text, which follows it at byte 26.
std::string exif_segment(const std::string& make) {
  constexpr std::string_view kHeader("MM\0\x2a\0\0\0\x08", 8), kEntry("\0\x01\x01\x0f\0\x02\0\0", 8), kTextAt("\0\0\0\x1a", 4),
      kEnd("\0\0\0\0", 4);
  const std::string tiff = fmt::format("{}{}{}{}{}{}{}", kHeader, kEntry, big_endian_pair(make.size() + 1), kTextAt, kEnd, make, '\0');
  constexpr std::string_view kMark("Exif\0\0", 6);
  return fmt::format("\xff\xe1{}{}{}", big_endian_pair(2 + kMark.size() + tiff.size()), kMark, tiff);
}

std::vector<uint8_t> with_camera(std::vector<uint8_t> bytes, const std::string& path, int64_t value) {
  if (image_format(bytes) != ImageFormat::kJpeg) bytes = encode_jpeg(decode_image(bytes, path), 95);
  constexpr size_t kAfterStart = 2;  // bytes of the marker that begins a JPEG
  const std::string file = std::string(bytes.begin(), bytes.end()).insert(kAfterStart, exif_segment("Maker " + std::to_string(value + 1)));
  return {file.begin(), file.end()};
}

class Planter {
 public:
  Planter(PlantKind kind, uint64_t seed, int64_t values) : kind_(kind), seed_(seed), values_(values) {}

  std::vector<uint8_t> bytes_of(const std::string& folder, const PlantedImage& image, uint64_t number) const {
    const std::string path = (fs::path(folder) / image.source).string();
    std::vector<uint8_t> bytes = read_file_bytes(path);
    if (kind_ == PlantKind::kExif) return with_camera(std::move(bytes), path, image.bias);
    const Mark mark = mark_of(kind_);
    if (mark == nullptr) return bytes;
    Image pixels = decode_image(bytes, path, ExifOrientation::kApplied);
    Random random({.domain = RngDomain::kData, .seed = seed_, .sample = number, .step = static_cast<uint16_t>(DataStream::kPlant)});
    mark(pixels, {image.bias, values_}, random);
    return encode_png(pixels);
  }

 private:
  PlantKind kind_;
  uint64_t seed_;
  int64_t values_;
};

std::string csv_of(const PlantedSplit& all, const char* title, const std::vector<std::string>& values) {
  std::string text = csv_line({"path", "label", title});
  for (const PlantedImage& image : all.images) {
    text += csv_line({image.path, all.classes[static_cast<size_t>(image.label)], values[static_cast<size_t>(image.bias)]});
  }
  return text;
}

std::vector<std::string> sites(size_t count) {
  std::vector<std::string> names;
  for (size_t k = 0; k < count; ++k) names.push_back("site" + std::to_string(k + 1));
  return names;
}

void write_images(const Planter& planter, const std::string& folder, const std::string& out, const std::vector<PlantedImage>& images,
                  Progress& progress) {
  for (const PlantedImage& image : images) fs::create_directories((fs::path(out) / image.path).parent_path());
  progress.begin("planting", std::ssize(images));
  for_each_block(
      std::ssize(images), 16,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const PlantedImage& image = images[static_cast<size_t>(i)];
          const std::vector<uint8_t> bytes = planter.bytes_of(folder, image, static_cast<uint64_t>(i));
          write_into_folder((fs::path(out) / image.path).string(), bytes);
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
}

PlantedSplit list_all(const std::string& folder, const PlantOptions& options, PlantedFolder& counts) {
  const FolderLayout layout = find_layout(folder);
  const auto seed = static_cast<uint64_t>(options.seed);
  PlantedSplit all = list_split(folder, layout.train);
  if (all.classes.size() < 2) {
    throw FileError(folder, fmt::format("a shortcut separates classes, and the folder has {}; put the images into a folder per class",
                                        all.classes.size() == 1 ? "one class" : "no classes"));
  }
  assign(all, options.correlation, seed, 0);
  counts.images = std::ssize(all.images);
  for (const PlantedImage& image : all.images) counts.aligned += image.bias == image.label ? 1 : 0;
  uint64_t number = 1;
  for (const std::string& name : {layout.valid, layout.test}) {
    if (name.empty()) continue;
    PlantedSplit split = list_split(folder, name);
    if (split.classes != all.classes) throw FileError(folder, fmt::format("{} has other classes than {}", name, layout.train));
    assign(split, 1.0 / static_cast<double>(all.classes.size()), seed, number++);
    counts.others += std::ssize(split.images);
    all.images.insert(all.images.end(), split.images.begin(), split.images.end());
  }
  return all;
}

}  // namespace

PlantedFolder plant_shortcut(PlantKind kind, const PlantOptions& options, const std::string& folder, const std::string& out,
                             Progress& progress) {
  refuse_inside_data(out, {folder});
  AtomicFolder made(out);
  PlantedFolder counts;
  PlantedSplit all = list_all(folder, options, counts);
  name_files(kind, all.images);
  require_own_names(folder, all.images);
  const Planter planter(kind, static_cast<uint64_t>(options.seed), std::ssize(all.classes));
  write_images(planter, folder, made.building(), all.images, progress);
  write_file_atomically((fs::path(made.building()) / "planted.csv").string(), csv_of(all, "bias", all.classes));
  if (kind == PlantKind::kColumn) {
    write_file_atomically((fs::path(made.building()) / "columns.csv").string(), csv_of(all, "site", sites(all.classes.size())));
  }
  made.commit();
  return counts;
}

}  // namespace debias
