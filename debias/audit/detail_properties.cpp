#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "debias/audit/picture_properties.h"
#include "debias/data/parallel_blocks.h"

namespace debias {
namespace {

constexpr float kSame = 0.88F, kAlike = 0.76F;
constexpr double kTight = 0.8, kLeastDetailGroups = 4, kMostDetailShare = 0.9;
constexpr float kElsewhere = 0.1F;  // of the image's side: another place
constexpr double kRecursIn = 0.1, kMostOfOneImage = 1.5, kLeastEffectAmongRecurring = 0.45;
constexpr size_t kAsked = 250, kMostDetailProperties = 24, kMostPatches = 12;

// The part of a patch that means over 3 x 3 pixels keep, and the length of the rest: bounds the correlation of two patches.
struct Coarse {
  std::array<float, 27> kept;
  float rest;
};

struct PlacedPatch {
  const DetailPatch* patch;
  Coarse coarse;
  size_t row;
};

Coarse coarse_of(const DetailPatch& patch) {
  Coarse coarse{};
  for (int y = 0; y < kPatchSide; ++y) {
    for (int x = 0; x < kPatchSide; ++x) {
      for (int c = 0; c < 3; ++c) {
        coarse.kept[static_cast<size_t>(((y / 3) * 3 + x / 3) * 3 + c)] +=
            static_cast<float>(patch.values[static_cast<size_t>((y * kPatchSide + x) * 3 + c)]) / (3 * patch.length);
      }
    }
  }
  float energy = 0;
  for (const float value : coarse.kept) energy += value * value;
  coarse.rest = std::sqrt(std::max(0.0F, 1 - energy));
  return coarse;
}

float correlation(const DetailPatch& a, const DetailPatch& b) {
  int32_t sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i) sum += static_cast<int32_t>(a.values[i]) * b.values[i];
  return static_cast<float>(sum) / (a.length * b.length);
}

bool may_reach(const Coarse& a, const Coarse& b, float least) {
  float sum = a.rest * b.rest;
  for (size_t i = 0; i < a.kept.size(); ++i) sum += a.kept[i] * b.kept[i];
  return sum >= least;
}

// A mark is put on in its own colours, content is drawn in any.
bool same_levels(const DetailPatch& a, const DetailPatch& b) {
  constexpr float kMostRatio = 1.5F, kMostShift = 40;
  return std::abs(a.level - b.level) <= kMostShift && a.largest <= kMostRatio * b.largest && b.largest <= kMostRatio * a.largest;
}

bool are_same(const DetailPatch& a, const DetailPatch& b) { return same_levels(a, b) && correlation(a, b) >= kSame; }

struct RecurringPatch {
  const DetailPatch* patch = nullptr;
  std::vector<bool> rows;  // searched pictures that show it
  double groups = 0;
};

bool shows(const Picture& picture, const std::vector<DetailPatch>& patches, const std::vector<Coarse>& coarse) {
  for (const DetailPatch& own : picture.details) {
    const Coarse part = coarse_of(own);
    for (size_t i = 0; i < patches.size(); ++i) {
      if (may_reach(part, coarse[i], kSame) && are_same(own, patches[i])) return true;
    }
  }
  return false;
}

bool is_elsewhere(const DetailPatch& a, const DetailPatch& b) { return std::max(std::abs(a.x - b.x), std::abs(a.y - b.y)) > kElsewhere; }

// How often an image that shows a patch shows it; the mean over the patches. A mark is put on an image once, what images are made of
// repeats.
double times_in_an_image(const std::vector<DetailPatch>& patches, const std::vector<PlacedPatch>& placed, size_t rows) {
  double mean = 0;
  for (const DetailPatch& patch : patches) {
    const Coarse coarse = coarse_of(patch);
    std::vector<int> times(rows);
    for (const PlacedPatch& other : placed) {
      if (may_reach(coarse, other.coarse, kSame) && are_same(patch, *other.patch)) ++times[other.row];
    }
    const auto showing = rows - static_cast<size_t>(std::ranges::count(times, 0));
    mean += std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(std::max<size_t>(showing, 1) * patches.size());
  }
  return mean;
}

double shared_rows(const std::vector<bool>& a, const std::vector<bool>& b) {
  double both = 0, either = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += a[i] && b[i] ? 1 : 0;
    either += a[i] || b[i] ? 1 : 0;
  }
  return either > 0 ? both / either : 0;
}

}  // namespace

FoundDetails detail_properties(const PictureRows& rows) {
  const auto n = static_cast<size_t>(std::min(kSearched, std::ssize(rows.pictures)));
  std::map<int32_t, double> size;
  for (size_t row = 0; row < n; ++row) ++size[rows.groups.of_row[row]];
  std::vector<PlacedPatch> patches;
  size_t asked = 0;
  for (size_t row = 0; row < n; ++row) {
    for (const DetailPatch& patch : rows.pictures[row].details) patches.push_back({&patch, coarse_of(patch), row});
    if (row < kAsked) asked = patches.size();
  }
  std::vector<RecurringPatch> recurring(asked);
  std::vector<char> recurs_elsewhere(asked);
  for_each_block(
      static_cast<int64_t>(asked), 32,
      [&](int64_t first, int64_t last) {
        for (auto q = static_cast<size_t>(first); q < static_cast<size_t>(last); ++q) {
          std::vector<float> best(n);  // at least kSame only in the same colours
          std::vector<bool> elsewhere(n);
          for (const PlacedPatch& other : patches) {
            const bool asks = !elsewhere[other.row] && other.row != patches[q].row && is_elsewhere(*patches[q].patch, *other.patch);
            if ((best[other.row] >= kSame && !asks) || !may_reach(patches[q].coarse, other.coarse, kAlike)) continue;
            const float own = correlation(*patches[q].patch, *other.patch);
            const bool same = own < kSame || same_levels(*patches[q].patch, *other.patch);
            best[other.row] = std::max(best[other.row], same ? own : kAlike);
            if (asks && own >= kSame) elsewhere[other.row] = true;
          }
          double same = 0, alike = 0, at_other_places = 0;
          for (size_t row = 0; row < n; ++row) {
            const double weight = 1 / size.at(rows.groups.of_row[row]);
            same += best[row] >= kSame ? weight : 0;
            alike += best[row] >= kAlike ? weight : 0;
            at_other_places += elsewhere[row] ? weight : 0;
          }
          recurs_elsewhere[q] = at_other_places >= kRecursIn * static_cast<double>(size.size());
          if (same < kLeastDetailGroups || same < kTight * alike || same > kMostDetailShare * static_cast<double>(size.size())) continue;
          recurring[q] = {patches[q].patch, std::vector<bool>(n), same};
          for (size_t row = 0; row < n; ++row) recurring[q].rows[row] = best[row] >= kSame;
        }
      },
      [](int64_t) {});
  std::erase_if(recurring, [](const RecurringPatch& patch) { return patch.patch == nullptr; });
  std::ranges::stable_sort(recurring, std::ranges::greater{}, &RecurringPatch::groups);
  struct Detail {
    std::vector<DetailPatch> patches;
    std::vector<bool> rows;
  };
  std::vector<Detail> details;
  for (const RecurringPatch& patch : recurring) {
    const auto same = std::ranges::find_if(details, [&](const Detail& detail) { return shared_rows(detail.rows, patch.rows) > 0.4; });
    if (same != details.end()) {
      if (same->patches.size() < kMostPatches) same->patches.push_back(*patch.patch);
    } else if (details.size() < kMostDetailProperties) {
      details.push_back({{*patch.patch}, patch.rows});
    }
  }
  FoundDetails found;
  found.recurring = static_cast<double>(std::ranges::count(recurs_elsewhere, 1)) / static_cast<double>(std::max<size_t>(asked, 1));
  for (const Detail& detail : details) {
    std::vector<Coarse> coarse;
    for (const DetailPatch& patch : detail.patches) coarse.push_back(coarse_of(patch));
    const auto value_of = [patches = detail.patches, coarse](const Picture& picture) -> std::string {
      return shows(picture, patches, coarse) ? "present" : "absent";
    };
    std::vector<bool> present(rows.pictures.size());
    for (size_t row = 0; row < present.size(); ++row) present[row] = value_of(rows.pictures[row]) == "present";
    MeasuredProperty measured{
        presence_property("recurring detail " + std::to_string(found.properties.size() + 1), PropertyKind::kDetail, present), value_of};
    const DetailPatch& first = detail.patches.front();
    measured.property.place = ImagePlace{std::max(0.0F, first.x - 0.05F), std::max(0.0F, first.y - 0.05F), 0.1, 0.1};
    measured.property.may_be_shortcut = times_in_an_image(detail.patches, patches, n) < kMostOfOneImage;
    if (found.content_recurs()) measured.property.least_effect = kLeastEffectAmongRecurring;
    found.properties.push_back(std::move(measured));
  }
  return found;
}

}  // namespace debias
