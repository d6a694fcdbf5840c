#include "debias/mining/copied_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/data/parallel_blocks.h"
#include "debias/image/geometry.h"

namespace debias {
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

// Whether whole images correlate, one of them as it is or mirrored.
bool may_be_alike(const Values& x, const Values& y) {
  const Values a = centred(x), b = centred(y);
  return std::max(correlation_of(a, b), correlation_of(mirrored(a), b)) >= kAlike;
}

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
  if (is_flat() || other.is_flat()) return Likeness::kNone;  // correlations of noise
  const Values own = shrunk(image_, kWhole), others = shrunk(other.image_, kWhole);
  if (!may_be_alike(own, others)) return Likeness::kNone;
  const CropComparison of_own(own), of_other(others);
  Likeness best = of_own.with(others);
  if (best != Likeness::kCopy) best = std::max(best, of_own.with_crops(other.image_));
  if (best != Likeness::kCopy) best = std::max(best, of_other.with_crops(image_));
  return best;
}

struct ImageComparison::Glance {
  enum class State : uint8_t { kComparable, kFlat, kUnreadable };

  Glance() = default;
  explicit Glance(const CopyThumbnail& thumbnail) : state(thumbnail.is_flat() ? State::kFlat : State::kComparable) {
    std::ranges::copy(shrunk(thumbnail.image(), kWhole), values.begin());
  }
  Values all() const {
    Values all{};
    std::ranges::copy(values, all.begin());
    return all;
  }

  State state = State::kUnreadable;
  std::array<uint8_t, kValues> values{};
};

ImageComparison::ImageComparison(ReadRowImage read, size_t kept) : read_(std::move(read)), kept_(kept) {}
ImageComparison::~ImageComparison() = default;

const ImageComparison::Glance& ImageComparison::glance(int64_t row) const { return glances_[places_.at(row)]; }

bool ImageComparison::comparable(int64_t row) const { return !places_.contains(row) || glance(row).state == Glance::State::kComparable; }

int64_t ImageComparison::images() const { return std::ssize(glances_) - std::ssize(unreadable_); }

// Those of `rows` that were not read before, or that can be compared and have no thumbnail.
void ImageComparison::read_images(const std::vector<int64_t>& rows, Progress& progress) {
  std::vector<int64_t> missing, unread;
  for (const int64_t row : rows) {
    if (!places_.contains(row)) unread.push_back(row);
    if (comparable(row) && !thumbnails_.contains(row)) missing.push_back(row);
  }
  if (missing.empty()) return;
  glances_.reserve(glances_.size() + unread.size());
  for (const int64_t row : unread) {
    places_.emplace(row, glances_.size());
    glances_.emplace_back();
  }
  std::mutex mutex;
  std::map<int64_t, std::string> errors;
  progress.begin("reading images", std::ssize(missing));
  for_each_block(
      std::ssize(missing), 16,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const int64_t row = missing[static_cast<size_t>(i)];
          try {
            CopyThumbnail thumbnail(read_(row));
            const Glance seen(thumbnail);
            glances_[places_.at(row)] = seen;
            const std::lock_guard lock(mutex);
            if (seen.state == Glance::State::kComparable && thumbnails_.size() < kept_) thumbnails_.emplace(row, std::move(thumbnail));
          } catch (const Error& error) {
            glances_[places_.at(row)] = Glance();
            const std::lock_guard lock(mutex);
            errors.emplace(row, error.what());
          }
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  for (const int64_t row : missing) {
    if (glance(row).state == Glance::State::kUnreadable) unreadable_.push_back(row);
    if (glance(row).state == Glance::State::kFlat) flat_.push_back(row);
  }
  if (first_unreadable_.empty() && !errors.empty()) first_unreadable_ = errors.begin()->second;
}

// Of pairs whose images all have thumbnails.
std::vector<Likeness> ImageComparison::looked_at(const std::vector<RowPair>& pairs, Progress& progress) {
  std::vector<Likeness> likeness(pairs.size(), Likeness::kNone);
  progress.begin("comparing images", std::ssize(pairs));
  for_each_block(
      std::ssize(pairs), 16,
      [&](int64_t first, int64_t last) {
        for (int64_t i = first; i < last; ++i) {
          const auto a = thumbnails_.find(pairs[static_cast<size_t>(i)].first), b = thumbnails_.find(pairs[static_cast<size_t>(i)].second);
          if (a == thumbnails_.end() || b == thumbnails_.end()) continue;  // no longer readable
          likeness[static_cast<size_t>(i)] = a->second.likeness(b->second);
        }
      },
      [&](int64_t done) { progress.advance(done, ""); });
  progress.end();
  return likeness;
}

std::vector<Likeness> ImageComparison::compare(const std::vector<RowPair>& pairs, Progress& progress) {
  std::vector<Likeness> likeness(pairs.size(), Likeness::kNone);
  std::set<int64_t> unread;
  for (const auto& [a, b] : pairs) {
    for (const int64_t row : {a, b}) {
      if (!places_.contains(row)) unread.insert(row);
    }
  }
  read_images({unread.begin(), unread.end()}, progress);
  std::vector<char> alike(pairs.size());
  for_each_block(
      std::ssize(pairs), 256,
      [&](int64_t first, int64_t last) {
        for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) {
          const auto& [a, b] = pairs[i];
          alike[i] = comparable(a) && comparable(b) && may_be_alike(glance(a).all(), glance(b).all());
        }
      },
      [](int64_t) {});
  std::vector<size_t> places;
  std::vector<RowPair> block;
  std::set<int64_t> rows;
  const auto look = [&] {
    if (thumbnails_.size() + rows.size() > kept_)
      std::erase_if(thumbnails_, [&](const auto& entry) { return !rows.contains(entry.first); });
    read_images({rows.begin(), rows.end()}, progress);
    const std::vector<Likeness> of_block = looked_at(block, progress);
    for (size_t i = 0; i < places.size(); ++i) likeness[places[i]] = of_block[i];
    places.clear();
    block.clear();
    rows.clear();
  };
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (!alike[i]) continue;
    places.push_back(i);
    block.push_back(pairs[i]);
    rows.insert({pairs[i].first, pairs[i].second});
    if (rows.size() + 2 > kept_) look();
  }
  if (!block.empty()) look();
  return likeness;
}

}  // namespace debias
