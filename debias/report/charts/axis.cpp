#include "debias/report/charts/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace debias {
namespace {

// 1e-05 as 1e-5, 2.50e+06 as 2.5e6.
std::string shortened_power(std::string text) {
  const size_t e = text.find('e');
  if (e == std::string::npos) return text;
  std::string mantissa = text.substr(0, e);
  if (mantissa.find('.') != std::string::npos) mantissa.erase(mantissa.find_last_not_of('0') + 1);
  if (mantissa.ends_with('.')) mantissa.pop_back();
  return fmt::format("{}e{}", mantissa, std::stoi(text.substr(e + 1)));
}

double nice_step(double span, int wanted) {
  const double rough = span / std::max(1, wanted);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (rough <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

// All labels with the decimals that the step needs, or all as powers of ten where they would be long.
std::vector<std::string> labels_of(const std::vector<double>& values, double step, bool percent) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  const double factor = percent ? 100 : 1;
  const bool few_digits = largest < 99.5 * step;
  const bool powers = !percent && (largest >= 1e6 || (few_digits && largest < 9.5e-3));
  int decimals = 0;
  for (double scaled = step * factor; decimals < 8 && std::fabs(scaled - std::round(scaled)) > 1e-6 * scaled; ++decimals) scaled *= 10;
  std::vector<std::string> labels;
  for (double value : values) {
    if (std::fabs(value) < 1e-9 * step) value = 0;
    labels.push_back(powers ? (value == 0 ? "0" : shortened_power(fmt::format("{:.2e}", value)))
                            : fmt::format("{:.{}f}{}", value * factor, decimals, percent ? " %" : ""));
  }
  return labels;
}

struct Extent {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

void move_apart(Extent& extent, const Axis& axis) {
  const bool log = axis.scale == Scale::kLog;
  if (extent.empty()) extent = log ? Extent{1, 10} : Extent{0, 1};
  const double size = std::max(std::fabs(extent.low), std::fabs(extent.high));
  if (extent.high - extent.low > 1e-12 * size) return;  // below that, ticks are not distinct in double
  const double apart = size == 0 ? (axis.percent ? 0.1 : 1) : size / 10;
  const bool held = axis.low && *axis.low == extent.low;
  const bool share = axis.percent && extent.low >= 0 && extent.high <= 1;  // nothing is beyond 0 and 100 %
  const double low = held ? extent.low : extent.low - apart, high = extent.high + apart;
  extent = log ? Extent{extent.low / 2, extent.high * 2} : share ? Extent{std::max(low, 0.0), std::min(high, 1.0)} : Extent{low, high};
}

}  // namespace

Ticks linear_ticks(double low, double high, int wanted, bool percent, bool whole) {
  double step = nice_step(high - low, wanted);
  if (whole) step = std::max(1.0, std::ceil(step));
  Ticks ticks;
  const double slack = 1e-9 * step;
  const double first = std::ceil((low - slack) / step);
  for (int i = 0; i <= 4 * wanted && (first + i) * step <= high + slack; ++i) ticks.values.push_back((first + i) * step);
  ticks.labels = labels_of(ticks.values, step, percent);
  return ticks;
}

Ticks log_ticks(double low, double high, int wanted) {
  const double slack = 1e-9;
  const int first = static_cast<int>(std::ceil(std::log10(low) - slack)), last = static_cast<int>(std::floor(std::log10(high) + slack));
  Ticks ticks;
  if (last - first >= 2) {
    const int stride = (last - first) / std::max(1, wanted) + 1;
    for (int power = first; power <= last; power += stride) ticks.values.push_back(std::pow(10.0, power));
  } else {
    for (int power = first - 1; power <= last; ++power) {
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10.0, power);
        if (value >= low * (1 - slack) && value <= high * (1 + slack)) ticks.values.push_back(value);
      }
    }
    if (ticks.values.size() < 2) return linear_ticks(low, high, wanted);
  }
  for (const double value : ticks.values) ticks.labels.push_back(shortened_power(fmt::format("{:.6g}", value)));
  return ticks;
}

bool PlacedAxis::has_place(double value) const { return std::isfinite(value) && (scale == Scale::kLinear || value > 0); }

double PlacedAxis::place(double value, double from, double to) const {
  const double share = scale == Scale::kLinear ? (value - low) / (high - low) : std::log(value / low) / std::log(high / low);
  return from + share * (to - from);
}

PlacedAxis place_axis(const Axis& axis, const std::vector<double>& values, Ends ends, int wanted_ticks) {
  PlacedAxis placed;
  placed.scale = axis.scale;
  Extent extent;
  for (const double value : values) {
    if (placed.has_place(value)) extent.take(value);
  }
  for (const auto& bound : {axis.low, axis.high}) {
    if (bound && placed.has_place(*bound)) extent.take(*bound);
  }
  move_apart(extent, axis);
  if (ends == Ends::kTicks && axis.scale == Scale::kLinear) {
    const double step = nice_step(extent.high - extent.low, wanted_ticks);
    extent = {step * std::floor(extent.low / step + 1e-9), step * std::ceil(extent.high / step - 1e-9)};
  } else if (ends == Ends::kTicks) {
    const double room = std::pow(extent.high / extent.low, 0.04);
    extent = {extent.low / room, extent.high * room};
  }
  placed.low = extent.low;
  placed.high = extent.high;
  if (!axis.bare) {
    placed.ticks = axis.scale == Scale::kLinear ? linear_ticks(extent.low, extent.high, wanted_ticks, axis.percent, axis.whole)
                                                : log_ticks(extent.low, extent.high, wanted_ticks);
  }
  return placed;
}

std::string short_number(double value) {
  if (std::isnan(value)) return "n/a";
  if (std::fabs(value) < 1e7 && value == std::round(value)) return fmt::format("{}", static_cast<int64_t>(value));
  return shortened_power(fmt::format("{:.4g}", value));
}

std::string percent_text(double fraction, int decimals) {
  return std::isnan(fraction) ? "n/a" : fmt::format("{:.{}f} %", 100 * fraction, decimals);
}

}  // namespace debias
