// The temperatures and the class prior that pairwise objectives share: one name, range and help text for all of them.
#pragma once

#include "debias/core/options.h"

namespace debias {

inline Range temperature_range() { return Range::closed(1e-3, 100); }
inline Range class_prior_range() { return Range::half_open(0, 1); }

// An option table for a struct with the fields `temperature_` and `base_temperature_`.
template <class Options>
OptionTable<Options> table_with_temperatures() {
  return OptionTable<Options>()
      .add("temperature", &Options::temperature_, temperature_range(), "temperature t, which divides the cosines once")
      .add("base_temperature", &Options::base_temperature_, temperature_range(), "rescales the loss by temperature / base_temperature");
}

// The factor of the loss, temperature / base_temperature; 1 without a base temperature.
template <class Options>
double loss_scale(const Options& options) {
  return options.base_temperature() ? options.temperature() / *options.base_temperature() : 1.0;
}

}  // namespace debias
