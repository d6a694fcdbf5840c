// Value schedules: a number of a recipe (an objective's option, a term's weight) as a pure function of the epoch e = 0, ..., E - 1.
//
//   {schedule: linear, from: 2.0, to: 0.1, every: 20}     from + (to - from) k / (K - 1)
//   {schedule: cosine, from: 1.0, to: 0.0}                to + (from - to) (1 + cos(pi k / (K - 1))) / 2
//   {schedule: steps, values: {0: 0.5, 300: 0.7}}         the value of the last epoch listed that is not after e; epoch 0 must be listed
//
// k = floor(e / every) is the stage, K = ceil(E / every) their number, every >= 1 (default 1): the first stage has `from`, the last has
// `to`; a single stage has `from`. linear with every = 20 and E = 400 from 2 to 0.1 is the hardness schedule 2 - 0.005 e, refreshed every
// 20 epochs, of Liu and Wang 2023. Past the end the last value stays.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "debias/core/config.h"
#include "debias/core/options.h"

namespace debias {

class ValueSchedule {
 public:
  virtual ~ValueSchedule() = default;
  virtual double value(int64_t epoch) const = 0;
  virtual Config config() const = 0;  // every option written out; reads as the same schedule
};

enum class RampPath { kLinear, kCosine };
constexpr auto enum_words(RampPath) { return named("linear", "cosine"); }

struct RampOptions {
  double from = 0;
  double to = 0;
  int64_t every = 1;

  void describe(OptionVisitor& o) {
    o("from", from, "value of the first stage");
    o("to", to, "value of the last stage");
    o("every", every, Range::closed(1, 1e6), "epochs of a stage");
  }
};

std::unique_ptr<ValueSchedule> ramp_schedule(RampPath path, const RampOptions& options, int64_t epochs);
std::unique_ptr<ValueSchedule> steps_schedule(std::map<int64_t, double> values);  // by the epoch that they are in force from; one is 0

// `what` names the number in messages ("objective 'bayesian': beta"). Usage errors, naming file and line: `section` is not a map with a
// `schedule`, an unknown schedule or option, a missing or non-numeric value.
std::unique_ptr<ValueSchedule> read_value_schedule(const Config& section, const std::string& what, int64_t epochs);

}  // namespace debias
