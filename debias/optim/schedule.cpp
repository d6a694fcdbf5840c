#include "debias/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "debias/core/registry.h"

namespace debias {
namespace {

class RampSchedule final : public ValueSchedule {
 public:
  RampSchedule(RampPath path, const RampOptions& options, int64_t epochs)
      : path_(path), options_(options), stages_((epochs + options.every - 1) / options.every) {}

  double value(int64_t epoch) const override {
    if (stages_ < 2) return options_.from;
    const int64_t stage = std::min(epoch / options_.every, stages_ - 1);
    const double share = static_cast<double>(stage) / static_cast<double>(stages_ - 1);
    const double done = path_ == RampPath::kLinear ? share : (1 - std::cos(std::numbers::pi * share)) / 2;
    return options_.from + (options_.to - options_.from) * done;
  }
  Config config() const override {
    Config config = Config::map({{"schedule", write_value<RampPath>(path_)}});
    config.overlay(config_of(options_));
    return config;
  }

 private:
  RampPath path_;
  RampOptions options_;
  int64_t stages_;
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

}  // namespace

std::unique_ptr<ValueSchedule> ramp_schedule(RampPath path, const RampOptions& options, int64_t epochs) {
  return std::make_unique<RampSchedule>(path, options, epochs);
}

std::unique_ptr<ValueSchedule> steps_schedule(std::map<int64_t, double> values) {
  return std::make_unique<StepsSchedule>(std::move(values));
}

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

namespace {

struct WarmupOptions {
  int64_t warmup_epochs = 0;
  double warmup_from = 0.01;

  void describe(OptionVisitor& o) {
    o("warmup_epochs", warmup_epochs, Range::at_least(0), "number of epochs of linear warm-up");
    o("warmup_from", warmup_from, Range::at_least(0), "learning rate of the first step of the warm-up");
  }
};

struct ConstantOptions : WarmupOptions {
  void describe(OptionVisitor& o) { WarmupOptions::describe(o); }
};

struct CosineOptions : WarmupOptions {
  double decay_rate = 0.1;
  bool from_zero = false;
  std::optional<double> eta_min = std::nullopt;

  void describe(OptionVisitor& o) {
    o("decay_rate", decay_rate, Range::closed(0, 1), "decay factor: the last learning rate is the first times its cube");
    o("from_zero", from_zero, "count epochs from 0 and end at 0, as torch's CosineAnnealingLR");
    o("eta_min", eta_min, Range::at_least(0), "last learning rate, in place of decay_rate");
    WarmupOptions::describe(o);
  }
};

struct MultistepOptions : WarmupOptions {
  std::vector<int64_t> milestones = {};
  double gamma = 0.1;

  void describe(OptionVisitor& o) {
    o("milestones", milestones, Range::at_least(1), "epochs done before each decay, increasing; required");
    o("gamma", gamma, Range::open_closed(0, 1), "factor of each decay");
    WarmupOptions::describe(o);
    o.check([this](const std::string& what) {
      const auto& epochs = milestones;
      if (epochs.empty()) throw usage_error("{}: milestones: none is given; write e.g. milestones: [60, 80]", what);
      if (std::adjacent_find(epochs.begin(), epochs.end(), std::greater_equal<>()) != epochs.end()) {
        throw usage_error("{}: milestones: they do not increase; sort them", what);
      }
    });
  }
};

// A formula of the epoch e, counted from `first`, behind a warm-up that rises to the formula's value at e = warmup_epochs.
class FormulaSchedule final : public Schedule {
 public:
  FormulaSchedule(const WarmupOptions& warmup, int64_t first, std::function<double(int64_t)> formula)
      : warmup_(warmup), first_(first), formula_(std::move(formula)) {}

  double learning_rate(int64_t epoch, int64_t step, int64_t steps) const override {
    if (epoch >= warmup_.warmup_epochs) return formula_(epoch + first_);
    const double done = static_cast<double>(epoch * steps + step) / static_cast<double>(warmup_.warmup_epochs * steps);
    return warmup_.warmup_from + done * (formula_(warmup_.warmup_epochs) - warmup_.warmup_from);
  }

 private:
  WarmupOptions warmup_;
  int64_t first_;
  std::function<double(int64_t)> formula_;
};

std::unique_ptr<Schedule> make(const ConstantOptions& options, double base, int64_t) {
  return std::make_unique<FormulaSchedule>(options, 1, [base](int64_t) { return base; });
}

std::unique_ptr<Schedule> make(const CosineOptions& options, double base, int64_t epochs) {
  const double end = options.eta_min.value_or(options.from_zero ? 0 : base * std::pow(options.decay_rate, 3));
  const auto formula = [=](int64_t e) {
    const double share = static_cast<double>(std::min(e, epochs)) / static_cast<double>(epochs);
    return end + (base - end) * (1 + std::cos(std::numbers::pi * share)) / 2;
  };
  return std::make_unique<FormulaSchedule>(options, options.from_zero ? 0 : 1, formula);
}

std::unique_ptr<Schedule> make(const MultistepOptions& options, double base, int64_t) {
  const auto formula = [base, gamma = options.gamma, milestones = options.milestones](int64_t e) {
    const auto passed = std::count_if(milestones.begin(), milestones.end(), [e](int64_t milestone) { return milestone < e; });
    return base * std::pow(gamma, static_cast<double>(passed));
  };
  return std::make_unique<FormulaSchedule>(options, 1, formula);
}

template <class Options>
ChosenSchedule chosen_schedule(const std::string& name, const Options& options, const std::string& where = "") {
  ChosenSchedule chosen{Config::map({{"name", Config::string(name)}}), options.warmup_epochs, nullptr};
  chosen.section.overlay(config_of(options));
  chosen.make = [options, name, where](double base, int64_t epochs) {
    if (epochs < 1) throw usage_error("{}schedule: a run of {} epochs; it needs at least 1", where, epochs);
    if (options.warmup_epochs > 0 && options.warmup_from > base) {
      throw usage_error(
          "{}schedule '{}': warmup_from {} is above the learning rate {}, so that the warm-up would go down; give at most that", where,
          name, options.warmup_from, base);
    }
    return make(options, base, epochs);
  };
  return chosen;
}

template <class Options>
ScheduleEntry schedule_entry(const std::string& name, const std::string& summary) {
  const auto read = [name](const Config& section) {
    return chosen_schedule(name, options_from<Options>(section_map(section), "schedule '" + name + "'", {"name"}), section.prefix());
  };
  return {name, {}, summary, option_specs<Options>(), read};
}

}  // namespace

const std::vector<ScheduleEntry>& schedule_registry() {
  static const std::vector<ScheduleEntry> registry = {
      schedule_entry<ConstantOptions>("constant", "the optimizer's learning rate at every step"),
      schedule_entry<CosineOptions>("cosine", "half a cosine over the run, updated every epoch"),
      schedule_entry<MultistepOptions>("multistep", "multiplies the learning rate by gamma at each milestone"),
  };
  return registry;
}

ChosenSchedule multistep_schedule(const std::vector<int64_t>& milestones, double gamma) {
  MultistepOptions options;
  options.milestones = milestones;
  options.gamma = gamma;
  check_options(options, "schedule 'multistep'");
  return chosen_schedule("multistep", options);
}

ChosenSchedule read_schedule(const Config& section) { return named_or_first(schedule_registry(), section, "schedule").read(section); }

}  // namespace debias
