// Log line of an epoch at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace debias {

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

}  // namespace debias
