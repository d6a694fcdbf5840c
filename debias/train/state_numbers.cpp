#include "debias/train/state_numbers.h"

#include <cmath>

#include "debias/core/error.h"

namespace debias {

int64_t count_at(const nlohmann::ordered_json& json, const char* key) {
  constexpr int64_t kMost = int64_t{1} << 53;
  const auto& value = json.at(key);
  if (value.is_number_integer() && value >= 0 && value <= kMost) return value.get<int64_t>();
  throw data_error("its training state has {} {}, where a count was expected", key, value.dump());
}

double number_at(const nlohmann::ordered_json& json, const char* key) {
  const auto& value = json.at(key);
  if (value.is_number() && std::isfinite(value.get<double>())) return value.get<double>();
  throw data_error("its training state has {} {}, where a number was expected", key, value.dump());
}

}  // namespace debias
