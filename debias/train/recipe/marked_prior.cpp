#include "debias/train/recipe/marked_prior.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "debias/core/error.h"
#include "debias/data/readers/csv_table.h"
#include "debias/results/statistics.h"

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

MarkedPrior prior_from_marks(const std::string& path) {
  MarkedPrior prior;
  for (const MarkedPair& pair : distinct_marks(path)) {
    if (!pair.answer) throw FileError(path, "no column 'answer'; answer the pairs on the page that debias pairs --html writes");
    if (pair.kind != "random") {
      refuse_line(
          path, pair.line,
          fmt::format("a pair of kind '{}' is not random; estimate the prior from answers to debias pairs --sample 200", pair.kind));
    }
    if (*pair.answer == PairAnswer::kSkip) {
      ++prior.skipped;
      continue;
    }
    ++prior.marks;
    prior.same += *pair.answer == PairAnswer::kSame ? 1 : 0;
  }
  if (prior.marks < kLeastMarks)
    throw FileError(path, fmt::format("{} answers same or different; the prior needs at least {}", prior.marks, kLeastMarks));
  prior.tau_plus = static_cast<double>(prior.same) / static_cast<double>(prior.marks);
  const auto [low, high] = wilson_interval({prior.tau_plus, static_cast<double>(prior.marks)});
  prior.low = low;
  prior.high = high;
  return prior;
}

nlohmann::ordered_json to_json(const MarkedPrior& prior) {
  return {{"tau_plus", prior.tau_plus}, {"low", prior.low},     {"high", prior.high},      {"method", "marks"},
          {"same", prior.same},         {"marks", prior.marks}, {"skipped", prior.skipped}};
}

std::string prior_text(const MarkedPrior& prior) {
  return fmt::format("tau_plus {:.4f}  [{:.4f}, {:.4f}]  from {} marks of random pairs, {} more skipped\n", prior.tau_plus, prior.low,
                     prior.high, prior.marks, prior.skipped);
}

}  // namespace debias
