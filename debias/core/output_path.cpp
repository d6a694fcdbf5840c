#include "debias/core/output_path.h"

#include <filesystem>

#include "debias/core/error.h"
#include "debias/core/real_path.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

bool is_same(const std::string& a, const std::string& b) {
  std::error_code neither_exists;
  return fs::equivalent(a, b, neither_exists) || real_path(a) == real_path(b);
}

void collect_files(const Config& node, std::vector<std::string>& files) {
  std::error_code ignored;
  if (node.is_scalar() && fs::is_regular_file(node.text(), ignored)) files.push_back(node.text());
  for (const auto& [key, value] : node.entries()) collect_files(value, files);
  for (const auto& item : node.items()) collect_files(item, files);
}

}  // namespace

void refuse_overwriting(const std::string& what, const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) continue;
    for (const auto& input : inputs) {
      if (input.empty() || !is_same(outputs[i], input)) continue;
      throw usage_error("{}: '{}' would be written over its own input '{}'; give another path", what, outputs[i], input);
    }
    for (size_t other = 0; other < i; ++other) {
      if (outputs[other].empty() || !is_same(outputs[i], outputs[other])) continue;
      throw usage_error("{}: '{}' and '{}' are one file, and each result needs its own; give another path", what, outputs[other],
                        outputs[i]);
    }
  }
}

void require_folder_of(const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  const fs::path folder = fs::absolute(path).parent_path();
  if (fs::is_directory(folder, ignored)) return;
  throw resource_error("writing '{}': there is no folder '{}'; create it, or give another path", path, folder.string());
}

void refuse_emptying(const std::string& folder, const std::vector<std::string>& inputs) {
  for (const auto& input : inputs) {
    if (!lies_in(input, folder)) continue;
    throw usage_error("train: --overwrite starts '{}' again, and the recipe reads '{}' in it; choose another output", folder, input);
  }
}

std::vector<std::string> files_named_in(const Config& section) {
  std::vector<std::string> files;
  collect_files(section, files);
  return files;
}

}  // namespace debias
