#include "debias/results/json_file.h"

#include <cmath>
#include <limits>

#include "debias/core/input_file.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

[[noreturn]] void refuse_number(const Json& value, const char* expected) {
  constexpr size_t kShown = 40;
  throw Json::type_error::create(
      302, fmt::format("{} was expected, found {}", expected, without_control_characters(value.dump().substr(0, kShown))), &value);
}

template <class T, class Read>
std::vector<T> each_of(const Json& list, const Read& read) {
  std::vector<T> values;
  for (const auto& value : list.get_ref<const Json::array_t&>()) values.push_back(read(value));
  return values;
}

}  // namespace

std::string read_text_file(const std::string& path, int64_t limit) {
  const InputFile file(path);
  if (file.size() > static_cast<uint64_t>(limit)) {
    throw data_error("reading '{}': {} bytes, more than the {} that such a file has at most", path, file.size(), limit);
  }
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  return text;
}

Json read_json_object(const std::string& path, int64_t limit) {
  const std::string text = read_text_file(path, limit);
  try {
    Json json = Json::parse(text);
    if (json.is_object()) return json;
  } catch (const nlohmann::json::parse_error& error) {
    throw data_error("reading '{}': damaged JSON at byte {}; write it again, or remove it", path, error.byte);
  } catch (const nlohmann::json::out_of_range&) {  // 1e999
    throw data_error("reading '{}': it has a number that is too large for any use; write it again, or remove it", path);
  }
  throw data_error("reading '{}': expected a JSON object, found something else; write it again, or remove it", path);
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json numbers_or_null(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number_or_null(value));
  return list;
}

double number_or_nan(const Json& value) { return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>(); }

int64_t whole_number(const Json& value) {
  if (value.is_number_integer() && !(value.is_number_unsigned() && value > std::numeric_limits<int64_t>::max()))
    return value.get<int64_t>();
  refuse_number(value, "an integer");
}

int64_t count_number(const Json& value) {
  constexpr int64_t kMost = int64_t{1} << 53;
  if (value.is_number_integer() && value >= 0 && value <= kMost) return value.get<int64_t>();
  refuse_number(value, "a count");
}

std::vector<int64_t> whole_numbers(const Json& list) { return each_of<int64_t>(list, whole_number); }
std::vector<int64_t> count_numbers(const Json& list) { return each_of<int64_t>(list, count_number); }
std::vector<std::vector<int64_t>> count_rows(const Json& rows) { return each_of<std::vector<int64_t>>(rows, count_numbers); }

}  // namespace debias
