#include "debias/train/recipe/distinct_marks.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "debias/data/readers/csv_table.h"

namespace debias {
namespace {

using MarkKey = std::tuple<std::string, std::string, std::string>;

MarkKey key_of(const MarkedPair& pair) {
  const bool in_order = pair.kind == "leak" || pair.a < pair.b;
  return in_order ? MarkKey{pair.kind, pair.a, pair.b} : MarkKey{pair.kind, pair.b, pair.a};
}

bool is_answered(const MarkedPair& pair) { return pair.answer && *pair.answer != PairAnswer::kSkip; }

}  // namespace

std::vector<MarkedPair> distinct_marks(const std::string& path) {
  std::vector<MarkedPair> marks;
  std::map<MarkKey, size_t> places;
  for (MarkedPair& pair : read_pair_marks(path)) {
    const auto [place, is_new] = places.emplace(key_of(pair), marks.size());
    if (is_new) {
      marks.push_back(std::move(pair));
      continue;
    }
    MarkedPair& first = marks[place->second];
    if (!is_answered(pair) || first.answer == pair.answer) continue;
    if (is_answered(first)) {
      refuse_line(path, pair.line,
                  fmt::format("'{}' and '{}' are marked {}, but line {} marks them {}; correct one", pair.a, pair.b,
                              enum_name(*pair.answer), first.line, enum_name(*first.answer)));
    }
    first = std::move(pair);
  }
  return marks;
}

}  // namespace debias
