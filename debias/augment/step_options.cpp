#include "debias/augment/step_options.h"

namespace debias::options_detail {
namespace {

Config pair_of(const Config& first, const Config& second) { return Config::sequence({first, second}); }

}  // namespace

Extent Field<Extent>::parse(const Config& value, const Range& range, const std::string& what) {
  if (value.is_scalar()) return {static_cast<int>(Field<int64_t>::parse(value, range, what)), 0};
  if (!value.is_sequence() || value.items().size() != 2) refuse(value, what, "an integer or [height, width]");
  return {static_cast<int>(Field<int64_t>::parse(value.items()[0], range, what)),
          static_cast<int>(Field<int64_t>::parse(value.items()[1], range, what))};
}

Config Field<Extent>::emit(const Extent& value) {
  return value.square() ? Config::integer(value.height) : pair_of(Config::integer(value.height), Config::integer(value.width));
}

Interval Field<Interval>::parse(const Config& value, const Range& range, const std::string& what) {
  if (!value.is_sequence() || value.items().size() != 2) refuse(value, what, "[low, high]");
  const Interval result{Field<double>::parse(value.items()[0], range, what), Field<double>::parse(value.items()[1], range, what)};
  if (result.low > result.high) refuse(value, what, "[low, high] with low <= high");
  return result;
}

Config Field<Interval>::emit(const Interval& value) { return pair_of(Config::number(value.low), Config::number(value.high)); }

Spread Field<Spread>::parse(const Config& value, const Range& range, const std::string& what) {
  if (value.is_scalar()) {
    const double number = Field<double>::parse(value, range, what);
    if (number < 0) refuse(value, what, "a number >= 0 or [low, high]");
    return Spread::number(number);
  }
  if (!value.is_sequence()) refuse(value, what, "a number or [low, high]");
  const Interval interval = Field<Interval>::parse(value, range, what);
  return Spread::between(interval.low, interval.high);
}

Config Field<Spread>::emit(const Spread& value) {
  return value.pair ? Field<Interval>::emit({value.low, value.high}) : Config::number(value.low);
}

}  // namespace debias::options_detail
