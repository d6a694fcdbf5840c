#include "debias/data/readers/image_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/normal_form.h"
#include "debias/core/paths.h"
#include "debias/data/readers/class_selection.h"
#include "debias/data/readers/clear_images.h"
#include "debias/data/readers/image_files.h"
#include "debias/data/readers/image_listing.h"
#include "debias/data/readers/label_join.h"
#include "debias/data/shown_names.h"
#include "debias/data/split_names.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

struct Listing {
  std::vector<std::string> class_names;
  std::vector<ImageFile> files;
  std::vector<std::string> beside;  // paths of images outside the class folders
  std::vector<std::string> empty;   // class folders without images
  UnreadImages unread;
  std::vector<std::string> remarks;
};

// "train/" or "", the part of the root that holds the split.
std::string split_prefix(const std::string& root, const std::string& split) {
  if (split.empty() || split == "." || split == ".." || split.find('/') != std::string::npos) {
    throw usage_error("data set 'image_folder': split: expected the name of a folder in the root, found '{}'", split);
  }
  std::error_code failure;
  if (fs::is_directory(fs::path(root) / split, failure)) return split + "/";
  if (split == "train") return "";
  const std::vector<std::string> folders = list_folders(root);
  throw FileError((fs::path(root) / split).string(), fmt::format("data set 'image_folder': no such folder for split {}; the root has {}",
                                                                 split, folders.empty() ? "none" : shown_names(folders)));
}

// False where the folder holds no image, or is a link to the folder of all classes or one above it.
bool add_class(const std::string& root, const std::string& prefix, const std::string& name, int64_t label, Listing& listing) {
  const fs::path classes = fs::path(root) / prefix;
  const std::string full = (classes / name).string();
  const bool is_loop = lies_in(classes.string(), full);
  const std::vector<std::string> images = is_loop ? std::vector<std::string>() : list_images(full, root, &listing.unread);
  for (const std::string& image : images) listing.files.push_back({prefix + name + "/" + image, label, kUnknown});
  if (images.empty()) listing.empty.push_back(name);
  return !images.empty();
}

// Train/ and Test/ are not two classes.
void refuse_splits(const std::string& root, const std::vector<std::string>& names) {
  if (names.empty() || !std::all_of(names.begin(), names.end(), names_a_split)) return;
  const auto train =
      std::find_if(names.begin(), names.end(), [](const std::string& name) { return in_lower_case(name).starts_with("train"); });
  throw FileError(root,
                  fmt::format("data set 'image_folder': has no folder train, and its folders are named as splits, not as classes ({}); "
                              "set split={}, or rename that folder train",
                              shown_names(names), train == names.end() ? names.front() : *train));
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
    if (found != selection.label_of.end()) add_class(root, prefix, name, found->second, listing);
  }
  std::stable_sort(listing.files.begin(), listing.files.end(), [](const ImageFile& a, const ImageFile& b) { return a.label < b.label; });
  if (listing.files.empty()) {
    throw FileError(folder, fmt::format("has no folder with images of any class (classes: {}){}", choice, listing.unread.after_refusal()));
  }
  const std::vector<std::string> lacking = lacking_classes(listing);
  if (!lacking.empty()) {
    listing.remarks.push_back(without_control_characters(
        fmt::format("{}: has no images of {} (classes: {}); the other classes keep their numbers", folder, shown_names(lacking), choice)));
  }
  return listing;
}

Listing list_files(const std::string& root, const std::string& prefix) {
  const std::string folder = (fs::path(root) / prefix).string();
  Listing listing;
  for (const std::string& name : list_folders(folder)) {
    const auto same =
        std::ranges::find(listing.class_names, normal_form(in_utf8(name)), [](const std::string& known) { return normal_form(known); });
    const bool is_new = same == listing.class_names.end();
    if (!add_class(root, prefix, name, same - listing.class_names.begin(), listing)) continue;
    if (is_new) {
      listing.class_names.push_back(in_utf8(name));
    } else {
      listing.remarks.push_back(
          fmt::format("folder {}: two folders are called '{}', in two Unicode forms; they are one class", folder, *same));
    }
  }
  std::ranges::stable_sort(listing.files, {}, &ImageFile::label);
  if (prefix.empty()) refuse_splits(root, listing.class_names);
  if (!listing.class_names.empty()) return listing;
  for (const std::string& image : list_images_directly_in(folder, &listing.unread))
    listing.files.push_back({prefix + image, kUnknown, kUnknown});
  if (listing.files.empty()) {
    throw FileError(folder, "has neither class folders with readable images nor readable images" + listing.unread.after_refusal());
  }
  return listing;
}

void remark_on_what_is_left_out(const std::string& folder, Listing& listing) {
  const auto remark = [&](const std::string& text) {
    listing.remarks.push_back(without_control_characters(fmt::format("folder {}: {}", folder, text)));
  };
  const size_t empty = listing.empty.size(), beside = listing.beside.size();
  if (empty > 0) {
    remark(fmt::format("{} without a readable image {} ignored ({})", empty == 1 ? "1 folder" : fmt::format("{} folders", empty),
                       empty == 1 ? "is" : "are", shown_names(listing.empty)));
  }
  if (beside > 0) {
    remark(fmt::format("{} outside the class folders {} not read ({})", beside == 1 ? "1 image" : fmt::format("{} images", beside),
                       beside == 1 ? "is" : "are", shown_names(listing.beside)));
  }
  if (!listing.unread.empty()) listing.remarks.push_back(listing.unread.remark(folder));
}

Listing list_split(const ImageFolderOptions& options, const std::string& prefix) {
  return options.classes.empty() ? list_files(options.root, prefix) : list_selected(options.root, prefix, options.classes);
}

// Its training images with 16 bits, where the split has a folder of its own and another folder has them.
std::vector<std::string> deep_training_images(const ImageFolderOptions& options, const std::string& prefix) {
  if (prefix.empty()) return {};
  for (const std::string& name : list_folders(options.root)) {
    if (!in_lower_case(name).starts_with("train") || !names_a_split(name) || name + "/" == prefix) continue;
    try {
      return look_at_files(options.root, list_split(options, name + "/").files).deep;
    } catch (const FileError&) {  // of no use for training either
    }
  }
  return {};
}

SampleBits bits_by_images(const ImageFolderOptions& options, const std::string& prefix, const std::vector<std::string>& deep) {
  if (deep.empty() || options.window || options.bits != SampleBits::kAuto) return options.bits;
  const std::vector<std::string> training = deep_training_images(options, prefix);
  return needed_bits(largest_samples(options.root, training.empty() ? deep : training).largest);
}

std::string counted_images(int64_t count) { return count == 1 ? "1 image" : fmt::format("{} images", count); }

std::string shown_window(const std::pair<double, double>& window) { return fmt::format("window: [{}, {}]", window.first, window.second); }

std::string remark_on_deep(const std::string& root, const std::string& folder, const std::vector<std::string>& deep,
                           const SampleScale& scale) {
  const std::string start =
      fmt::format("folder {}: {} in 16 bits a sample (first: {})", folder, counted_images(std::ssize(deep)), deep.front());
  if (scale.window) return fmt::format("{}: read with {}", start, shown_window(*scale.window));
  const std::string rule = fmt::format("read with bits: {}", scale.bits);
  if (scale.bits == 16) return fmt::format("{}: {}; set bits or window: [low, high] to read them otherwise", start, rule);
  const LargestSamples found = largest_samples(root, deep, scale.bits);
  std::string text = fmt::format("{}, with values up to {}{}: {}; set bits or window: [low, high] to read them otherwise", start,
                                 found.largest, found.looked < std::ssize(deep) ? fmt::format(" in {} of them", found.looked) : "", rule);
  if (found.above > 0) {
    text += fmt::format("; {} with values above {}, which become white (first: {}, up to {}): bits: {} has room for them",
                        counted_images(found.above), (1 << scale.bits) - 1, found.first, found.first_largest,
                        enum_name(needed_bits(found.largest)));
  }
  return text;
}

std::string remark_on_lost(const std::string& folder, const std::vector<std::string>& clear, const LostContent& found) {
  const std::string looked = found.looked < std::ssize(clear) ? fmt::format(" (of {} looked at)", found.looked) : "";
  return fmt::format(
      "folder {}: {} of {} with transparency{} {} of one colour once it is dropped (first: {}), so that nothing is left to see; set "
      "transparency: {}",
      folder, found.lost, counted_images(std::ssize(clear)), looked, found.lost == 1 ? "is" : "are", found.first, enum_name(found.shows));
}

SampleScale scale_of(const ImageFolderOptions& options, const std::string& prefix, const std::string& folder,
                     const std::vector<std::string>& deep, std::vector<std::string>& notes) {
  SampleScale scale;
  if (options.window) {
    const std::vector<double>& window = *options.window;
    if (window.size() != 2 || !(window[0] < window[1])) {
      throw usage_error("data set 'image_folder': window: expected [low, high] with low below high, found [{}]", fmt::join(window, ", "));
    }
    scale.window = {window[0], window[1]};
  }
  if (deep.empty()) return scale;
  if (!scale.window) scale.bits = bits_of(bits_by_images(options, prefix, deep));
  notes.push_back(without_control_characters(remark_on_deep(options.root, folder, deep, scale)));
  return scale;
}

std::unique_ptr<Dataset> read_folder(const ImageFolderOptions& options, const std::string& split) {
  require_root(options.root, "data set 'image_folder'", "one folder of images per class");
  const std::string prefix = split_prefix(options.root, split);
  Listing listing = list_split(options, prefix);
  const std::string folder = prefix.empty() ? options.root : (fs::path(options.root) / split).string();
  if (!listing.class_names.empty()) {
    for (const std::string& image : list_images_directly_in(folder)) listing.beside.push_back(prefix + image);
  }
  remark_on_what_is_left_out(folder, listing);
  if (std::string passed_over = remark_on_passed_over(folder, options.root); !passed_over.empty()) {
    listing.remarks.push_back(std::move(passed_over));
  }
  ImageReading reading(options.exif_orientation ? ExifOrientation::kApplied : ExifOrientation::kIgnored);
  reading.transparency = options.transparency;
  const LookedFiles looked = look_at_files(options.root, listing.files);
  std::vector<std::string> pixel_notes;
  reading.scale = scale_of(options, prefix, folder, looked.deep, pixel_notes);
  if (!looked.more.empty()) {
    pixel_notes.push_back(without_control_characters(
        fmt::format("folder {}: {} with several frames or pages (first: {}): the first is read; store the others as files of their own if "
                    "they count",
                    folder, counted_images(std::ssize(looked.more)), looked.more.front())));
  }
  if (reading.transparency == Transparency::kDrop && !looked.clear.empty()) {
    const LostContent found = lost_content(options.root, looked.clear, reading);
    if (found.lost > 0) pixel_notes.push_back(without_control_characters(remark_on_lost(folder, looked.clear, found)));
  }
  std::ranges::copy(pixel_notes, std::back_inserter(listing.remarks));
  DatasetInfo info;
  info.name = "image_folder";
  info.split = split;
  info.class_names = std::move(listing.class_names);
  info.remarks = std::move(listing.remarks);
  info.mean = {0.485, 0.456, 0.406};
  info.std = {0.229, 0.224, 0.225};
  if (!options.labels.file.empty()) {
    std::vector<std::string> images;
    for (const ImageFile& file : listing.files) images.push_back(file.path);
    join_labels({options.root, prefix, options.labels.file, listing.beside}, read_label_file(options.labels, images), listing.files, info);
  }
  return std::make_unique<ImageFiles>(std::move(info), options.root, std::move(listing.files), reading, std::move(pixel_notes));
}

// The training part and the held-out part are opened in one process: their images are read once, as long as the files stay the same.
NearCopies copies_in(const ImageFolderOptions& options, const Dataset& train) {
  static std::mutex guard;
  static std::pair<std::string, NearCopies> latest;
  std::string files = fmt::format("{} {} {}\n", options.root, enum_name(options.transparency), enum_name(options.bits));
  for (int64_t i = 0; i < train.size(); ++i) {
    const fs::path file = fs::path(options.root) / train.source(i);
    std::error_code none;
    files +=
        fmt::format("{} {} {}\n", train.source(i), fs::file_size(file, none), fs::last_write_time(file, none).time_since_epoch().count());
  }
  const std::lock_guard lock(guard);
  if (latest.first != files) latest = {files, find_near_copies(train)};
  return latest.second;
}

}  // namespace

SampleBits settled_bits(const ImageFolderOptions& options) {
  if (options.bits != SampleBits::kAuto || options.window) return SampleBits::kAuto;
  const std::string prefix = split_prefix(options.root, options.split == "held_out" ? "train" : options.split);
  return bits_by_images(options, prefix, look_at_files(options.root, list_split(options, prefix).files).deep);
}

std::unique_ptr<Dataset> make_image_folder(const ImageFolderOptions& options) {
  const bool held_out = options.split == "held_out";
  std::unique_ptr<Dataset> images = read_folder(options, held_out ? "train" : options.split);
  if (!held_out && options.split != "train") return images;
  return take_hold_out_part(std::move(images), options.hold_out, held_out ? HoldOutPart::kHeldOut : HoldOutPart::kKept,
                            [&](const Dataset& train) { return copies_in(options, train); });
}

}  // namespace debias
