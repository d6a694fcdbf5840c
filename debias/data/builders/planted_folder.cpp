#include "debias/data/builders/planted_folder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/paths.h"
#include "debias/core/philox.h"
#include "debias/data/builders/atomic_folder.h"
#include "debias/data/builders/bias_assignment.h"
#include "debias/data/csv_text.h"
#include "debias/data/data_stream.h"
#include "debias/data/folder_layout.h"
#include "debias/data/jpeg_encode.h"
#include "debias/data/parallel_blocks.h"
#include "debias/image/blur.h"
#include "debias/image/geometry.h"
#include "debias/image/image.h"
#include "debias/image/image_decode.h"
#include "debias/image/image_encode.h"

namespace debias {
namespace {

// Marks that a shortcut leaves in an image: what `debias data plant` draws.

// Which of `count` values the mark has.
struct MarkValue {
  int64_t value = 0, count = 2;
};

void mark_text(Image& image, const MarkValue& mark, Random& random);  // white digits on black, bottom left
void mark_blur(Image& image, const MarkValue& mark, Random& random);  // value 0 stays sharp
void mark_jpeg(Image& image, const MarkValue& mark, Random& random);  // compressed and decoded again; value 0 at quality 95
void mark_size(Image& image, const MarkValue& mark, Random& random);  // each value an eighth larger than the one before
void mark_tint(Image& image, const MarkValue& mark, Random& random);  // a faint colour cast

using MarkColour = std::array<double, 3>;  // 0 to 255

constexpr double kPixelNoise = 24;  // standard deviation on squares and frames

uint8_t to_byte(double value) { return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

uint8_t* pixel_at(Image& image, int y, int x) { return image.pixels.data() + 3 * (static_cast<size_t>(y) * image.width + x); }

int shorter_side(const Image& image) { return std::min(image.height, image.width); }

int share_of_side(const Image& image, double share, int least) {
  return std::min(shorter_side(image), std::max(least, static_cast<int>(std::lround(share * shorter_side(image)))));
}

// Evenly spread hues.
MarkColour hue_of(const MarkValue& mark) {
  const double turn = static_cast<double>(mark.value) / static_cast<double>(mark.count);
  MarkColour colour{};
  for (size_t c = 0; c < 3; ++c) {
    const double distance = std::abs(std::remainder(turn - static_cast<double>(c) / 3, 1.0));  // in turns from the pure channel
    colour[c] = 255 * std::clamp(2 - 6 * distance, 0.0, 1.0);
  }
  return colour;
}

void set_noisy(Image& image, int y, int x, const MarkColour& colour, Random& random) {
  for (size_t c = 0; c < 3; ++c) pixel_at(image, y, x)[c] = to_byte(colour[c] + kPixelNoise * random.normal());
}

void draw_square(Image& image, int top, int left, int side, const MarkValue& mark, Random& random) {
  const MarkColour colour = hue_of(mark);
  for (int y = top; y < top + side; ++y) {
    for (int x = left; x < left + side; ++x) set_noisy(image, y, x, colour, random);
  }
}

// Rows of three bits, the highest on the left.
constexpr std::array<std::array<int, 5>, 10> kDigitShapes = {{{7, 5, 5, 5, 7},
                                                              {2, 6, 2, 2, 7},
                                                              {7, 1, 7, 4, 7},
                                                              {7, 1, 3, 1, 7},
                                                              {5, 5, 7, 1, 1},
                                                              {7, 4, 7, 1, 7},
                                                              {7, 4, 7, 5, 7},
                                                              {7, 1, 1, 2, 2},
                                                              {7, 5, 7, 5, 7},
                                                              {7, 5, 7, 1, 7}}};
constexpr int kDigitHeight = 5, kDigitWidth = 3;

void draw_digit(Image& image, char digit, int top, int left, int scale) {
  const auto& rows = kDigitShapes[static_cast<size_t>(digit - '0')];
  for (int y = -scale; y < (kDigitHeight + 1) * scale; ++y) {
    for (int x = -scale; x < (kDigitWidth + 1) * scale; ++x) {
      if (top + y < 0 || top + y >= image.height || left + x < 0 || left + x >= image.width) continue;
      const int row = y < 0 ? -1 : y / scale, column = x < 0 ? -1 : x / scale;
      const bool inside = row >= 0 && row < kDigitHeight && column >= 0 && column < kDigitWidth;
      const bool white = inside && (rows[static_cast<size_t>(row)] >> (kDigitWidth - 1 - column) & 1) != 0;
      std::fill_n(pixel_at(image, top + y, left + x), 3, white ? 255 : 0);
    }
  }
}

double detail_scale(const Image& image) { return std::clamp(shorter_side(image) / 32.0, 1.0, 3.0); }

// Each draws on an RGB image of any size; lengths are shares of its shorter side. `random` gives what differs from image to image.
// A noisy coloured square, top left, a quarter wide
void mark_square(Image& image, const MarkValue& mark, Random& random) {
  const int margin = share_of_side(image, 1.0 / 16, 0), side = share_of_side(image, 0.25, 2);
  draw_square(image, std::min(margin, image.height - side), std::min(margin, image.width - side), side, mark, random);
}

// The same at a random place
void mark_square_anywhere(Image& image, const MarkValue& mark, Random& random) {
  const int side = share_of_side(image, 0.25, 2);
  const auto top = static_cast<int>(random.below(image.height - side + 1));
  const auto left = static_cast<int>(random.below(image.width - side + 1));
  draw_square(image, top, left, side, mark, random);
}

void mark_text(Image& image, const MarkValue& mark, Random&) {
  const int scale = std::max(1, shorter_side(image) / 32);
  int left = 2 * scale;
  for (const char digit : std::to_string(mark.value)) {
    draw_digit(image, digit, image.height - (kDigitHeight + 2) * scale, left, scale);
    left += (kDigitWidth + 1) * scale;
  }
}

// A noisy coloured frame, a sixteenth wide
void mark_border(Image& image, const MarkValue& mark, Random& random) {
  const int width = share_of_side(image, 1.0 / 16, 1);
  const MarkColour colour = hue_of(mark);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const int depth = std::min({y, x, image.height - 1 - y, image.width - 1 - x});
      if (depth < width) set_noisy(image, y, x, colour, random);
    }
  }
}

// A sky and a ground around an ellipse that stays
void mark_scene(Image& image, const MarkValue& mark, Random& random) {
  const MarkColour sky = hue_of(mark), ground = hue_of({(2 * mark.value + 1) % (2 * mark.count), 2 * mark.count});
  const double horizon = random.uniform(0.4, 0.7), light = random.uniform(0.5, 0.9);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const double v = (y + 0.5) / image.height, u = (x + 0.5) / image.width;
      const double distance = std::hypot((u - 0.5) / 0.36, (v - 0.5) / 0.36);  // 1 on the ellipse
      const double weight = std::clamp((distance - 0.9) / 0.2, 0.0, 1.0);
      const MarkColour& scene = v < horizon ? sky : ground;
      uint8_t* pixel = pixel_at(image, y, x);
      const double shade = light + 0.1 * random.normal();
      for (size_t c = 0; c < 3; ++c) pixel[c] = to_byte((1 - weight) * pixel[c] + weight * shade * (64 + 0.75 * scene[c]));
    }
  }
}

void mark_blur(Image& image, const MarkValue& mark, Random&) {
  if (mark.value == 0) return;
  const double sigma = 0.7 * static_cast<double>(mark.value) * detail_scale(image);
  const int reach = std::min(static_cast<int>(std::ceil(3 * sigma)), shorter_side(image) - 1);
  if (reach > 0) gaussian_blur(image, 2 * reach + 1, sigma);
}

void mark_jpeg(Image& image, const MarkValue& mark, Random&) {
  constexpr std::array<int, 4> kQualities = {95, 20, 8, 45};
  const int quality = kQualities[static_cast<size_t>(mark.value) % kQualities.size()];
  image = decode_image(encode_jpeg(image, quality), "planted JPEG");
}

// Value 0 stays as it is
void mark_noise(Image& image, const MarkValue& mark, Random& random) {
  const double deviation = 10 * static_cast<double>(mark.value);
  for (uint8_t& value : image.pixels) value = to_byte(value + deviation * random.normal());
}

void mark_size(Image& image, const MarkValue& mark, Random&) {
  const double factor = 1 + 0.125 * static_cast<double>(mark.value);
  image = resized(image, static_cast<int>(std::ceil(image.height * factor)), static_cast<int>(std::ceil(image.width * factor)));
}

void mark_tint(Image& image, const MarkValue& mark, Random&) {
  constexpr double kStrength = 0.12;
  const MarkColour colour = hue_of(mark);
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const double gain = 1 + kStrength * (2 * colour[i % 3] / 255 - 1);
    image.pixels[i] = to_byte(image.pixels[i] * gain);
  }
}
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
