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

bool has_text(const Json& set, const char* key) {
  const auto found = set.find(key);
  return found != set.end() && found->is_string() && !found->get_ref<const std::string&>().empty();
}

}  // namespace

Json read_data_sets(const std::string& run_folder) {
  const std::string path = run_folder + "/" + kDataSetsFile;
  if (!std::filesystem::exists(path)) return Json::object();
  Json sets = read_json_object(path, kLargestFile);
  for (const auto& [split, set] : sets.items()) {
    const bool is_expected = split == kAcceptedChanges ? set.is_array()
                                                       : set.is_object() && set.value("name", Json("")).is_string() &&
                                                             set.value("count", Json(0)).is_number_integer();
    if (!is_expected)
      throw data_error("reading '{}': '{}' is not of the expected form; resume the run, which writes it again", path, split);
  }
  return sets;
}

DataLikeness compare_data_sets(const Json& a, const Json& b, const std::string& split) {
  const auto one = a.find(split), other = b.find(split);
  if (one == a.end() || other == b.end()) return DataLikeness::kUndetermined;
  const auto alike = [&](const char* key) {
    const auto is = one->find(key), was = other->find(key);
    return is == one->end() || was == other->end() ? (is == one->end()) == (was == other->end()) : *is == *was;
  };
  for (const char* key : {"count", "classes", "biases", "images"}) {
    if (!alike(key)) return DataLikeness::kDifferent;
  }
  const bool has_vocabulary = value_or(*one, "name", std::string()) == "sentences";  // whose hash replaces that of labels
  if (has_vocabulary && !alike("labels")) return DataLikeness::kDifferent;
  if (has_text(*one, "contents") && has_text(*other, "contents") && !alike("contents")) return DataLikeness::kDifferent;
  const auto is = one->find("options"), was = other->find("options");
  const bool have_options = is != one->end() && was != other->end();
  return have_options && !have_options_alike(*is, *was) ? DataLikeness::kDifferent : DataLikeness::kAlike;
}

}  // namespace debias
