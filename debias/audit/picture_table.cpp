#include "debias/audit/picture_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/parallel_blocks.h"
#include "debias/image/geometry.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

constexpr int64_t kDecodedWhole = 400'000;  // pixels; beyond that the image is decoded reduced
constexpr int kReducedSide = 128, kDetailSide = 256, kJpegBlock = 8;
constexpr int64_t kBlockOfFiles = 16;

int denominator_of(int height, int width) {
  if (static_cast<int64_t>(height) * width <= kDecodedWhole) return 1;
  int denominator = 8;
  while (denominator > 1 && std::min(height, width) / denominator < kReducedSide) denominator /= 2;
  return denominator;
}

ImageRegion reduced_whole(int height, int width) {
  const int d = denominator_of(height, width);
  return {{0, 0, (height + d - 1) / d, (width + d - 1) / d}, d};
}

Box middle_box(int height, int width) {
  const auto start = [](int extent) { return std::max(0, (extent - kDetailSide) / 2 / kJpegBlock * kJpegBlock); };
  return {start(height), start(width), std::min(height, kDetailSide), std::min(width, kDetailSide)};
}

Image cut(const Image& image, const Box& box) {
  Image out{box.height, box.width, image.channels, {}};
  out.pixels.reserve(static_cast<size_t>(box.height) * box.width * image.channels);
  for (int y = box.top; y < box.top + box.height; ++y) {
    const uint8_t* row = image.row(y) + static_cast<ptrdiff_t>(box.left) * image.channels;
    out.pixels.insert(out.pixels.end(), row, row + static_cast<ptrdiff_t>(box.width) * image.channels);
  }
  return out;
}

Image detail_of(std::span<const uint8_t> bytes, const std::string& path, const PartialImage& whole) {
  const Box middle = middle_box(whole.height, whole.width);
  if (whole.region.denominator == 1) return cut(whole.image, middle);
  const PartialImage part = decode_region(
      bytes, path,
      [&](int, int) {
        return ImageRegion{middle, 1};
      },
      ExifOrientation::kApplied);
  const Box& decoded = part.region.box;  // at least what was asked for
  return cut(part.image, {middle.top - decoded.top, middle.left - decoded.left, middle.height, middle.width});
}

struct ReadPicture {
  PictureFeatures features;
  FileFacts facts;
};

ReadPicture read_picture(const PictureFile& file) {
  const std::vector<uint8_t> bytes = read_file_bytes(file.path);
  const PartialImage whole = decode_region(bytes, file.path, reduced_whole, ExifOrientation::kApplied);
  return {picture_features(whole.image, detail_of(bytes, file.path, whole)), file_facts({file.name, bytes, whole.height, whole.width})};
}

}  // namespace

PictureTable read_pictures(std::span<const PictureFile> files, Progress& progress) {
  const auto n = files.size();
  std::vector<std::optional<ReadPicture>> read(n);
  std::vector<std::string> reasons(n);
  progress.begin("reading", std::ssize(files));
  for_each_block(
      std::ssize(files), kBlockOfFiles,
      [&](int64_t first, int64_t last) {
        for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
          try {
            read[i] = read_picture(files[i]);
          } catch (const FileError& error) {
            reasons[i] = error.reason();
          }
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  PictureTable table;
  table.pictures.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    if (!read[i]) {
      table.bad.push_back({files[i].source, reasons[i]});
      continue;
    }
    table.pictures.push_back(read[i]->features);
    table.files.push_back(std::move(read[i]->facts));
    table.index.push_back(static_cast<int64_t>(i));
    read[i].reset();
  }
  return table;
}

Image read_thumbnail(const PictureFile& file, int side) {
  const std::vector<uint8_t> bytes = read_file_bytes(file.path);
  return resized(decode_region(bytes, file.path, reduced_whole, ExifOrientation::kApplied).image, side, side);
}

}  // namespace debias
