// Duration of training. The training loop appends one line for each epoch to RUN/times.jsonl, apart from metrics.jsonl, whose bytes depend
// on no clock:
//
//   {"epoch": 3, "seconds": 12.437, "count": 5000, "counted": "images"}
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "debias/results/metric.h"

namespace debias {

inline constexpr const char* kEpochTimesFile = "times.jsonl";

// An epoch, or the part of one after which the run was stopped.
struct EpochTime {
  int64_t epoch = 0;         // from 1
  double seconds = 0;        // of training, evaluations not included
  int64_t count = 0;         // samples, or steps of an agent
  std::string counted = {};  // what they are, as a word of a metric's name: "images", "agent_steps"

  double per_second() const { return static_cast<double>(count) / seconds; }
};

// Appends the line. False if the file cannot be written: the run continues.
bool append_epoch_time(const std::string& run_folder, const EpochTime& time);

struct TrainingSpeed {
  double seconds = std::numeric_limits<double>::quiet_NaN();            // of all epochs
  double minutes_per_epoch = std::numeric_limits<double>::quiet_NaN();  // mean; an epoch in several parts is one
  double per_second = std::numeric_limits<double>::quiet_NaN();         // median of the epochs
  std::string counted = {};                                             // of the last line
  int64_t damaged_lines = 0;                                            // which count for nothing

  // Known speeds: training_seconds, minutes_per_epoch and one such as images_per_second.
  std::vector<std::pair<Metric, double>> metrics() const;
};

// An epoch that was trained again after a resumption counts each time. NaN without a file, or where it has no epoch.
TrainingSpeed read_training_speed(const std::string& run_folder);

std::vector<Metric> speed_metrics();  // those of any run

}  // namespace debias
