#include "debias/data/readers/image_listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/core/printable.h"
#include "debias/data/split_names.h"
#include "debias/image/dicom.h"
#include "debias/image/image_decode.h"

namespace debias {
namespace {

bool begins_like_an_image(const std::string& path) {
  std::array<uint8_t, 132> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(start.data()), start.size());
  const std::span<const uint8_t> bytes(start.data(), static_cast<size_t>(file.gcount()));
  return image_format(bytes) || !unread_image_format(bytes).empty();
}

}  // namespace

void UnreadImages::add_if_image(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string ending = ending_of(name);
  if (lacks_ending(name) ? !begins_like_an_image(path) : !has_unread_image_extension(name)) return;
  ++by_ending_[lacks_ending(name) ? "no ending" : ending];
  has_dicom_ = has_dicom_ || has_dicom_extension(name) || (lacks_ending(name) && begins_as_dicom(path));
  ++count_;
  if (first_.empty() || path < first_) first_ = path;
}

std::string UnreadImages::counts() const {
  std::vector<std::pair<std::string, int64_t>> endings(by_ending_.begin(), by_ending_.end());
  std::stable_sort(endings.begin(), endings.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [ending, count] : endings) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", ending, count);
  return text;
}

std::string UnreadImages::remark(const std::string& folder) const {
  const std::string first = std::filesystem::path(first_).lexically_relative(folder).string();
  const std::string text =
      fmt::format("folder {}: {} file{} like {} but {} not read ({}; first: {})", folder, count_, count_ == 1 ? " looks" : "s look",
                  count_ == 1 ? "an image" : "images", count_ == 1 ? "is" : "are", counts(), first) +
      (has_dicom_ ? fmt::format("; DICOM {}", kWithoutDicom) : "");
  return without_control_characters(text);
}

std::string UnreadImages::after_refusal() const {
  return empty() ? ""
                 : fmt::format("; {} file{} not read ({}); {} are", count_, count_ == 1 ? " is" : "s are", counts(), kReadFormats) +
                       (has_dicom_ ? fmt::format("; DICOM {}", kWithoutDicom) : "");
}

namespace {

namespace fs = std::filesystem;

// Folders of network storage, operating systems, archives and editors, in lower case: previews, trash, snapshots, no images of the set.
constexpr std::array<std::string_view, 18> kSystemFolders = {"@eadir",
                                                             "@recycle",
                                                             "@recently-snapshot",
                                                             "@sharebin",
                                                             "@tmp",
                                                             "@sharesnap",
                                                             "#recycle",
                                                             "#snapshot",
                                                             "#syncrecycle",
                                                             "lost+found",
                                                             "$recycle.bin",
                                                             "system volume information",
                                                             "__macosx",
                                                             "~snapshot",
                                                             "__pycache__",
                                                             "network trash folder",
                                                             "temporary items",
                                                             "_gsdata_"};

bool is_system_folder(const std::string& name) { return std::ranges::find(kSystemFolders, in_lower_case(name)) != kSystemFolders.end(); }

// "cat/@eaDir/1.jpg/" is a folder in one of them.
bool is_in_system_folder(const std::string& prefix) {
  return std::ranges::any_of(fs::path(prefix), [](const fs::path& part) { return is_system_folder(part.string()); });
}

void require_listed(const FolderContent& content) {
  if (content.failure) throw FileError(content.path, "cannot be listed: " + content.failure.message());
}

void collect(const FolderContent& content, std::vector<std::string>& images, UnreadImages* unread) {
  if (is_in_system_folder(content.prefix)) return;  // which may not be looked into either
  require_listed(content);
  for (const FolderFile& file : content.files) {
    const bool is_file = file.type == fs::file_type::regular;
    const bool by_content =
        is_file && lacks_ending(file.name) && reads_dicom() && begins_as_dicom((fs::path(content.path) / file.name).string());
    if ((has_image_extension(file.name) && (is_file || file.is_link)) || by_content) {
      images.push_back(content.prefix + file.name);
    } else if (is_file && unread != nullptr) {
      unread->add_if_image((fs::path(content.path) / file.name).string());
    }
  }
}

}  // namespace

std::vector<std::string> list_folders(const std::string& folder) {
  FolderContent content = read_folder(folder);
  require_listed(content);
  std::erase_if(content.folders, is_system_folder);
  return std::move(content.folders);
}

std::vector<std::string> list_images(const std::string& folder, const std::string& root, UnreadImages* unread) {
  std::vector<std::string> images;
  walk_folders({folder, root}, [&](const FolderContent& content) { collect(content, images, unread); });
  std::sort(images.begin(), images.end());
  return images;
}

std::vector<std::string> list_images_directly_in(const std::string& folder, UnreadImages* unread) {
  std::vector<std::string> images;
  collect(read_folder(folder), images, unread);
  std::sort(images.begin(), images.end());
  return images;
}

std::vector<std::string> list_unread_images(const std::string& root) {
  std::vector<std::string> unread;
  walk_folders({root, root}, [&](const FolderContent& content) {
    if (is_in_system_folder(content.prefix)) return;
    require_listed(content);
    for (const FolderFile& file : content.files) {
      const bool is_file = file.type == fs::file_type::regular;
      if (is_file && has_unread_image_extension(file.name)) unread.push_back(content.prefix + file.name);
    }
  });
  std::sort(unread.begin(), unread.end());
  return unread;
}

namespace {

struct PassedOver {
  std::map<std::string, int64_t> folders;  // with images in them, by name
  int64_t images = 0, files = 0;           // below those folders, and hidden ones beside the images
  std::string first;

  void add_first(const std::string& path) {
    if (first.empty() || path < first) first = path;
  }
};

int64_t images_at_any_depth(const fs::path& folder) {
  std::error_code failure;
  int64_t images = 0;
  const fs::recursive_directory_iterator end;
  for (fs::recursive_directory_iterator next(folder, failure); !failure && next != end; next.increment(failure)) {
    std::error_code of_type;
    if (has_image_extension(next->path().filename().string()) && !next->is_directory(of_type)) ++images;
  }
  return images;
}

void look_for_passed_over(const FolderContent& content, PassedOver& found) {
  if (is_in_system_folder(content.prefix)) return;
  std::error_code failure, of_type;
  const fs::directory_iterator end;
  for (fs::directory_iterator next(content.path, failure); !failure && next != end; next.increment(failure)) {
    const std::string name = next->path().filename().string();
    const bool is_hidden = name.starts_with('.');
    if (!is_hidden && !is_system_folder(name)) continue;
    if (next->is_directory(of_type)) {
      const int64_t images = images_at_any_depth(next->path());
      if (images == 0) continue;
      found.images += images;
      ++found.folders[name];
    } else if (is_hidden && has_image_extension(name)) {
      ++found.files;
    } else {
      continue;
    }
    found.add_first(content.prefix + name);
  }
}

}  // namespace

std::string remark_on_passed_over(const std::string& folder, const std::string& root) {
  PassedOver found;
  walk_folders({folder, root}, [&](const FolderContent& content) { look_for_passed_over(content, found); });
  if (found.first.empty()) return "";
  std::vector<std::string> parts;
  if (!found.folders.empty()) {
    int64_t folders = 0;
    std::string names;
    for (const auto& [name, count] : found.folders) {
      folders += count;
      names += fmt::format("{}{} {}", names.empty() ? "" : ", ", name, count);
    }
    parts.push_back(fmt::format("{} hidden or system folder{} ({}) with {} image{}", folders, folders == 1 ? "" : "s", names, found.images,
                                found.images == 1 ? "" : "s"));
  }
  if (found.files > 0) parts.push_back(fmt::format("{} hidden image file{}", found.files, found.files == 1 ? "" : "s"));
  return without_control_characters(
      fmt::format("folder {}: {} passed over (first: {}); rename what belongs to the set", folder, fmt::join(parts, " and "), found.first));
}

}  // namespace debias
