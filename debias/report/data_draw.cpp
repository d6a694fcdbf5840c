#include "debias/report/data_draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace debias {
namespace {

bool is_drawn(const DataFacts& data) { return !data.seed.empty() && (data.hold_out > 0 || !data.correlation.empty()); }

}  // namespace

std::string draw_of(const RunRecord& run, const std::string& split) { return run.recipe.data_of(split).follows_seed() ? run.seed() : ""; }

DataLikeness compare_run_data(const RunRecord& a, const RunRecord& b, const std::string& split) {
  const bool follow = a.recipe.data_of(split).follows_seed() && b.recipe.data_of(split).follows_seed();
  return follow && a.seed() != b.seed() ? DataLikeness::kUndetermined : compare_data_sets(a.data_sets, b.data_sets, split);
}

std::string shared_draws(const std::vector<const RunRecord*>& runs) {
  if (runs.size() < 2) return "";
  std::string splits;
  for (const char* split : {"train", "test"}) {
    const bool is_shared = std::ranges::all_of(runs, [&](const RunRecord* run) {
      const DataFacts& data = run->recipe.data_of(split);
      return is_drawn(data) && !data.follows_seed() && data.seed == runs.front()->recipe.data_of(split).seed;
    });
    if (is_shared) splits += (splits.empty() ? "data." : " and data.") + std::string(split);
  }
  return splits;
}

std::string shared_draw_words(const std::vector<std::vector<const RunRecord*>>& settings) {
  std::set<std::string> draws;
  for (const auto& runs : settings) draws.insert(shared_draws(runs));
  draws.erase("");
  if (draws.empty()) return "";
  return fmt::format("Conclusions are conditional on one draw of {}, which all seeds share; `seed: run` there draws anew for each seed",
                     *draws.rbegin());
}

}  // namespace debias
