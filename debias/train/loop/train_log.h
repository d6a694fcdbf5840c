// train.log: the log of a run with wall-clock times, beside what the caller's log shows.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "debias/core/progress.h"
#include "debias/results/metric.h"

namespace debias {

class TrainLog : public Log {
 public:
  TrainLog(const std::string& path, Log& also) : file_(path, std::ios::app), also_(also) {}
  void info(const std::string& line) override;
  void warn(const std::string& line) override;
  void note(const std::string& line);                                      // to the file alone
  void info_shortened(const std::string& line, const std::string& shown);  // `line` to the file, `shown` to the caller's log

 private:
  std::ofstream file_;
  Log& also_;
};

// Log line of an epoch at its end.
struct EpochSummary {
  int64_t epoch = 0, epochs = 0;
  std::vector<std::pair<std::string, double>> metrics;
  std::optional<double> seconds_left;  // of the run; not known, or nothing is left: nullopt
};

// Up to 100 characters for a terminal: train_loss or episode_return first, then what was evaluated (valid., test.), then the others, as many
// as there is room for; the number of those left out; the time left. "epoch 3/80: train_loss 5.3123, test.knn_acc1 0.7012, 9 more in
// metrics.csv, 21:40 left".
std::string short_epoch_line(const EpochSummary& summary);

// With every metric, for train.log.
std::string whole_epoch_line(const EpochSummary& summary);

// Four decimals from 0.001 to 1000 and for 0, whole numbers from 1000 on as such, else four significant digits: "0.7012", "10000",
// "1234.5", "-3.017e+22".
std::string epoch_number(double value);

// Metrics that training writes into metrics.jsonl and times.jsonl, described for everyone who shows them.

// Metrics of the loop, of the objective's terms and the classifier, and of the registered methods, in the order of tables.
std::vector<Metric> training_metrics();

}  // namespace debias
