#include "debias/data/readers/row_names.h"

#include <filesystem>
#include <utility>

#include "debias/core/printable.h"

namespace debias {

std::string normal_path(const std::string& path) { return std::filesystem::path(path).lexically_normal().generic_string(); }

SampleNames::SampleNames(std::vector<std::string> names) : names_(std::move(names)) {
  for (size_t i = 0; i < names_.size(); ++i) places_.emplace(names_[i], static_cast<int64_t>(i));
}

std::optional<int64_t> SampleNames::find(const std::string& name) const {
  auto found = places_.find(name);
  if (found == places_.end()) found = places_.find(name_of_utf8(name));
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace debias
