#include "debias/core/nearest_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace debias {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  name = name.substr(0, 100);  // bounds the work: nothing we know is as long
  std::string best;
  size_t best_distance = std::string::npos;
  for (const auto& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    const size_t allowed = std::max<size_t>(2, std::max(name.size(), candidate.size()) / 3);
    if (distance <= allowed && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  if (!nearest.empty()) return fmt::format("; did you mean '{}'?", nearest);
  constexpr size_t kShown = 10;
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, candidates.size()));
  return fmt::format("; known: {}{}", fmt::join(candidates.begin(), end, ", "), candidates.size() > kShown ? ", ..." : "");
}

}  // namespace debias
