#include "debias/results/training_speed.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "debias/results/json_file.h"

namespace debias {
namespace {

constexpr int64_t kLargestTimes = int64_t{64} << 20;  // bytes

Metric speed_metric(const std::string& name, const std::string& title) {
  return {name, title, Unit::kNumber, Better::kNeither, Standing::kTraining};
}

Metric rate_metric(const std::string& counted) {
  std::string title = counted + " per second";
  std::ranges::replace(title, '_', ' ');
  return speed_metric(counted + "_per_second", title);
}

// None for a line that is not such an epoch: it was cut, or somebody wrote it.
std::optional<EpochTime> epoch_time(const std::string& line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  try {
    const EpochTime time = {count_number(json.at("epoch")), number_or_nan(json.at("seconds")), count_number(json.at("count")),
                            json.at("counted").get<std::string>()};
    return std::isfinite(time.seconds) && time.seconds > 0 && !time.counted.empty() ? std::optional(time) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// A line that a full disk or a kill has cut stays alone.
bool begins_a_line(const std::string& path) {
  std::ifstream file(path, std::ios::ate | std::ios::binary);
  if (!file || file.tellg() <= 0) return true;
  file.seekg(-1, std::ios::end);
  return file.get() == '\n';
}

}  // namespace

bool append_epoch_time(const std::string& run_folder, const EpochTime& time) {
  const std::string path = run_folder + "/" + kEpochTimesFile, begin = begins_a_line(path) ? "" : "\n";
  std::ofstream file(path, std::ios::app);
  const Json line = {{"epoch", time.epoch}, {"seconds", time.seconds}, {"count", time.count}, {"counted", time.counted}};
  file << begin + line.dump() + "\n" << std::flush;
  return file.good();
}

std::vector<std::pair<Metric, double>> TrainingSpeed::metrics() const {
  if (std::isnan(seconds)) return {};
  const std::vector<Metric> of_all = speed_metrics();
  return {{of_all[0], seconds}, {of_all[1], minutes_per_epoch}, {rate_metric(counted), per_second}};
}

TrainingSpeed read_training_speed(const std::string& run_folder) {
  TrainingSpeed speed;
  const std::string path = run_folder + "/" + kEpochTimesFile;
  if (!std::filesystem::exists(path)) return speed;
  std::istringstream lines(read_text_file(path, kLargestTimes));
  std::vector<double> rates;
  std::set<int64_t> epochs;
  double seconds = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto time = epoch_time(line);
    if (!time) {
      ++speed.damaged_lines;
      continue;
    }
    seconds += time->seconds;
    rates.push_back(time->per_second());
    epochs.insert(time->epoch);
    speed.counted = time->counted;
  }
  if (rates.empty()) return speed;
  speed.seconds = seconds;
  speed.minutes_per_epoch = seconds / 60 / static_cast<double>(epochs.size());
  speed.per_second = median(std::move(rates));
  return speed;
}

std::vector<Metric> speed_metrics() {
  return {speed_metric("training_seconds", "training time, seconds"),
          speed_metric("minutes_per_epoch", "training time per epoch, minutes")};
}

}  // namespace debias
