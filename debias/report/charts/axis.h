// Scales and ticks of a chart.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace debias {

enum class Scale { kLinear, kLog };

struct Axis {
  std::string label;
  Scale scale = Scale::kLinear;
  std::optional<double> low, high;  // the axis reaches at least so far
  bool percent = false;             // values are fractions, labels percent
  bool whole = false;               // ticks at whole numbers only: epochs, steps
  bool bare = false;                // without ticks: the numbers mean nothing (a t-SNE map)
};

struct Ticks {
  std::vector<double> values;  // ascending
  std::vector<std::string> labels;
};

// Multiples of 1, 2, 2.5 or 5 times a power of ten in [low, high], about `wanted` of them. low < high.
Ticks linear_ticks(double low, double high, int wanted, bool percent = false, bool whole = false);
// Powers of ten, every so many where there are more than `wanted`; 1, 2, 5 times powers of ten where fewer than three fit. 0 < low < high.
Ticks log_ticks(double low, double high, int wanted);

// An axis with its final ends.
struct PlacedAxis {
  Scale scale = Scale::kLinear;
  double low = 0, high = 1;
  Ticks ticks;

  // False where a value has no place: not finite, or not positive on a log axis.
  bool has_place(double value) const;
  double place(double value, double from, double to) const;  // `from` at low, `to` at high
};

enum class Ends {
  kTight,  // at the data
  kTicks,  // at the next ticks outside
};

// `values`: everything that is drawn along the axis; those without a place do not count. Equal ends are moved apart.
PlacedAxis place_axis(const Axis& axis, const std::vector<double>& values, Ends ends, int wanted_ticks);

// Whole numbers as they are, others with four significant digits: "60000", "0.8732", "1.2e-5"; "n/a" for NaN.
std::string short_number(double value);
// "87.3 %" of 0.873.
std::string percent_text(double fraction, int decimals = 1);

}  // namespace debias
