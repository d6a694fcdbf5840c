#include "debias/train/loop/train_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "debias/core/human_units.h"
#include "debias/core/printable.h"
#include "debias/results/run_files.h"
#include "debias/train/methods/diagnostics.h"
#include "debias/train/methods/method.h"

namespace debias {

void TrainLog::note(const std::string& line) {
  file_.clear();  // a disk that was full may have room again
  file_ << fmt::format("{:%Y-%m-%d %H:%M:%S} {}\n", fmt::localtime(std::time(nullptr)), without_control_characters(line));
  file_.flush();
}

void TrainLog::info(const std::string& line) { info_shortened(line, line); }

void TrainLog::info_shortened(const std::string& line, const std::string& shown) {
  note(line);
  also_.info(shown);
}

void TrainLog::warn(const std::string& line) {
  note("warning: " + line);
  also_.warn(line);
}

namespace {

constexpr size_t kLineColumns = 100;

std::string metric_in_line(const std::pair<std::string, double>& metric) {
  return fmt::format("{} {}", metric.first, epoch_number(metric.second));
}

// Lower ones are shown first.
int place_in_line(const std::string& name) {
  if (name == "train_loss" || name == "episode_return") return 0;
  return name.starts_with("test.") || name.starts_with("valid.") ? 1 : 2;
}

std::string left_in_line(const EpochSummary& summary) {
  return summary.seconds_left ? fmt::format(", {} left", clock_text(*summary.seconds_left)) : "";
}

}  // namespace

std::string epoch_number(double value) {
  const double size = std::fabs(value);
  if (size == 0 || (size >= 1e-3 && size < 1e3)) return fmt::format("{:.4f}", value);
  if (size >= 1e3 && size < 1e9 && std::floor(value) == value) return fmt::format("{:.0f}", value);
  if (size >= 1e3 && size < 1e6) return fmt::format("{:.1f}", value);
  return fmt::format("{:.4g}", value);
}

std::string short_epoch_line(const EpochSummary& summary) {
  auto metrics = summary.metrics;
  std::ranges::stable_sort(metrics, {}, [](const auto& metric) { return place_in_line(metric.first); });
  const auto more_of = [](size_t count) { return count == 0 ? std::string() : fmt::format(", {} more in metrics.csv", count); };
  const std::string left = left_in_line(summary);
  std::string line = fmt::format("epoch {}/{}", summary.epoch, summary.epochs);
  size_t shown = 0;
  for (; shown < metrics.size(); ++shown) {
    const std::string longer = line + (shown == 0 ? ": " : ", ") + metric_in_line(metrics[shown]);
    if (longer.size() + more_of(metrics.size() - shown - 1).size() + left.size() > kLineColumns) break;
    line = longer;
  }
  return line + more_of(metrics.size() - shown) + left;
}

std::string whole_epoch_line(const EpochSummary& summary) {
  std::string line = fmt::format("epoch {}/{}", summary.epoch, summary.epochs);
  for (const auto& metric : summary.metrics) line += ", " + metric_in_line(metric);
  return line + left_in_line(summary);
}

std::vector<Metric> training_metrics() {
  std::vector<Metric> all = {{"train_loss", "training loss", Unit::kNumber, Better::kLowerOfOneObjective, Standing::kTraining}};
  const auto add = [&all](const std::vector<Metric>& more) { all.insert(all.end(), more.begin(), more.end()); };
  add(speed_metrics());
  add({{"grad_norm", "gradient norm", Unit::kNumber, Better::kNeither, Standing::kTraining},
       {"learning_rate", "learning rate", Unit::kNumber, Better::kNeither, Standing::kTraining},
       {"substituted", "substituted images", Unit::kNumber, Better::kNeither, Standing::kTraining}});
  add(diagnostics_metrics());
  for (const auto& method : method_registry()) add(method.metrics);
  return all;
}

}  // namespace debias
