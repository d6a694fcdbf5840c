#include "debias/optim/value_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <vector>

#include "debias/core/options.h"
#include "debias/core/registry.h"

namespace debias {
namespace {

class RampOptions {
 public:
  DEBIAS_OPTION(RampOptions, double, from, 0)
  DEBIAS_OPTION(RampOptions, double, to, 0)
  DEBIAS_OPTION(RampOptions, int64_t, every, 1)

  static const OptionTable<RampOptions>& table() {
    static const auto table = OptionTable<RampOptions>()
                                  .add("from", &RampOptions::from_, "value of the first stage")
                                  .add("to", &RampOptions::to_, "value of the last stage")
                                  .add("every", &RampOptions::every_, Range::closed(1, 1e6), "epochs of a stage");
    return table;
  }
};

// From `from` to `to` along a path that goes from 0 to 1 as its argument does.
class RampSchedule final : public ValueSchedule {
 public:
  RampSchedule(std::string name, const RampOptions& options, int64_t epochs, std::function<double(double)> path)
      : name_(std::move(name)), options_(options), stages_((epochs + options.every() - 1) / options.every()), path_(std::move(path)) {}

  double value(int64_t epoch) const override {
    if (stages_ < 2) return options_.from();
    const int64_t stage = std::min(epoch / options_.every(), stages_ - 1);
    return options_.from() + (options_.to() - options_.from()) * path_(static_cast<double>(stage) / static_cast<double>(stages_ - 1));
  }
  Config config() const override {
    Config config = Config::map({{"schedule", Config::string(name_)}});
    config.overlay(RampOptions::table().write(options_));
    return config;
  }

 private:
  std::string name_;
  RampOptions options_;
  int64_t stages_;
  std::function<double(double)> path_;
};

class StepsSchedule final : public ValueSchedule {
 public:
  explicit StepsSchedule(std::map<int64_t, double> values) : values_(std::move(values)) {}

  double value(int64_t epoch) const override { return std::prev(values_.upper_bound(epoch))->second; }
  Config config() const override {
    Config values = Config::map();
    for (const auto& [epoch, value] : values_) values.set(std::to_string(epoch), Config::number(value));
    return Config::map({{"schedule", Config::string("steps")}, {"values", std::move(values)}});
  }

 private:
  std::map<int64_t, double> values_;
};

std::unique_ptr<ValueSchedule> read_ramp(const Config& section, const std::string& what, int64_t epochs, const std::string& name,
                                         std::function<double(double)> path) {
  for (const char* end : {"from", "to"}) {
    if (section.find(end) == nullptr) throw usage_error("{}{}: a {} schedule needs `{}`; add it", section.prefix(), what, name, end);
  }
  return std::make_unique<RampSchedule>(name, RampOptions::table().read(section, what, {"schedule"}), epochs, std::move(path));
}

std::unique_ptr<ValueSchedule> read_linear(const Config& section, const std::string& what, int64_t epochs) {
  return read_ramp(section, what, epochs, "linear", [](double share) { return share; });
}

std::unique_ptr<ValueSchedule> read_cosine(const Config& section, const std::string& what, int64_t epochs) {
  return read_ramp(section, what, epochs, "cosine", [](double share) { return (1 - std::cos(std::numbers::pi * share)) / 2; });
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
    values[epoch] = options_detail::Field<double>::parse(value, Range::any(), what + ": values: " + key);
  }
  if (values.begin()->first != 0) {
    throw usage_error("{}{}: values: none is given for epoch 0, the first is for epoch {}; add one", node->prefix(), what,
                      values.begin()->first);
  }
  return std::make_unique<StepsSchedule>(std::move(values));
}

struct Entry {
  std::string name;
  std::vector<std::string> aliases;
  std::unique_ptr<ValueSchedule> (*read)(const Config& section, const std::string& what, int64_t epochs);
};

const std::vector<Entry>& registry() {
  static const std::vector<Entry> entries = {{"linear", {}, read_linear}, {"steps", {}, read_steps}, {"cosine", {}, read_cosine}};
  return entries;
}

}  // namespace

std::unique_ptr<ValueSchedule> make_value_schedule(const Config& section, const std::string& what, int64_t epochs) {
  const Config* name = section.find("schedule");
  if (name == nullptr || !name->is_scalar()) {
    throw usage_error("{}{}: expected a value, or a schedule such as {{schedule: linear, from: 2, to: 0.1, every: 20}}", section.prefix(),
                      what);
  }
  return find_entry(registry(), name->text(), "schedule", section.prefix() + what + ": ").read(section, what, epochs);
}

}  // namespace debias
