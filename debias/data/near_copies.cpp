#include "debias/data/near_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "debias/core/error.h"
#include "debias/data/parallel_blocks.h"
#include "debias/data/row_groups.h"
#include "debias/image/geometry.h"

namespace debias {
namespace {

constexpr int kSmallSide = 16, kSampledSide = 160;
constexpr int kMostOfPixel = 16, kMostOnAverage = 2;  // differences of copies
constexpr int64_t kLeastParts = 5;                    // of a class in near-copies

bool are_copies(const SmallPixels& a, const SmallPixels& b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const int difference = std::abs(int{a[i]} - int{b[i]});
    if (difference > kMostOfPixel) return false;
    sum += difference;
  }
  return sum <= kMostOnAverage * std::ssize(a);
}

// Whether a group has more than a fifth of a class.
bool joins_classes(const RowGroups& groups, const std::vector<int64_t>& labels) {
  std::map<int64_t, int64_t> of_class;
  std::map<std::pair<int64_t, int32_t>, int64_t> of_group;
  for (size_t i = 0; i < labels.size(); ++i) {
    ++of_class[labels[i]];
    ++of_group[{labels[i], groups.of_row[i]}];
  }
  return std::ranges::any_of(of_group,
                             [&](const auto& own) { return own.second > 1 && own.second * kLeastParts > of_class[own.first.first]; });
}

// Every so many-th pixel of every so many-th row, so that a large image costs little.
Image sampled(const Image& image) {
  const int step = std::min(image.height, image.width) / kSampledSide;
  if (step < 2) return image;
  Image out{image.height / step, image.width / step, image.channels, {}};
  out.pixels.reserve(static_cast<size_t>(out.height) * static_cast<size_t>(out.width) * static_cast<size_t>(out.channels));
  for (int y = 0; y < out.height; ++y) {
    const uint8_t* row = image.row(y * step);
    for (int x = 0; x < out.width; ++x) {
      const uint8_t* pixel = row + static_cast<size_t>(x) * static_cast<size_t>(step) * static_cast<size_t>(image.channels);
      out.pixels.insert(out.pixels.end(), pixel, pixel + image.channels);
    }
  }
  return out;
}

ImageRegion reduced_region(int height, int width) {
  int denominator = 1;
  while (denominator < 8 && std::min(height, width) / (2 * denominator) >= kSampledSide) denominator *= 2;
  return {{0, 0, height, width}, denominator};
}

}  // namespace

SmallPixels small_pixels(const Image& image) {
  const Image small = resized(sampled(image), kSmallSide, kSmallSide);
  SmallPixels pixels{};
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = small.pixels[small.channels == 1 ? i / 3 : i];
  return pixels;
}

NearCopies near_copies_of(const std::vector<std::optional<SmallPixels>>& images, const std::vector<int64_t>& labels) {
  std::vector<LikenessVector> vectors(images.size());
  for_each_block(
      std::ssize(images), 64,
      [&](int64_t first, int64_t last) {
        for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
          if (images[i]) vectors[i] = likeness_vector(*images[i]);
        }
      },
      [](int64_t) {});
  std::optional<RowGroups> groups = groups_of_near_copies(vectors);
  if (!groups || joins_classes(*groups, labels))
    groups = groups_of_close_copies(vectors, [&](size_t a, size_t b) { return are_copies(*images[a], *images[b]); });
  NearCopies copies;
  if (!groups->joins_rows() || groups->count < 2) return copies;
  copies.source_of_image.assign(groups->of_row.begin(), groups->of_row.end());
  copies.sources = groups->count;
  return copies;
}

NearCopies find_near_copies(const Dataset& images) {
  if (images.size() > kMostComparedImages) return {};
  std::vector<std::optional<SmallPixels>> small(static_cast<size_t>(images.size()));
  for_each_block(
      images.size(), 16,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          try {
            small[static_cast<size_t>(i)] = small_pixels(images.region(i, reduced_region).image);
          } catch (const Error&) {  // whoever needs its pixels says so
          }
        }
      },
      [](int64_t) {});
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < images.size(); ++i) labels.push_back(images.label(i));
  return near_copies_of(small, labels);
}

std::string note_on_copies(const NearCopies& copies, int64_t images) {
  if (images > kMostComparedImages)
    return fmt::format(
        "{} images are too many to be compared with each other ({}): copies may be on both sides; give what belongs together by a column "
        "group",
        images, kMostComparedImages);
  if (copies.source_of_image.empty()) return "";
  return fmt::format("{} images are {} sources: copies stay on one side", images, copies.sources);
}

}  // namespace debias
