#include "debias/report/data_draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "debias/core/data_seed.h"
#include "debias/report/recipe_text.h"

namespace debias {
namespace {

std::string data_text(const RunRecord& run, const std::string& split, const char* key) {
  return text_at_path(run.config, {"data", split.c_str(), key});
}

bool follows_seed(const RunRecord& run, const std::string& split) {
  const Config* data = run.config.find("data");
  const Config* section = data == nullptr || !data->is_map() ? nullptr : data->find(split);
  return section != nullptr && section->is_map() && follows_run_seed(*section);
}

bool is_drawn(const RunRecord& run, const std::string& split) {
  double held_out = 0;
  const bool holds_out = parse_number(data_text(run, split, "hold_out"), &held_out) && held_out > 0;
  return !data_text(run, split, "seed").empty() && (holds_out || !data_text(run, split, "correlation").empty());
}

}  // namespace

std::string draw_of(const RunRecord& run, const std::string& split) { return follows_seed(run, split) ? run.seed() : ""; }

DataLikeness compare_run_data(const RunRecord& a, const RunRecord& b, const std::string& split) {
  const bool follow = follows_seed(a, split) && follows_seed(b, split);
  return follow && a.seed() != b.seed() ? DataLikeness::kNotTold : compare_data_sets(a.data_sets, b.data_sets, split);
}

std::string shared_draws(const std::vector<const RunRecord*>& runs) {
  if (runs.size() < 2) return "";
  std::string splits;
  for (const char* split : {"train", "test"}) {
    const bool is_shared = std::ranges::all_of(runs, [&](const RunRecord* run) {
      return is_drawn(*run, split) && !follows_seed(*run, split) &&
             data_text(*run, split, "seed") == data_text(*runs.front(), split, "seed");
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
