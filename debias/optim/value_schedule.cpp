#include "debias/optim/value_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

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

}  // namespace debias
