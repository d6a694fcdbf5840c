#include "debias/mining/copied_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "debias/core/error.h"
#include "debias/data/parallel_blocks.h"
#include "debias/image/geometry.h"
#include "debias/image/resize.h"

namespace debias {
namespace {

constexpr int kSide = 40, kGrid = 16, kChannels = 3, kLeastCrop = 35;
constexpr double kBlur = 2, kCopy = 0.88, kAlike = 0.45, kMostColour = 16, kFlat = 1, kFlatDifference = 2;

constexpr size_t kValues = static_cast<size_t>(kGrid) * kGrid * kChannels;
using Values = std::array<float, kValues>;

Values values_of(const Image& image) {
  Values values{};
  for (size_t i = 0; i < kValues; ++i) values[i] = static_cast<float>(image.pixels[i]);
  return values;
}

Values shrunk(const Image& image, const Box& box) { return values_of(resized_crop(image, box, kGrid, kGrid)); }

// [kGrid, kGrid]: row i are the weights of a Gaussian about i, what passes an edge mirrored.
const std::array<std::array<float, kGrid>, kGrid>& blur_weights() {
  static const auto weights = [] {
    std::array<std::array<float, kGrid>, kGrid> all{};
    for (int i = 0; i < kGrid; ++i) {
      double sum = 0;
      std::array<double, kGrid> row{};
      for (int k = -8; k <= 8; ++k) {
        int at = i + k;
        if (at < 0) at = -1 - at;
        if (at >= kGrid) at = 2 * kGrid - 1 - at;
        row[static_cast<size_t>(at)] += std::exp(-k * k / (2 * kBlur * kBlur));
        sum += std::exp(-k * k / (2 * kBlur * kBlur));
      }
      for (int j = 0; j < kGrid; ++j)
        all[static_cast<size_t>(i)][static_cast<size_t>(j)] = static_cast<float>(row[static_cast<size_t>(j)] / sum);
    }
    return all;
  }();
  return weights;
}

Values detail_of(const Values& values) {
  const auto& weights = blur_weights();
  Values rows{}, detail = values;
  constexpr size_t kRow = static_cast<size_t>(kGrid) * kChannels;
  for (size_t y = 0; y < kGrid; ++y) {
    for (size_t from = 0; from < kGrid; ++from) {
      for (size_t i = 0; i < kRow; ++i) rows[y * kRow + i] += weights[y][from] * values[from * kRow + i];
    }
  }
  for (size_t y = 0; y < kGrid; ++y) {
    for (size_t x = 0; x < kGrid; ++x) {
      for (size_t from = 0; from < kGrid; ++from) {
        for (size_t c = 0; c < kChannels; ++c)
          detail[y * kRow + x * kChannels + c] -= weights[x][from] * rows[y * kRow + from * kChannels + c];
      }
    }
  }
  return detail;
}

Values mirrored(const Values& values) {
  Values out{};
  for (size_t y = 0; y < kGrid; ++y) {
    for (size_t x = 0; x < kGrid; ++x) {
      for (size_t c = 0; c < kChannels; ++c) out[(y * kGrid + x) * kChannels + c] = values[(y * kGrid + kGrid - 1 - x) * kChannels + c];
    }
  }
  return out;
}

std::array<double, kChannels> means_of(const Values& values) {
  std::array<double, kChannels> means{};
  for (size_t i = 0; i < kValues; ++i) means[i % kChannels] += values[i] / (kGrid * kGrid);
  return means;
}

Values centred(Values values) {
  const auto means = means_of(values);
  for (size_t i = 0; i < kValues; ++i) values[i] -= static_cast<float>(means[i % kChannels]);
  return values;
}

double deviation(const Values& values) {
  double sum = 0;
  for (const float v : values) sum += v * v;
  return std::sqrt(sum / kValues);
}

double correlation_of(const Values& x, const Values& y) {
  float xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < kValues; ++i) {
    xy += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(static_cast<double>(xx) * yy) : 0;
}

bool alike_in_colour(const Values& x, const Values& y) {
  const auto a = means_of(x), b = means_of(y);
  for (size_t c = 0; c < kChannels; ++c) {
    if (std::abs(a[c] - b[c]) > kMostColour) return false;
  }
  return true;
}

// Of a whole image with crops of another, either way round.
double with_crops(const Values& whole, const Image& other) {
  const Values detail = detail_of(whole), flipped = mirrored(detail);
  double best = -1;
  for (int side = kSide - 1; side >= kLeastCrop; --side) {
    for (int top = 0; top <= kSide - side; ++top) {
      for (int left = 0; left <= kSide - side; ++left) {
        const Values crop = shrunk(other, {top, left, side, side});
        if (!alike_in_colour(whole, crop)) continue;
        const Values crop_detail = detail_of(crop);
        best = std::max({best, correlation_of(detail, crop_detail), correlation_of(flipped, crop_detail)});
      }
    }
  }
  return best;
}

// Without detail a correlation is one of noise.
double of_flat(const Values& x, const Values& y) {
  for (size_t i = 0; i < kValues; ++i) {
    if (std::abs(x[i] - y[i]) > kFlatDifference) return -1;
  }
  return 1;
}

constexpr Box kWhole = {0, 0, kSide, kSide};

using ImageKey = std::pair<bool, int64_t>;  // of the second rows, and the row

struct ReadThumbnails {
  std::map<ImageKey, std::unique_ptr<const CopyThumbnail>> by_key;  // null where it cannot be read
  int64_t unreadable = 0;
  std::string first_reason;
};

ReadThumbnails read_thumbnails(const std::vector<MinedPair>& pairs, const ReadPairImage& read, Progress& progress) {
  ReadThumbnails found;
  for (const MinedPair& pair : pairs) {
    found.by_key[{false, pair.a}];
    found.by_key[{pair.kind == PairKind::kLeak, pair.b}];
  }
  std::vector<std::pair<const ImageKey, std::unique_ptr<const CopyThumbnail>>*> all;
  for (auto& entry : found.by_key) all.push_back(&entry);
  std::mutex mutex;
  progress.begin("reading images", std::ssize(all));
  for_each_block(
      std::ssize(all), 16,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          auto& [key, thumbnail] = *all[static_cast<size_t>(i)];
          try {
            thumbnail = std::make_unique<const CopyThumbnail>(read(key.second, key.first));
          } catch (const Error& error) {
            const std::lock_guard lock(mutex);
            if (found.unreadable++ == 0) found.first_reason = error.what();
          }
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  return found;
}

Image three_channels(const Image& image) {
  if (image.channels == kChannels) return image;
  Image out{image.height, image.width, kChannels, {}};
  for (const uint8_t value : image.pixels) out.pixels.insert(out.pixels.end(), kChannels, value);
  return out;
}

}  // namespace

CopyThumbnail::CopyThumbnail(const Image& image) : image_(resized(three_channels(image), kSide, kSide)) {}

double CopyThumbnail::correlation(const CopyThumbnail& other) const {
  const Values own = shrunk(image_, kWhole), others = shrunk(other.image_, kWhole);
  const Values own_detail = detail_of(own), other_detail = detail_of(others);
  if (deviation(own_detail) < kFlat || deviation(other_detail) < kFlat) return of_flat(own, others);
  const Values own_centred = centred(own), other_centred = centred(others);
  if (std::max(correlation_of(own_centred, other_centred), correlation_of(mirrored(own_centred), other_centred)) < kAlike) return -1;
  double best = -1;
  if (alike_in_colour(own, others))
    best = std::max(correlation_of(own_detail, other_detail), correlation_of(mirrored(own_detail), other_detail));
  if (best >= kCopy) return best;
  return std::max({best, with_crops(own, other.image_), with_crops(others, image_)});
}

bool CopyThumbnail::is_copy_of(const CopyThumbnail& other) const { return correlation(other) >= kCopy; }

ConfirmedCopies confirm_copies(const std::vector<MinedPair>& candidates, const ReadPairImage& read, Progress& progress) {
  const ReadThumbnails thumbnails = read_thumbnails(candidates, read, progress);
  std::vector<char> copies(candidates.size());
  progress.begin("comparing images", std::ssize(candidates));
  for_each_block(
      std::ssize(candidates), 64,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const MinedPair& pair = candidates[static_cast<size_t>(i)];
          const auto& a = thumbnails.by_key.at({false, pair.a});
          const auto& b = thumbnails.by_key.at({pair.kind == PairKind::kLeak, pair.b});
          copies[static_cast<size_t>(i)] = a != nullptr && b != nullptr && a->is_copy_of(*b);
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  ConfirmedCopies found{{}, thumbnails.unreadable, thumbnails.first_reason};
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (copies[i] != 0) found.pairs.push_back(candidates[i]);
  }
  return found;
}

}  // namespace debias
