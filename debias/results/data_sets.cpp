#include "debias/results/data_sets.h"

#include <filesystem>

namespace debias {
namespace {

constexpr int64_t kLargestFile = int64_t{64} << 20;  // bytes

bool have_options_alike(const Json& a, const Json& b) {
  for (const auto& [key, value] : a.items()) {
    const auto other = b.find(key);
    if (other != b.end() && *other != value) return false;
  }
  return true;
}

}  // namespace

Json read_data_sets(const std::string& run_folder) {
  const std::string path = run_folder + "/" + kDataSetsFile;
  return std::filesystem::exists(path) ? read_json_object(path, kLargestFile) : Json::object();
}

DataLikeness compare_data_sets(const Json& a, const Json& b, const std::string& split) {
  const auto one = a.find(split), other = b.find(split);
  if (one == a.end() || other == b.end() || !one->is_object() || !other->is_object()) return DataLikeness::kNotTold;
  for (const char* key : {"count", "classes", "biases", "images"}) {
    if (one->value(key, Json()) != other->value(key, Json())) return DataLikeness::kDifferent;
  }
  const bool alike = have_options_alike(one->value("options", Json::object()), other->value("options", Json::object()));
  return alike ? DataLikeness::kAlike : DataLikeness::kDifferent;
}

}  // namespace debias
