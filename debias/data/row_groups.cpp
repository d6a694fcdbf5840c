#include "debias/data/row_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>

#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

constexpr int64_t kSecondsOfRun = 60;
constexpr double kLeastInRuns = 0.05;  // of the rows
constexpr double kLargestGroup = 0.2;  // of the rows in one group that was not named

class UnionFind {
 public:
  explicit UnionFind(size_t rows) : parent_(rows) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }

  size_t root(size_t row) {
    while (parent_[row] != row) row = parent_[row] = parent_[parent_[row]];
    return row;
  }
  void join(size_t a, size_t b) { parent_[std::max(root(a), root(b))] = std::min(root(a), root(b)); }

  RowGroups groups(std::string from) {
    RowGroups groups{std::vector<int32_t>(parent_.size()), 0, std::move(from)};
    std::map<size_t, int32_t> number;
    for (size_t row = 0; row < parent_.size(); ++row) {
      groups.of_row[row] = number.try_emplace(root(row), static_cast<int32_t>(number.size())).first->second;
    }
    groups.count = static_cast<int32_t>(number.size());
    return groups;
  }

 private:
  std::vector<size_t> parent_;
};

std::optional<RowGroups> if_plausible(RowGroups groups, double least_joined) {
  if (!groups.joins_rows() || groups.joined_share() < least_joined) return std::nullopt;
  const std::vector<int64_t> sizes = sizes_of(groups);
  if (static_cast<double>(std::ranges::max(sizes)) > kLargestGroup * static_cast<double>(groups.of_row.size())) return std::nullopt;
  return groups;
}

constexpr int kLikenessSide = 16;

// Each channel less its mean over 5 x 5 pixels.
std::vector<float> without_smooth_part(std::span<const uint8_t> rgb) {
  constexpr int kReach = 2;
  std::vector<float> detail(rgb.size());
  for (int y = 0; y < kLikenessSide; ++y) {
    for (int x = 0; x < kLikenessSide; ++x) {
      for (int c = 0; c < 3; ++c) {
        float sum = 0, count = 0;
        for (int v = std::max(0, y - kReach); v <= std::min(kLikenessSide - 1, y + kReach); ++v) {
          for (int u = std::max(0, x - kReach); u <= std::min(kLikenessSide - 1, x + kReach); ++u) {
            sum += rgb[static_cast<size_t>(v * kLikenessSide + u) * 3 + static_cast<size_t>(c)];
            ++count;
          }
        }
        const auto at = static_cast<size_t>(y * kLikenessSide + x) * 3 + static_cast<size_t>(c);
        detail[at] = static_cast<float>(rgb[at]) - sum / count;
      }
    }
  }
  return detail;
}

// In eight sums, which fit the registers.
float dot(std::span<const float> a, std::span<const float> b) {
  constexpr size_t kLanes = 8;
  std::array<float, kLanes> sums{};
  for (size_t i = 0; i + kLanes <= a.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

// What makes two images one source: their means differ by at most so much, and their details correlate at least so much.
struct CopyRule {
  float most_difference, least_correlation;
};
constexpr CopyRule kNearCopy{16, 0.9F}, kCloseCopy{4, 0.98F};

constexpr size_t kCoarseValues = 64;  // brightness of 8 x 8 squares of 2 x 2 pixels

// Coordinates of a detail in an orthonormal system of few axes: a difference there is at most that of the details.
std::array<float, kCoarseValues> coarse_detail(const std::vector<float>& detail) {
  const float unit = 1 / std::sqrt(12.0F);  // of 4 pixels and 3 channels
  std::array<float, kCoarseValues> coarse{};
  for (size_t y = 0; y < kLikenessSide; ++y) {
    for (size_t x = 0; x < kLikenessSide; ++x) {
      for (size_t c = 0; c < 3; ++c) coarse[y / 2 * 8 + x / 2] += unit * detail[(y * kLikenessSide + x) * 3 + c];
    }
  }
  return coarse;
}

// The images with detail, in the order of their green, so that those of like colour follow each other.
class CopySearch {
 public:
  // `are_copies` may be empty.
  CopySearch(const std::vector<LikenessVector>& images, CopyRule rule, std::function<bool(size_t, size_t)> are_copies)
      : images_(images), rule_(rule), are_copies_(std::move(are_copies)) {
    for (size_t i = 0; i < images.size(); ++i) {
      if (!images[i].detail.empty()) order_.push_back(i);
    }
    std::ranges::stable_sort(order_, {}, [&](size_t i) { return images[i].mean[1]; });
    coarse_.reserve(order_.size());
    for (const size_t i : order_) coarse_.push_back(coarse_detail(images[i].detail));
  }

  RowGroups groups() const {
    UnionFind joined(images_.size());
    std::mutex guard;
    for_each_block(
        std::ssize(order_), 32,
        [&](int64_t first, int64_t last) {
          std::vector<std::pair<size_t, size_t>> found;
          for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); ++i) add_copies_of(i, found);
          const std::lock_guard lock(guard);
          for (const auto& [i, j] : found) joined.join(i, j);
        },
        [](int64_t) {});
    return joined.groups("near-copies");
  }

 private:
  void add_copies_of(size_t place, std::vector<std::pair<size_t, size_t>>& found) const {
    const LikenessVector& image = images_[order_[place]];
    for (size_t next = place + 1; next < order_.size(); ++next) {
      const LikenessVector& other = images_[order_[next]];
      if (other.mean[1] - image.mean[1] > rule_.most_difference) return;
      if (std::abs(image.mean[0] - other.mean[0]) > rule_.most_difference ||
          std::abs(image.mean[2] - other.mean[2]) > rule_.most_difference)
        continue;
      if (!may_be_copies(place, next) || dot(image.detail, other.detail) < rule_.least_correlation) continue;
      if (!are_copies_ || are_copies_(order_[place], order_[next])) found.emplace_back(order_[place], order_[next]);
    }
  }

  // Details of length 1 differ by 2 - 2 correlation, squared.
  bool may_be_copies(size_t a, size_t b) const {
    constexpr float kRounding = 1e-4F;
    std::array<float, 8> sums{};
    for (size_t i = 0; i < kCoarseValues; i += sums.size()) {
      for (size_t lane = 0; lane < sums.size(); ++lane) {
        const float difference = coarse_[a][i + lane] - coarse_[b][i + lane];
        sums[lane] += difference * difference;
      }
    }
    return std::accumulate(sums.begin(), sums.end(), 0.0F) <= 2 - 2 * rule_.least_correlation + kRounding;
  }

  const std::vector<LikenessVector>& images_;
  CopyRule rule_;
  std::function<bool(size_t, size_t)> are_copies_;
  std::vector<size_t> order_;
  std::vector<std::array<float, kCoarseValues>> coarse_;  // by place in the order
};

}  // namespace

double RowGroups::joined_share() const {
  const std::vector<int64_t> sizes = sizes_of(*this);
  const auto alone = std::ranges::count(sizes, 1);
  return of_row.empty() ? 0 : 1 - static_cast<double>(alone) / static_cast<double>(of_row.size());
}

std::vector<int64_t> sizes_of(const RowGroups& groups) {
  std::vector<int64_t> sizes(static_cast<size_t>(groups.count));
  for (const int32_t group : groups.of_row) ++sizes[static_cast<size_t>(group)];
  return sizes;
}

RowGroups with_joined(const RowGroups& groups, std::span<const std::pair<size_t, size_t>> pairs) {
  UnionFind joined(groups.of_row.size());
  std::vector<size_t> first(static_cast<size_t>(groups.count), groups.of_row.size());
  for (size_t row = 0; row < groups.of_row.size(); ++row) {
    size_t& of_group = first[static_cast<size_t>(groups.of_row[row])];
    if (of_group == groups.of_row.size()) of_group = row;
    joined.join(of_group, row);
  }
  for (const auto& [a, b] : pairs) joined.join(a, b);
  return joined.groups(groups.from);
}

RowGroups single_rows(int64_t rows) { return UnionFind(static_cast<size_t>(rows)).groups("none"); }

RowGroups groups_of_values(const std::vector<std::span<const std::string>>& columns) {
  const size_t rows = columns.front().size();
  UnionFind joined(rows);
  std::map<std::vector<std::string_view>, size_t> first;
  for (size_t row = 0; row < rows; ++row) {
    std::vector<std::string_view> key;
    for (const auto& column : columns) key.emplace_back(column[row]);
    if (std::ranges::any_of(key, &std::string_view::empty)) continue;
    joined.join(first.try_emplace(std::move(key), row).first->second, row);
  }
  return joined.groups("column");
}

std::optional<RowGroups> groups_of_times(std::span<const std::optional<int64_t>> times, std::span<const std::string> cameras) {
  std::vector<size_t> order;
  for (size_t row = 0; row < times.size(); ++row) {
    if (times[row]) order.push_back(row);
  }
  if (2 * order.size() < times.size()) return std::nullopt;
  const auto key = [&](size_t row) { return std::pair<std::string_view, int64_t>(cameras[row], *times[row]); };
  std::ranges::stable_sort(order, {}, key);
  UnionFind joined(times.size());
  for (size_t i = 1; i < order.size(); ++i) {
    const auto [camera, time] = key(order[i - 1]);
    const auto [next_camera, next_time] = key(order[i]);
    if (camera == next_camera && next_time - time <= kSecondsOfRun) joined.join(order[i - 1], order[i]);
  }
  return if_plausible(joined.groups("times"), kLeastInRuns);
}

std::vector<NamePart> parts_of_names(std::span<const std::string> names) {
  constexpr size_t kMostNumbers = 4;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::vector<NamePart> parts = {{"sub-folder", {}}, {"first sub-folder", {}}};
  for (size_t number = 1; number <= kMostNumbers; ++number) parts.push_back({"file name to number " + std::to_string(number), {}});
  for (const std::string& name : names) {
    const size_t slash = name.rfind('/'), first_slash = name.find('/');
    const std::string folder = slash == std::string::npos ? "" : name.substr(0, slash);
    parts[0].values.push_back(folder);
    parts[1].values.push_back(first_slash == slash ? "" : name.substr(0, first_slash));
    const size_t begin = slash == std::string::npos ? 0 : slash + 1, dot = name.rfind('.');
    const size_t end = dot == std::string::npos || dot < begin ? name.size() : dot;
    size_t at = begin;
    for (size_t p = 2; p < parts.size(); ++p) {
      while (at < end && !is_digit(name[at])) ++at;
      while (at < end && is_digit(name[at])) ++at;
      parts[p].values.push_back(at > begin && at < end ? name.substr(0, at) : "");
    }
  }
  std::erase_if(parts, [](const NamePart& part) {
    const auto known = std::ssize(part.values) - std::ranges::count(part.values, "");
    std::set<std::string_view> distinct(part.values.begin(), part.values.end());
    distinct.erase("");
    return 2 * known < std::ssize(part.values) || known == std::ssize(distinct);
  });
  return parts;
}

bool is_group_title(std::string_view title) {
  constexpr std::array<std::string_view, 34> kWhat = {"patient", "subject", "person",    "participant", "individual", "animal",  "burst",
                                                      "session", "visit",   "scene",     "sequence",    "video",      "clip",    "series",
                                                      "study",   "case",    "specimen",  "slide",       "source",     "parent",  "original",
                                                      "product", "sku",     "household", "track",       "recording",  "speaker", "writer",
                                                      "author",  "donor",   "plot",      "block",       "well",       "exam"};
  constexpr std::array<std::string_view, 10> kWhich = {"id", "ids", "no", "nr", "num", "number", "name", "key", "code", "uid"};
  std::vector<std::string> words(1);
  bool was_small = false;
  for (const char c : title) {
    const bool is_letter = std::isalpha(static_cast<unsigned char>(c)) != 0, is_big = std::isupper(static_cast<unsigned char>(c)) != 0;
    if ((!is_letter || (is_big && was_small)) && !words.back().empty()) words.emplace_back();
    if (is_letter) words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    was_small = is_letter && !is_big;
  }
  if (words.back().empty()) words.pop_back();
  while (words.size() > 1 && std::ranges::find(kWhich, words.back()) != kWhich.end()) words.pop_back();
  if (words.empty()) return false;
  std::string_view last = words.back();
  if (std::ranges::find(kWhat, last) != kWhat.end()) return true;
  return last.ends_with('s') && std::ranges::find(kWhat, last.substr(0, last.size() - 1)) != kWhat.end();
}

bool names_groups(std::span<const std::string> values, std::span<const int32_t> labels, int32_t classes) {
  constexpr double kPure = 0.95, kMoreThanChance = 0.3;
  constexpr int64_t kValuesOfClass = 8, kRepeated = 10;
  std::map<std::string_view, std::vector<int64_t>> counts;  // by class
  std::vector<double> share(static_cast<size_t>(classes));
  int64_t known = 0;
  for (size_t row = 0; row < values.size(); ++row) {
    if (values[row].empty()) continue;
    auto& of_value = counts.try_emplace(values[row], std::vector<int64_t>(static_cast<size_t>(classes))).first->second;
    ++of_value[static_cast<size_t>(labels[row])];
    ++share[static_cast<size_t>(labels[row])];
    ++known;
  }
  if (2 * known < std::ssize(values)) return false;
  int64_t pure = 0, repeated = 0;
  double by_chance = 0;  // number of values in one class if labels were independent of them
  std::vector<int64_t> values_of_class(static_cast<size_t>(classes));
  for (const auto& [value, of_class] : counts) {
    const auto largest = std::ranges::max_element(of_class);
    const int64_t rows = std::accumulate(of_class.begin(), of_class.end(), int64_t{0});
    pure += *largest == rows ? 1 : 0;
    repeated += rows > 1 ? 1 : 0;
    ++values_of_class[static_cast<size_t>(largest - of_class.begin())];
    for (const double s : share) by_chance += std::pow(s / static_cast<double>(known), static_cast<double>(rows));
  }
  if (repeated < kRepeated || std::ranges::min(values_of_class) < kValuesOfClass) return false;
  const auto n = static_cast<double>(counts.size());
  return static_cast<double>(pure) >= kPure * n && static_cast<double>(pure) - by_chance >= kMoreThanChance * n;
}

LikenessVector likeness_vector(std::span<const uint8_t> rgb16) {
  constexpr float kLeastDeviation = 2;
  LikenessVector vector;
  for (size_t i = 0; i < rgb16.size(); ++i) vector.mean[i % 3] += static_cast<float>(rgb16[i]) / (kLikenessSide * kLikenessSide);
  std::vector<float> detail = without_smooth_part(rgb16);
  const float length = std::sqrt(dot(detail, detail));
  if (length < kLeastDeviation * std::sqrt(static_cast<float>(detail.size()))) return vector;
  for (float& value : detail) value /= length;
  vector.detail = std::move(detail);
  return vector;
}

std::optional<RowGroups> groups_of_near_copies(const std::vector<LikenessVector>& images) {
  return if_plausible(CopySearch(images, kNearCopy, nullptr).groups(), 0);
}

RowGroups groups_of_close_copies(const std::vector<LikenessVector>& images, const std::function<bool(size_t, size_t)>& are_copies) {
  return CopySearch(images, kCloseCopy, are_copies).groups();
}

}  // namespace debias
