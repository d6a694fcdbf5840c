// JSON of a run folder: values as they are written, and read with faults as data errors that name the file.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "debias/core/error.h"

namespace debias {

using Json = nlohmann::ordered_json;

// A whole file; data errors as of InputFile, and for one of more than `limit` bytes.
std::string read_text_file(const std::string& path, int64_t limit);

// Parses a JSON object; data error for anything else.
Json read_json_object(const std::string& path, int64_t limit);

// Returns the result of `read` for well-formed JSON; a value of an unexpected type is a data error naming the file.
template <class Read>
auto read_fields(const std::string& path, Read&& read) {
  try {
    return std::forward<Read>(read)();
  } catch (const nlohmann::json::exception& error) {
    throw data_error("reading '{}': not of the expected form ({}); write it again, or remove it", path, error.what());
  }
}

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();  // a number that is null in a file

// Null of a number that is not finite, as JSON has none.
Json number_or_null(double value);
Json numbers_or_null(const std::vector<double>& values);

// The number, or NaN of null; a json::exception otherwise.
double number_or_nan(const Json& value);
// Integers; a json::exception otherwise, where get() would cut a fraction off and take 1e300 for anything.
int64_t whole_number(const Json& value);
std::vector<int64_t> whole_numbers(const Json& list);
// Integers from 0 to 2^53, of which many can be summed.
int64_t count_number(const Json& value);
std::vector<int64_t> count_numbers(const Json& list);
std::vector<std::vector<int64_t>> count_rows(const Json& rows);
// The value at a key, or `otherwise` where the key is absent or null.
template <class T>
T value_or(const Json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return otherwise;
  if constexpr (std::is_same_v<T, int64_t>) {
    return whole_number(*found);
  } else {
    return found->template get<T>();
  }
}

}  // namespace debias
