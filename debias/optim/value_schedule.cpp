#include "debias/optim/value_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

namespace debias {
namespace {

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

}  // namespace

std::unique_ptr<ValueSchedule> linear_schedule(const RampOptions& options, int64_t epochs) {
  return std::make_unique<RampSchedule>("linear", options, epochs, [](double share) { return share; });
}

std::unique_ptr<ValueSchedule> cosine_schedule(const RampOptions& options, int64_t epochs) {
  return std::make_unique<RampSchedule>("cosine", options, epochs,
                                        [](double share) { return (1 - std::cos(std::numbers::pi * share)) / 2; });
}

std::unique_ptr<ValueSchedule> steps_schedule(std::map<int64_t, double> values) {
  return std::make_unique<StepsSchedule>(std::move(values));
}

}  // namespace debias
