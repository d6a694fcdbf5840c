#include "debias/core/folder_walk.h"

#include <algorithm>
#include <set>

#include "debias/core/real_path.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

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
