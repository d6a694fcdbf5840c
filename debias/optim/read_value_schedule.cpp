#include "debias/core/registry.h"
#include "debias/optim/value_schedule.h"

namespace debias {
namespace {

std::unique_ptr<ValueSchedule> read_ramp(const Config& section, const std::string& what, int64_t epochs) {
  const auto path = read_value<RampPath>(*section.find("schedule"), what);
  for (const char* end : {"from", "to"}) {
    if (section.find(end) != nullptr) continue;
    throw usage_error("{}{}: a {} schedule needs `{}`; add it", section.prefix(), what, enum_name(path), end);
  }
  return ramp_schedule(path, options_from<RampOptions>(section, what, {"schedule"}), epochs);
}

std::unique_ptr<ValueSchedule> read_steps(const Config& section, const std::string& what, int64_t) {
  for (const auto& [key, value] : section.entries()) {
    if (key == "schedule" || key == "values") continue;
    throw usage_error("{}{}: unknown option '{}'{}", value.prefix(), what, key, suggestion(key, {"schedule", "values"}));
  }
  const Config* node = section.find("values");
  if (node == nullptr || !node->is_map() || node->entries().empty()) {
    throw usage_error("{}{}: values: expected values by epoch such as {{0: 0.5, 300: 0.7}}", section.prefix(), what);
  }
  std::map<int64_t, double> values;
  for (const auto& [key, value] : node->entries()) {
    int64_t epoch = -1;
    if (!parse_integer(key, &epoch) || epoch < 0) {
      throw usage_error("{}{}: values: '{}' is not an epoch; epochs are counted from 0", value.prefix(), what, key);
    }
    values[epoch] = read_value<double>(value, what + ": values: " + key);
  }
  if (values.begin()->first != 0) {
    throw usage_error("{}{}: values: none is given for epoch 0, the first is for epoch {}; add one", node->prefix(), what,
                      values.begin()->first);
  }
  return steps_schedule(std::move(values));
}

struct Entry {
  std::string name;
  std::vector<std::string> aliases;
  std::unique_ptr<ValueSchedule> (*read)(const Config& section, const std::string& what, int64_t epochs);
};

const std::vector<Entry>& registry() {
  static const std::vector<Entry> entries = {{"linear", {}, read_ramp}, {"steps", {}, read_steps}, {"cosine", {}, read_ramp}};
  return entries;
}

}  // namespace

std::unique_ptr<ValueSchedule> read_value_schedule(const Config& section, const std::string& what, int64_t epochs) {
  const Config* name = section.find("schedule");
  if (name == nullptr || !name->is_scalar()) {
    throw usage_error("{}{}: expected a value, or a schedule such as {{schedule: linear, from: 2, to: 0.1, every: 20}}", section.prefix(),
                      what);
  }
  return find_entry(registry(), name->text(), "schedule", section.prefix() + what + ": ").read(section, what, epochs);
}

}  // namespace debias
