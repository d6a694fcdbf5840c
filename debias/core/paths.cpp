#include "debias/core/paths.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "debias/core/error.h"

namespace debias {

namespace fs = std::filesystem;

std::string real_path(const std::string& path) {
  std::error_code failure;
  const fs::path whole = fs::absolute(path, failure);
  if (failure) return path;
  fs::path real = fs::weakly_canonical(whole, failure);
  if (failure) real = whole.lexically_normal();  // links in a circle, or a folder that may not be looked into
  if (!real.has_filename() && real.has_relative_path()) real = real.parent_path();  // "y/" of which nothing is there keeps its slash
  return real.string();
}

bool lies_in(const std::string& path, const std::string& folder) {
  const fs::path inner = real_path(path), outer = real_path(folder);
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

std::string with_home(const std::string& path) {
  if (!path.starts_with('~')) return path;
  if (path.size() > 1 && path[1] != '/') {
    throw usage_error("'{}': the home folder of another user is not looked up; write the folder out, or ./{} for a file of that name", path,
                      path);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') throw usage_error("'{}': HOME is not set, so there is no home folder; write the folder out", path);
  return home + path.substr(1);
}

std::string start_of(const std::string& path) {
  if (path.starts_with('/')) return "";
  std::error_code failure;
  const std::string folder = std::filesystem::current_path(failure).string();
  return failure ? " in the current folder" : " in " + folder;
}

namespace {

// The first that `path` is in; null if there is none.
const std::string* folder_around(const std::string& path, const std::vector<std::string>& folders) {
  if (path.empty()) return nullptr;
  const auto found = std::ranges::find_if(folders, [&](const std::string& folder) { return !folder.empty() && lies_in(path, folder); });
  return found == folders.end() ? nullptr : &*found;
}

}  // namespace

void refuse_inside_data(const std::string& path, const std::vector<std::string>& data_roots, const std::string& what) {
  const std::string* root = folder_around(path, data_roots);
  if (root == nullptr) return;
  throw usage_error("{} '{}' is inside the data folder '{}'; nothing is written there: choose another {}", what, path, *root, what);
}

void refuse_run_inside_data(const std::string& folder, const std::vector<std::string>& data_roots) {
  const std::string* root = folder_around(folder, data_roots);
  if (root == nullptr) return;
  throw usage_error("run '{}' is inside the data folder '{}'; nothing is written there: move the run out of it", folder, *root);
}

namespace {

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

namespace {

class Walker {
 public:
  Walker(const FolderWalk& walk, const std::function<void(const FolderContent&)>& visit) : walk_(walk), visit_(visit) {
    entered_.insert(real_path(walk.folder));
    fs::path above = real_path(walk.root);
    for (; above.has_relative_path(); above = above.parent_path()) entered_.insert(above.string());
    entered_.insert(above.string());  // "/"
    fs::path between = walk.root;
    for (const fs::path& part : fs::path(walk.folder).lexically_relative(walk.root)) entered_.insert(real_path(between /= part));
  }

  void enter(const std::string& path, const std::string& prefix) {
    FolderContent content = read_folder(path, walk_.passed_over);
    content.prefix = prefix;
    visit_(content);
    for (const std::string& name : content.folders) {
      const std::string below = (fs::path(path) / name).string();
      if (entered_.insert(real_path(below)).second) enter(below, prefix + name + "/");
    }
  }

 private:
  const FolderWalk& walk_;
  const std::function<void(const FolderContent&)>& visit_;
  std::set<std::string> entered_;  // as they are without links
};

}  // namespace

FolderContent read_folder(const std::string& path, const std::string& passed_over) {
  FolderContent content;
  content.path = path;
  for (fs::directory_iterator next(path, content.failure), end; !content.failure && next != end; next.increment(content.failure)) {
    FolderFile file;
    file.name = next->path().filename().string();
    if (file.name.starts_with('.') || file.name == passed_over) continue;
    file.type = next->status(file.failure).type();
    if (file.type == fs::file_type::directory) {
      content.folders.push_back(file.name);
      continue;
    }
    std::error_code ignored;
    file.is_link = next->is_symlink(ignored);
    content.files.push_back(std::move(file));
  }
  std::sort(content.folders.begin(), content.folders.end());
  return content;
}

void walk_folders(const FolderWalk& walk, const std::function<void(const FolderContent&)>& visit) {
  Walker(walk, visit).enter(walk.folder, "");
}

}  // namespace debias
