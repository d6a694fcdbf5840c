#include "debias/mining/copy_groups.h"

#include <ATen/ATen.h>

#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "debias/core/philox.h"
#include "debias/evaluate/neighbours/nearest_rows.h"

namespace debias {
namespace {

constexpr int64_t kNearRows = 33;      // with the row itself
constexpr size_t kComparedImages = 4;  // of a row
constexpr int64_t kLeastRows = 20;     // of whose similarities a median says something
constexpr double kAllAlike = 0.98;
constexpr int kSameFeatures = 4;  // images among which rows of the same features are looked for

struct NearRow {
  int32_t row = -1;  // none
  float cosine = 0;
};

class CopySearch {
 public:
  CopySearch(const at::Tensor& unit, const ReadRowImage& read, Progress& progress)
      : unit_(unit),
        progress_(progress),
        images_(unit.size(0)),
        has_images_(read),
        comparison_(read),
        near_(static_cast<size_t>(unit.size(0) * kNearRows)) {}

  CopyGroups groups() {
    const at::Tensor norms = unit_.square().sum(1).contiguous();
    for (int64_t row = 0; row < unit_.size(0); ++row) {
      if (norms.const_data_ptr<float>()[row] == 0) found_.zeros.push_back(row);
    }
    found_.all_alike = !has_images_ && are_all_alike();
    join_same_features();
    const std::set<int64_t> zeros(found_.zeros.begin(), found_.zeros.end());
    std::vector<int64_t> searched;
    for (int64_t row = 0; row < unit_.size(0); ++row) {
      if (images_.root(row) == row && !zeros.contains(row) && comparable(row)) searched.push_back(row);
    }
    if (!found_.all_alike) search(searched, searched);
    while (!found_.all_alike && join_near(searched)) search_beyond_copies(searched);
    join_rare_look_alikes();
    for (int64_t row = 0; row < unit_.size(0); ++row) found_.image_of_row.push_back(images_.root(row));
    found_.flat = comparison_.flat();
    found_.unreadable = comparison_.unreadable();
    found_.first_unreadable = comparison_.first_unreadable();
    return std::move(found_);
  }

 private:
  bool comparable(int64_t row) const { return !has_images_ || comparison_.comparable(row); }

  bool are_all_alike() const {
    constexpr int64_t kPairs = 2000;
    if (unit_.size(0) < kLeastRows) return false;
    Random draw({.domain = RngDomain::kEvaluate, .step = 41});
    int64_t alike = 0;
    for (int64_t i = 0; i < kPairs; ++i) {
      const int64_t a = draw.below(unit_.size(0)), b = draw.below(unit_.size(0) - 1);
      const float *x = unit_.const_data_ptr<float>() + a * unit_.size(1),
                  *y = unit_.const_data_ptr<float>() + (b < a ? b : b + 1) * unit_.size(1);
      alike += std::inner_product(x, x + unit_.size(1), y, 0.0) >= kAllAlike ? 1 : 0;
    }
    return 2 * alike > kPairs;
  }

  // Whether any were joined.
  bool join_copies(const std::vector<RowPair>& pairs) {
    bool joined = false;
    const std::vector<Likeness> likeness = comparison_.compare(pairs, progress_);
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (likeness[i] == Likeness::kCopy) joined = images_.join(pairs[i].first, pairs[i].second) || joined;
      if (likeness[i] == Likeness::kLookAlike) look_alike_.push_back(pairs[i]);
    }
    return joined;
  }

  void join_same_features() {
    std::vector<int64_t> open;
    const std::set<int64_t> zeros(found_.zeros.begin(), found_.zeros.end());
    for (int64_t row = 0; row < unit_.size(0); ++row) {
      if (!zeros.contains(row)) open.push_back(row);
    }
    const auto bytes = static_cast<size_t>(unit_.size(1)) * sizeof(float);
    for (int image = 0; image < (has_images_ ? kSameFeatures : 1) && !open.empty(); ++image) {
      std::unordered_map<std::string_view, int64_t> first;
      std::vector<RowPair> pairs;
      for (const int64_t row : open) {
        const auto* values = reinterpret_cast<const char*>(unit_.const_data_ptr<float>()) + static_cast<size_t>(row) * bytes;
        const auto [entry, is_first] = first.try_emplace(std::string_view(values, bytes), row);
        if (!is_first) pairs.emplace_back(entry->second, row);
      }
      if (!has_images_) {
        for (const auto& [a, b] : pairs) images_.join(a, b);
        return;
      }
      join_copies(pairs);
      open.clear();
      for (const auto& [a, b] : pairs) {
        if (images_.root(a) != images_.root(b) && comparable(b)) open.push_back(b);
      }
    }
  }

  void search(const std::vector<int64_t>& queries, const std::vector<int64_t>& among) {
    if (among.size() < 2 || queries.empty()) return;
    const auto rows = [&](const std::vector<int64_t>& of) {
      return UnitRows{unit_.const_data_ptr<float>(), unit_.size(1), of, std::vector<float>(of.size(), 1.0f)};
    };
    progress_.begin("nearest images", 1);
    nearest_rows(rows(among), rows(queries), std::min<int64_t>(kNearRows, std::ssize(among)), {},
                 [&](int64_t query, std::vector<Neighbour> nearest) {
                   std::ranges::sort(nearest, nearer);
                   const std::span<NearRow> kept = near_rows(queries[static_cast<size_t>(query)]);
                   std::ranges::fill(kept, NearRow());
                   std::ranges::transform(nearest, kept.begin(), [&](const Neighbour& neighbour) {
                     return NearRow{static_cast<int32_t>(among[static_cast<size_t>(neighbour.row)]), neighbour.cosine};
                   });
                 });
    progress_.end();
  }

  std::span<NearRow> near_rows(int64_t row) { return std::span(near_).subspan(static_cast<size_t>(row * kNearRows), kNearRows); }

  // One row of each of the images nearest to a row, the nearest first.
  std::vector<int64_t> nearest_images(int64_t row) {
    std::vector<int64_t> nearest;
    std::vector<int64_t> roots = {images_.root(row)};
    for (const NearRow& neighbour : near_rows(row)) {
      if (nearest.size() == kComparedImages || neighbour.row < 0) break;
      const int64_t root = images_.root(neighbour.row);
      if (std::ranges::find(roots, root) != roots.end() || !comparable(neighbour.row)) continue;
      roots.push_back(root);
      nearest.push_back(neighbour.row);
    }
    return nearest;
  }

  // Whether it is worth searching again: something was joined, or images that cannot be compared were among the nearest.
  bool join_near(const std::vector<int64_t>& searched) {
    if (!has_images_) {
      bool joined = false;
      for (const int64_t row : searched) {
        for (const NearRow& neighbour : near_rows(row)) {
          if (neighbour.row >= 0 && neighbour.cosine >= kUnconfirmedCopy) joined = images_.join(row, neighbour.row) || joined;
        }
      }
      return joined;
    }
    const size_t incomparable = comparison_.flat().size() + comparison_.unreadable().size();
    std::vector<RowPair> pairs;
    for (const int64_t row : searched) {
      if (!comparable(row)) continue;
      for (const int64_t near : nearest_images(row)) {
        const RowPair pair = std::minmax(row, near);
        if (compared_.insert(pair.first * unit_.size(0) + pair.second).second) pairs.push_back(pair);
      }
    }
    std::ranges::sort(pairs);
    const bool joined = join_copies(pairs);
    return joined || comparison_.flat().size() + comparison_.unreadable().size() > incomparable;
  }

  void search_beyond_copies(const std::vector<int64_t>& searched) {
    std::vector<int64_t> images, beyond;
    for (const int64_t row : searched) {
      if (!comparable(row)) continue;
      if (images_.root(row) == row) images.push_back(row);
      if (nearest_images(row).size() < kComparedImages) beyond.push_back(row);
    }
    search(beyond, images);
  }

  void join_rare_look_alikes() {
    std::set<int64_t> alike;
    for (const auto& [a, b] : look_alike_) alike.insert({a, b});
    if (static_cast<double>(alike.size()) <= kRareLookAlikes * static_cast<double>(comparison_.images())) {
      for (const auto& [a, b] : look_alike_) images_.join(a, b);
    } else {
      for (const auto& [a, b] : look_alike_) found_.look_alike += images_.root(a) != images_.root(b) ? 1 : 0;
    }
  }

  const at::Tensor& unit_;
  Progress& progress_;
  DisjointRows images_;
  bool has_images_;
  ImageComparison comparison_;
  std::vector<NearRow> near_;             // kNearRows of each searched row, the nearest first
  std::unordered_set<int64_t> compared_;  // a n + b
  std::vector<RowPair> look_alike_;
  CopyGroups found_;
};

}  // namespace

CopyGroups group_copies(const at::Tensor& unit, const ReadRowImage& read, Progress& progress) {
  return CopySearch(unit, read, progress).groups();
}

}  // namespace debias
