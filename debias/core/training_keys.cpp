#include "debias/core/training_keys.h"

#include <algorithm>
#include <array>

namespace debias {

bool is_of_section(std::string_view key, std::string_view section) {
  return key.starts_with(section) && (key.size() == section.size() || key[section.size()] == '.');
}

bool changes_training(std::string_view key) {
  constexpr std::array<std::string_view, 19> kFree = {
      // Names and places; what the data are, fingerprints say.
      "name", "output", "expected", "data.verify", "data.train.root", "data.train.labels", "data.train.vocabulary", "data.train.cache",
      // Distribution and output of the work.
      "train.workers", "train.prefetch", "train.threads", "train.checkpoint_every", "train.log_every", "train.on_full_disk",
      "train.rank_timeout",
      // Evaluated data sets.
      "evaluate", "views.eval", "data.valid", "data.test"};
  return std::ranges::none_of(kFree, [&](std::string_view section) { return is_of_section(key, section); });
}

}  // namespace debias
