#include "debias/data/readers/image_listing.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "debias/core/file_error.h"
#include "debias/image/image_format.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct Content {
  std::vector<std::string> folders;
  std::vector<std::string> images;
  std::vector<std::string> others;
};

Content content_of(const fs::path& folder) {
  Content content;
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  if (failure) throw FileError(folder.string(), "cannot be listed: " + failure.message());
  for (; entries != fs::directory_iterator(); entries.increment(failure)) {
    if (failure) throw FileError(folder.string(), "cannot be listed: " + failure.message());
    const std::string name = entries->path().filename().string();
    if (name.front() == '.' || name == "__MACOSX") continue;  // the latter is in archives made on a Mac: copies of names, no images
    std::error_code ignored;
    const auto type = entries->status(ignored).type();
    if (type == fs::file_type::directory) {
      content.folders.push_back(name);
    } else if (has_image_extension(name) && (type == fs::file_type::regular || entries->is_symlink(ignored))) {
      content.images.push_back(name);
    } else if (type == fs::file_type::regular) {
      content.others.push_back(name);
    }
  }
  return content;
}

std::string real_path(const fs::path& path) {
  std::error_code failure;
  const fs::path real = fs::canonical(path, failure);
  return failure ? path.string() : real.string();
}

struct Walk {
  std::set<std::string> entered;
  std::vector<std::string> images;
  UnreadImages* unread;
};

void add_unread(const fs::path& folder, const std::vector<std::string>& names, UnreadImages* unread) {
  if (unread == nullptr) return;
  for (const std::string& name : names) unread->add_if_image((folder / name).string());
}

void collect(const fs::path& folder, const std::string& prefix, Walk& walk) {
  Content content = content_of(folder);
  for (const std::string& name : content.images) walk.images.push_back(prefix + name);
  add_unread(folder, content.others, walk.unread);
  std::sort(content.folders.begin(), content.folders.end());
  for (const std::string& name : content.folders) {
    if (walk.entered.insert(real_path(folder / name)).second) collect(folder / name, prefix + name + "/", walk);
  }
}

}  // namespace

std::vector<std::string> list_folders(const std::string& folder) {
  std::vector<std::string> folders = content_of(folder).folders;
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<std::string> list_images(const std::string& folder, const std::string& root, UnreadImages* unread) {
  Walk walk{{real_path(folder)}, {}, unread};
  for (fs::path above = real_path(root); walk.entered.insert(above.string()).second && above.has_relative_path();)
    above = above.parent_path();
  collect(folder, "", walk);
  std::sort(walk.images.begin(), walk.images.end());
  return walk.images;
}

std::vector<std::string> list_images_directly_in(const std::string& folder, UnreadImages* unread) {
  Content content = content_of(folder);
  add_unread(folder, content.others, unread);
  std::sort(content.images.begin(), content.images.end());
  return content.images;
}

}  // namespace debias
