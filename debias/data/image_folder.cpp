#include "debias/data/image_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "debias/data/class_selection.h"
#include "debias/data/file_bytes.h"
#include "debias/data/file_error.h"
#include "debias/data/image_files.h"
#include "debias/data/image_listing.h"
#include "debias/data/label_join.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct Listing {
  std::vector<std::string> class_names;
  std::vector<ImageFile> files;
  UnreadImages unread;
  std::vector<std::string> remarks;
};

std::string shown(const std::vector<std::string>& names) {
  constexpr size_t kShown = 10;
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size()));
  return fmt::format("{}{}", fmt::join(names.begin(), end, ", "), names.size() > kShown ? ", ..." : "");
}

// "train/" or "", the part of the root that holds the split.
std::string split_prefix(const std::string& root, const std::string& split) {
  if (split.empty() || split == "." || split == ".." || split.find('/') != std::string::npos) {
    throw usage_error("data set 'image_folder': split: expected the name of a folder in the root, found '{}'", split);
  }
  std::error_code failure;
  if (fs::is_directory(fs::path(root) / split, failure)) return split + "/";
  if (split == "train") return "";
  const std::vector<std::string> folders = list_folders(root);
  throw FileError((fs::path(root) / split).string(), fmt::format("data set 'image_folder': no such folder for split {}; the root holds {}",
                                                                 split, folders.empty() ? "none" : shown(folders)));
}

void add_class(const std::string& root, const std::string& class_path, int64_t label, Listing& listing) {
  const std::string full = (fs::path(root) / class_path).string();
  const std::vector<std::string> images = list_images(full, root, &listing.unread);
  if (images.empty()) throw FileError(full, "is a class folder without images that can be read" + listing.unread.after_refusal());
  for (const std::string& image : images) listing.files.push_back({class_path + "/" + image, label, kUnknown});
}

std::vector<std::string> lacking_classes(const Listing& listing) {
  std::set<int64_t> seen;
  for (const ImageFile& file : listing.files) seen.insert(file.label);
  std::vector<std::string> lacking;
  for (size_t label = 0; label < listing.class_names.size(); ++label) {
    if (seen.count(static_cast<int64_t>(label)) == 0) lacking.push_back(listing.class_names[label]);
  }
  return lacking;
}

Listing list_selected(const std::string& root, const std::string& prefix, const std::string& choice) {
  const ClassSelection selection = read_class_selection(choice);
  const std::string folder = (fs::path(root) / prefix).string();
  Listing listing;
  listing.class_names = selection.class_names;
  for (const std::string& name : list_folders(folder)) {
    const auto found = selection.label_of.find(name);
    if (found != selection.label_of.end()) add_class(root, prefix + name, found->second, listing);
  }
  std::stable_sort(listing.files.begin(), listing.files.end(), [](const ImageFile& a, const ImageFile& b) { return a.label < b.label; });
  if (listing.files.empty()) throw FileError(folder, fmt::format("holds no folder of any class (classes: {})", choice));
  const std::vector<std::string> lacking = lacking_classes(listing);
  if (!lacking.empty()) {
    listing.remarks.push_back(without_control_characters(
        fmt::format("{}: holds no folder of {} (classes: {}); the other classes keep their numbers", folder, shown(lacking), choice)));
  }
  return listing;
}

Listing list_files(const std::string& root, const std::string& prefix) {
  const std::string folder = (fs::path(root) / prefix).string();
  Listing listing;
  listing.class_names = list_folders(folder);
  for (size_t label = 0; label < listing.class_names.size(); ++label) {
    add_class(root, prefix + listing.class_names[label], static_cast<int64_t>(label), listing);
  }
  if (!listing.class_names.empty()) return listing;
  for (const std::string& image : list_images_directly_in(folder, &listing.unread))
    listing.files.push_back({prefix + image, kUnknown, kUnknown});
  if (listing.files.empty()) {
    throw FileError(folder, "holds neither class folders nor images that can be read" + listing.unread.after_refusal());
  }
  return listing;
}

std::unique_ptr<Dataset> read_folder(const ImageFolderOptions& options, const std::string& split) {
  require_root(options.root(), "data set 'image_folder'", "one folder of images per class");
  const std::string prefix = split_prefix(options.root(), split);
  Listing listing =
      options.classes().empty() ? list_files(options.root(), prefix) : list_selected(options.root(), prefix, options.classes());
  DatasetInfo info;
  info.name = "image_folder";
  info.split = split;
  info.class_names = std::move(listing.class_names);
  info.remarks = std::move(listing.remarks);
  info.mean = {0.485, 0.456, 0.406};
  info.std = {0.229, 0.224, 0.225};
  if (!listing.unread.empty()) info.remarks.push_back(listing.unread.remark((fs::path(options.root()) / prefix).parent_path().string()));
  if (!options.labels().file().empty()) {
    join_labels({options.root(), prefix, options.labels().file()}, read_label_file(options.labels()), listing.files, info);
  }
  const auto exif = options.exif_orientation() ? ExifOrientation::kApplied : ExifOrientation::kIgnored;
  return std::make_unique<ImageFiles>(std::move(info), options.root(), std::move(listing.files), exif);
}

}  // namespace

const OptionTable<ImageFolderOptions>& ImageFolderOptions::table() {
  static const auto table =
      OptionTable<ImageFolderOptions>()
          .add("root", &ImageFolderOptions::root_, "folder that holds class folders, or a folder of them per split")
          .add("split", &ImageFolderOptions::split_, "which folder of the root; train is the root itself where there is none")
          .add("labels", &ImageFolderOptions::labels_,
               "CSV with columns path, label and bias, or a map {file, path, label, bias} that names them")
          .add("classes", &ImageFolderOptions::classes_, "imagenet9, imagenet100 or a file of lines CLASS: FOLDER ...; all where empty")
          .add("exif_orientation", &ImageFolderOptions::exif_orientation_, "turn photographs as their camera noted; torchvision does not")
          .include(HoldOutOptions::table());
  return table;
}

std::unique_ptr<Dataset> make_image_folder(const ImageFolderOptions& options) {
  const bool held_out = options.split() == "held_out";
  std::unique_ptr<Dataset> images = read_folder(options, held_out ? "train" : options.split());
  if (!held_out && options.split() != "train") return images;
  return take_hold_out_part(std::move(images), options, held_out ? HoldOutPart::kHeldOut : HoldOutPart::kKept);
}

std::unique_ptr<Dataset> image_folder_from_config(const Config& section) {
  return make_image_folder(ImageFolderOptions::table().read(section, "data set 'image_folder'", {"name"}));
}

}  // namespace debias
