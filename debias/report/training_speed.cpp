#include "debias/report/training_speed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace debias {
namespace {

struct EpochTime {
  double epoch = 0;
  double seconds = 0, per_second = 0;
  std::string_view counted;
};

struct RateWords {
  std::string_view words, counted;
};
constexpr std::array kRates = {RateWords{" images/s", "images"}, RateWords{" sentences/s", "sentences"},
                               RateWords{" steps of the agent a second", "agent_steps"}};

// The number at the front, behind which `unit` must stand; both are taken away.
std::optional<double> take_number(std::string_view& text, std::string_view unit) {
  const size_t end = text.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string number(text.substr(0, end));
  char* rest = nullptr;
  const double value = std::strtod(number.c_str(), &rest);
  if (number.empty() || *rest != '\0' || !std::isfinite(value)) return std::nullopt;
  text.remove_prefix(end + unit.size());
  return value;
}

std::optional<EpochTime> epoch_time(std::string_view line) {
  constexpr std::string_view kEpoch = " epoch ";
  const size_t start = line.find(kEpoch);  // behind date and time
  if (start == std::string_view::npos) return std::nullopt;
  line.remove_prefix(start + kEpoch.size());
  const auto epoch = take_number(line, ": ");
  if (!epoch) return std::nullopt;
  const auto seconds = take_number(line, " s, ");
  if (!seconds) return std::nullopt;
  for (const auto& [words, counted] : kRates) {
    if (const auto rate = take_number(line, words)) return EpochTime{*epoch, *seconds, *rate, counted};
  }
  return std::nullopt;
}

}  // namespace

TrainingSpeed training_speed(std::string_view log) {
  TrainingSpeed speed;
  std::vector<double> rates;
  std::set<double> epochs;
  double seconds = 0;
  while (!log.empty()) {
    const size_t end = std::min(log.find('\n'), log.size());
    if (const auto epoch = epoch_time(log.substr(0, end))) {
      seconds += epoch->seconds;
      rates.push_back(epoch->per_second);
      speed.counted = epoch->counted;
      epochs.insert(epoch->epoch);
    }
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  if (rates.empty()) return speed;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::ranges::nth_element(rates, middle);
  speed.seconds = seconds;
  speed.minutes_per_epoch = seconds / 60 / static_cast<double>(epochs.size());
  speed.per_second = *middle;
  return speed;
}

}  // namespace debias
