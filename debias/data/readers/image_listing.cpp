#include "debias/data/readers/image_listing.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPassedOver = "__MACOSX";  // in archives made on a Mac: copies of names, no images

void require_listed(const FolderContent& content) {
  if (content.failure) throw FileError(content.path, "cannot be listed: " + content.failure.message());
}

void collect(const FolderContent& content, std::vector<std::string>& images, UnreadImages* unread) {
  require_listed(content);
  for (const FolderFile& file : content.files) {
    const bool is_file = file.type == fs::file_type::regular;
    if (has_image_extension(file.name) && (is_file || file.is_link)) {
      images.push_back(content.prefix + file.name);
    } else if (is_file && unread != nullptr) {
      unread->add_if_image((fs::path(content.path) / file.name).string());
    }
  }
}

}  // namespace

std::vector<std::string> list_folders(const std::string& folder) {
  FolderContent content = read_folder(folder, kPassedOver);
  require_listed(content);
  return std::move(content.folders);
}

std::vector<std::string> list_images(const std::string& folder, const std::string& root, UnreadImages* unread) {
  std::vector<std::string> images;
  walk_folders({folder, root, kPassedOver}, [&](const FolderContent& content) { collect(content, images, unread); });
  std::sort(images.begin(), images.end());
  return images;
}

std::vector<std::string> list_images_directly_in(const std::string& folder, UnreadImages* unread) {
  std::vector<std::string> images;
  collect(read_folder(folder, kPassedOver), images, unread);
  std::sort(images.begin(), images.end());
  return images;
}

std::vector<std::string> list_unread_images(const std::string& root) {
  std::vector<std::string> unread;
  walk_folders({root, root, kPassedOver}, [&](const FolderContent& content) {
    require_listed(content);
    for (const FolderFile& file : content.files) {
      const bool is_file = file.type == fs::file_type::regular;
      if (is_file && has_unread_image_extension(file.name)) unread.push_back(content.prefix + file.name);
    }
  });
  std::sort(unread.begin(), unread.end());
  return unread;
}

}  // namespace debias
