#include "debias/core/data_seed.h"

#include "debias/core/error.h"
#include "debias/core/nearest_name.h"

namespace debias {
namespace {

void require_seed(const Config& seed, const std::string& what) {
  int64_t number = 0;
  if (seed.is_scalar() && parse_integer(seed.text(), &number)) return;
  const std::string found = seed.is_scalar() ? seed.text() : "a list or map";
  const std::string near = nearest_name(found, {std::string(kSeedOfRun)});
  const std::string where = seed.prefix(), section = what + ": ";  // an override of the whole section names it already
  throw usage_error("{}{}seed: expected an integer, or {} for the run's seed, found '{}'{}", where, where.ends_with(section) ? "" : section,
                    kSeedOfRun, found, near.empty() ? "" : "; did you mean 'run'?");
}

}  // namespace

bool follows_run_seed(const Config& section) {
  const Config* seed = section.find("seed");
  return seed != nullptr && seed->is_scalar() && seed->text() == kSeedOfRun;
}

Config with_run_seed(Config section, uint64_t run_seed, const std::string& what) {
  const Config* seed = section.find("seed");
  if (seed == nullptr) return section;
  if (!follows_run_seed(section)) {
    require_seed(*seed, what);
    return section;
  }
  Config number = Config::integer(static_cast<int64_t>(run_seed));
  number.set_where(seed->where());
  section.set("seed", std::move(number));
  return section;
}

}  // namespace debias
