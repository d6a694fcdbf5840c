#include "debias/report/json_file.h"

#include <limits>

#include "debias/core/input_file.h"

namespace debias {

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

double number_or_nan(const Json& value) { return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>(); }

}  // namespace debias
