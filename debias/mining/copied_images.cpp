#include "debias/mining/copied_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/data/parallel_blocks.h"
#include "debias/image/geometry.h"

namespace debias {
namespace {

using ImageKey = std::pair<bool, int64_t>;  // of the second rows, and the row

std::pair<ImageKey, ImageKey> keys_of(const MinedPair& pair) { return {{false, pair.a}, {pair.kind == PairKind::kLeak, pair.b}}; }

struct ReadThumbnails {
  std::map<ImageKey, std::unique_ptr<const CopyThumbnail>> by_key;  // null where it cannot be read
  int64_t unreadable = 0;
  std::string first_reason;
};

ReadThumbnails read_thumbnails(const std::vector<MinedPair>& pairs, const ReadPairImage& read, Progress& progress) {
  ReadThumbnails found;
  for (const MinedPair& pair : pairs) {
    const auto [a, b] = keys_of(pair);
    found.by_key[a];
    found.by_key[b];
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

// Whether few of the images are in pairs that look alike without being copies.
bool are_rare(const std::vector<MinedPair>& candidates, const std::vector<Likeness>& likeness, int64_t images) {
  std::set<ImageKey> alike;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (likeness[i] != Likeness::kLookAlike) continue;
    const auto [a, b] = keys_of(candidates[i]);
    alike.insert({a, b});
  }
  return static_cast<double>(alike.size()) <= kRareLookAlikes * static_cast<double>(images);
}

}  // namespace

ConfirmedCopies confirm_copies(const std::vector<MinedPair>& candidates, const ReadPairImage& read, Progress& progress) {
  const ReadThumbnails thumbnails = read_thumbnails(candidates, read, progress);
  std::vector<Likeness> likeness(candidates.size(), Likeness::kNone);
  progress.begin("comparing images", std::ssize(candidates));
  for_each_block(
      std::ssize(candidates), 64,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const auto [a, b] = keys_of(candidates[static_cast<size_t>(i)]);
          const auto &x = thumbnails.by_key.at(a), &y = thumbnails.by_key.at(b);
          if (x != nullptr && y != nullptr) likeness[static_cast<size_t>(i)] = x->likeness(*y);
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  const bool rare = are_rare(candidates, likeness, std::ssize(thumbnails.by_key));
  ConfirmedCopies found{{}, 0, {}, thumbnails.unreadable, thumbnails.first_reason};
  for (const auto& [key, thumbnail] : thumbnails.by_key) {
    if (thumbnail != nullptr && thumbnail->is_flat()) found.flat.push_back(key.first ? -1 - key.second : key.second);
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (likeness[i] == Likeness::kNone) continue;
    if (likeness[i] == Likeness::kCopy || rare) {
      found.pairs.push_back(candidates[i]);
    } else {
      ++found.look_alike;
    }
  }
  return found;
}

namespace {

constexpr int kSide = 40, kGrid = 16, kChannels = 3, kLeastCrop = 35;
constexpr double kBlur = 2, kFlat = 1;
constexpr double kAlike = 0.45, kDetail = 0.88;      // minimum correlations: of whole images, and of the detail
constexpr double kLooseColour = 16, kColour = 4;     // maximum differences of the mean of a channel
constexpr double kSmooth = 3;                        // maximum of the mean difference of what is not detail
constexpr double kDetailNoise = 8.5, kMoved = 0.25;  // maximum deviation between the details: absolute, or as a share of their own

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

struct Compared {
  Values values, detail;
};

Compared compared(const Values& values) { return {values, detail_of(values)}; }
Compared mirrored(const Compared& image) { return {mirrored(image.values), mirrored(image.detail)}; }

double colour_difference(const Values& x, const Values& y) {
  const auto a = means_of(x), b = means_of(y);
  double most = 0;
  for (size_t c = 0; c < kChannels; ++c) most = std::max(most, std::abs(a[c] - b[c]));
  return most;
}

// Whether compression and resampling explain all that differs.
bool differs_by_noise(const Compared& x, const Compared& y) {
  if (colour_difference(x.values, y.values) > kColour) return false;
  double smooth = 0, noise = 0, detail = 0;
  for (size_t i = 0; i < kValues; ++i) {
    const double between = x.detail[i] - y.detail[i];
    smooth += std::abs(x.values[i] - y.values[i] - between);
    noise += between * between;
    detail += (x.detail[i] * x.detail[i] + y.detail[i] * y.detail[i]) / 2;
  }
  const double limit = std::max(kDetailNoise * kDetailNoise * kValues, kMoved * kMoved * detail);
  return smooth <= kSmooth * kValues && noise <= limit;
}

// One image as it is and mirrored, against another in one crop.
class CropComparison {
 public:
  explicit CropComparison(const Values& values) : image_(compared(values)), mirrored_(mirrored(image_)) {}

  Likeness with(const Values& values) const {
    if (colour_difference(image_.values, values) > kLooseColour) return Likeness::kNone;
    const Compared other = compared(values);
    Likeness best = Likeness::kNone;
    for (const Compared* own : {&image_, &mirrored_}) {
      if (correlation_of(own->detail, other.detail) < kDetail) continue;
      best = std::max(best, differs_by_noise(*own, other) ? Likeness::kCopy : Likeness::kLookAlike);
    }
    return best;
  }

  Likeness with_crops(const Image& other) const {
    Likeness best = Likeness::kNone;
    for (int side = kSide - 1; side >= kLeastCrop; --side) {
      for (int top = 0; top <= kSide - side; ++top) {
        for (int left = 0; left <= kSide - side; ++left) {
          best = std::max(best, with(shrunk(other, {top, left, side, side})));
          if (best == Likeness::kCopy) return best;
        }
      }
    }
    return best;
  }

 private:
  Compared image_, mirrored_;
};

constexpr Box kWhole = {0, 0, kSide, kSide};

Image three_channels(const Image& image) {
  if (image.channels == kChannels) return image;
  Image out{image.height, image.width, kChannels, {}};
  for (const uint8_t value : image.pixels) out.pixels.insert(out.pixels.end(), kChannels, value);
  return out;
}

}  // namespace

CopyThumbnail::CopyThumbnail(const Image& image) : image_(resized(three_channels(image), kSide, kSide)) {}

bool CopyThumbnail::is_flat() const { return deviation(detail_of(shrunk(image_, kWhole))) < kFlat; }

Likeness CopyThumbnail::likeness(const CopyThumbnail& other) const {
  const Values own = shrunk(image_, kWhole), others = shrunk(other.image_, kWhole);
  if (deviation(detail_of(own)) < kFlat || deviation(detail_of(others)) < kFlat) return Likeness::kNone;  // correlations of noise
  const Values own_centred = centred(own), other_centred = centred(others);
  if (std::max(correlation_of(own_centred, other_centred), correlation_of(mirrored(own_centred), other_centred)) < kAlike)
    return Likeness::kNone;
  const CropComparison of_own(own), of_other(others);
  Likeness best = of_own.with(others);
  if (best != Likeness::kCopy) best = std::max(best, of_own.with_crops(other.image_));
  if (best != Likeness::kCopy) best = std::max(best, of_other.with_crops(image_));
  return best;
}

}  // namespace debias
