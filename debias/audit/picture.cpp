#include "debias/audit/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

Image detail_of(std::span<const uint8_t> bytes, const PictureFile& file, const PartialImage& whole) {
  const Box middle = middle_box(whole.height, whole.width);
  if (whole.region.denominator == 1) return cut(whole.image, middle);
  const PartialImage part = decode_region(
      bytes, file.path,
      [&](int, int) {
        return ImageRegion{middle, 1};
      },
      file.reading);
  const Box& decoded = part.region.box;  // at least what was asked for
  return cut(part.image, {middle.top - decoded.top, middle.left - decoded.left, middle.height, middle.width});
}

// Rows [top, bottom) and columns [left, right).
EdgeBand band_of(const Image& image, int top, int bottom, int left, int right) {
  std::array<double, 3> sum{}, square{};
  for (int y = top; y < bottom; ++y) {
    const uint8_t* row = image.row(y);
    for (int x = left; x < right; ++x) {
      for (size_t c = 0; c < 3; ++c) {
        const double value = row[3 * x + static_cast<int>(c)];
        sum[c] += value;
        square[c] += value * value;
      }
    }
  }
  const double n = static_cast<double>(bottom - top) * (right - left);
  EdgeBand band;
  for (size_t c = 0; c < 3; ++c) {
    const double mean = sum[c] / n;
    band.mean[c] = static_cast<float>(mean);
    band.deviation = std::max(band.deviation, static_cast<float>(std::sqrt(std::max(0.0, square[c] / n - mean * mean))));
  }
  return band;
}

std::array<EdgeBand, kSides> bands_of(const Image& image, double share) {
  const auto depth = [&](int extent) { return std::clamp(static_cast<int>(std::lround(share * extent)), 1, extent); };
  const int h = image.height, w = image.width, y = depth(h), x = depth(w);
  return {band_of(image, 0, y, 0, w), band_of(image, h - y, h, 0, w), band_of(image, 0, h, 0, x), band_of(image, 0, h, w - x, w)};
}

// The brightest corner is less than half as bright as the darkest middle of a side.
bool has_dark_corners(const Image& image) {
  constexpr double kShare = 0.04, kLeastMiddle = 40;
  const int h = image.height, w = image.width;
  const int y = std::max(1, static_cast<int>(kShare * h)), x = std::max(1, static_cast<int>(kShare * w));
  const auto level = [&](int top, int left) {
    const EdgeBand band = band_of(image, top, top + y, left, left + x);
    return (band.mean[0] + band.mean[1] + band.mean[2]) / 3;
  };
  const float corner = std::max({level(0, 0), level(0, w - x), level(h - y, 0), level(h - y, w - x)});
  const float middle = std::min({level(0, (w - x) / 2), level(h - y, (w - x) / 2), level((h - y) / 2, 0), level((h - y) / 2, w - x)});
  return middle > kLeastMiddle && corner < middle / 2;
}

// Harris: det(M) - 0.04 trace(M)^2 of the gradient's second moments over 5 x 5 pixels.
std::vector<float> corner_strength(const Luma& luma) {
  const auto at = [&](int y, int x) { return static_cast<size_t>(y) * static_cast<size_t>(luma.width) + static_cast<size_t>(x); };
  std::vector<float> xx(luma.values.size()), xy(xx), yy(xx), strength(xx);
  for (int y = 1; y + 1 < luma.height; ++y) {
    for (int x = 1; x + 1 < luma.width; ++x) {
      const float gx = luma.at(y, x + 1) - luma.at(y, x - 1), gy = luma.at(y + 1, x) - luma.at(y - 1, x);
      xx[at(y, x)] = gx * gx;
      xy[at(y, x)] = gx * gy;
      yy[at(y, x)] = gy * gy;
    }
  }
  constexpr int kReach = 2;
  for (int y = kReach; y + kReach < luma.height; ++y) {
    for (int x = kReach; x + kReach < luma.width; ++x) {
      float a = 0, b = 0, c = 0;
      for (int v = y - kReach; v <= y + kReach; ++v) {
        for (int u = x - kReach; u <= x + kReach; ++u) {
          a += xx[at(v, u)];
          b += xy[at(v, u)];
          c += yy[at(v, u)];
        }
      }
      strength[at(y, x)] = a * c - b * b - 0.04F * (a + c) * (a + c);
    }
  }
  return strength;
}

std::optional<DetailPatch> patch_at(const Image& image, int y, int x) {
  constexpr float kLeastContrast = 12;  // levels, root mean square
  std::array<float, kPatchValues> values;
  float mean = 0;
  for (int v = 0; v < kPatchSide; ++v) {
    const uint8_t* row = image.row(y - kPatchSide / 2 + v) + static_cast<ptrdiff_t>(3) * (x - kPatchSide / 2);
    for (int u = 0; u < 3 * kPatchSide; ++u) {
      values[static_cast<size_t>(3 * kPatchSide * v + u)] = row[u];
      mean += static_cast<float>(row[u]) / kPatchValues;
    }
  }
  float square = 0, largest = 0;
  for (float& value : values) {
    value -= mean;
    square += value * value;
    largest = std::max(largest, std::abs(value));
  }
  if (square < kLeastContrast * kLeastContrast * kPatchValues) return std::nullopt;
  DetailPatch patch;
  float length = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    patch.values[i] = static_cast<int8_t>(std::lround(values[i] * 127 / largest));
    length += static_cast<float>(patch.values[i]) * static_cast<float>(patch.values[i]);
  }
  patch.length = std::sqrt(length);
  patch.level = mean;
  patch.largest = largest;
  patch.x = (static_cast<float>(x) + 0.5F) / static_cast<float>(image.width);
  patch.y = (static_cast<float>(y) + 0.5F) / static_cast<float>(image.height);
  return patch;
}

// Around the strongest corners, no two of them within 4 pixels.
std::vector<DetailPatch> details_of(const Image& whole) {
  constexpr int kLongerSide = 192, kApart = 4;
  constexpr size_t kMostDetails = 24;
  const int longer = std::max(whole.height, whole.width);
  const auto scaled = [&](int extent) { return std::max(1, (extent * kLongerSide + longer / 2) / longer); };
  const Image image = longer > kLongerSide ? resized(whole, scaled(whole.height), scaled(whole.width)) : whole;
  const int margin = kPatchSide / 2;
  if (std::min(image.height, image.width) <= 2 * margin) return {};
  const std::vector<float> strength = corner_strength(luma_of(image));
  struct Corner {
    float strength;
    int y, x;
  };
  std::vector<Corner> corners;
  for (int y = margin; y + margin < image.height; ++y) {
    for (int x = margin; x + margin < image.width; ++x) {
      const float own = strength[static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x)];
      if (own > 0) corners.push_back({own, y, x});
    }
  }
  std::ranges::sort(corners, std::ranges::greater{}, &Corner::strength);
  std::vector<DetailPatch> details;
  std::vector<bool> taken(strength.size());
  for (const Corner& corner : corners) {
    if (details.size() == kMostDetails) break;
    if (taken[static_cast<size_t>(corner.y) * static_cast<size_t>(image.width) + static_cast<size_t>(corner.x)]) continue;
    for (int y = std::max(0, corner.y - kApart); y <= std::min(image.height - 1, corner.y + kApart); ++y) {
      for (int x = std::max(0, corner.x - kApart); x <= std::min(image.width - 1, corner.x + kApart); ++x) {
        taken[static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x)] = true;
      }
    }
    if (auto patch = patch_at(image, corner.y, corner.x)) details.push_back(*patch);
  }
  return details;
}

// Pixels of the thumbnail that any pixel of the mask other than black falls into.
std::vector<bool> object_of(const std::string& path, int height, int width, int side) {
  ImageReading any_but_zero = ExifOrientation::kApplied;
  any_but_zero.scale.window = {0, 1};
  const Image mask = read_image(path, any_but_zero);
  if (mask.height != height || mask.width != width) {
    throw FileError(path, fmt::format("the mask has {} x {} pixels, its image {} x {}", mask.width, mask.height, width, height));
  }
  std::vector<bool> object(static_cast<size_t>(side) * static_cast<size_t>(side));
  for (int y = 0; y < height; ++y) {
    const uint8_t* row = mask.row(y);
    for (int x = 0; x < width; ++x) {
      const uint8_t* pixel = row + static_cast<ptrdiff_t>(x) * mask.channels;
      if (std::all_of(pixel, pixel + mask.channels, [](uint8_t value) { return value == 0; })) continue;
      object[static_cast<size_t>(static_cast<int64_t>(y) * side / height * side + static_cast<int64_t>(x) * side / width)] = true;
    }
  }
  return object;
}

Picture read_picture(const PictureFile& file, int side) {
  constexpr double kBorder = 0.03;
  const std::vector<uint8_t> bytes = read_file_bytes(file.path);
  const PartialImage whole = decode_region(bytes, file.path, reduced_whole, file.reading);
  Picture picture{.facts = file_facts({file.name, bytes, whole.height, whole.width}),
                  .features = picture_features(whole.image, detail_of(bytes, file, whole)),
                  .thumbnail = resized(whole.image, side, side).pixels,
                  .small = {},
                  .edge = bands_of(whole.image, 0),
                  .border = bands_of(whole.image, kBorder),
                  .dark_corners = has_dark_corners(whole.image),
                  .details = details_of(whole.image)};
  std::ranges::copy(resized(whole.image, 16, 16).pixels, picture.small.begin());
  if (!file.mask.empty()) picture.object = object_of(file.mask, whole.height, whole.width, side);
  return picture;
}

}  // namespace

int thumbnail_side(std::span<const PictureFile> files) {
  constexpr size_t kLooked = 15;
  std::vector<int> sides;
  for (size_t i = 0; i < files.size() && sides.size() < kLooked; ++i) {
    try {
      const PartialImage whole = read_region(files[i].path, reduced_whole);
      sides.push_back(std::min(whole.height, whole.width));
    } catch (const FileError&) {  // it is reported when all are read
    }
  }
  if (sides.empty()) return 96;
  std::ranges::sort(sides);
  const int middle = sides[sides.size() / 2];
  return middle < 48 ? 32 : middle < 96 ? 48 : 96;
}

PictureTable read_pictures(std::span<const PictureFile> files, int side, Progress& progress) {
  const auto n = files.size();
  std::vector<std::optional<Picture>> read(n);
  std::vector<std::string> reasons(n);
  progress.begin("reading", std::ssize(files));
  for_each_block(
      std::ssize(files), kBlockOfFiles,
      [&](int64_t first, int64_t last) {
        for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
          try {
            read[i] = read_picture(files[i], side);
          } catch (const FileError& error) {
            reasons[i] = error.reason();
          }
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  PictureTable table;
  table.side = side;
  table.pictures.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    if (!read[i]) {
      table.bad.push_back({files[i].source, reasons[i]});
      continue;
    }
    table.pictures.push_back(std::move(*read[i]));
    table.index.push_back(static_cast<int64_t>(i));
    read[i].reset();
  }
  return table;
}

}  // namespace debias
