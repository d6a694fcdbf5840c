#include "debias/data/readers/named_images.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/data/readers/image_files.h"
#include "debias/data/readers/image_listing.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

bool is_count(std::string_view text, int64_t* value) { return parse_integer(text, value) && *value >= 0; }

int64_t checked_class(const std::string& path, const char* what, int64_t value, size_t classes) {
  if (value < static_cast<int64_t>(classes)) return value;
  throw FileError(path, fmt::format("{} {} in its name; expected 0 to {}", what, value, static_cast<int64_t>(classes) - 1));
}

// "align/3/17_3_5.png"; the id stays kUnknown unless the first field is a number.
ImageFile file_of(const std::string& root, const std::string& path, const DatasetInfo& info) {
  const std::string full = (fs::path(root) / path).string();
  const std::string stem = fs::path(path).stem().string();
  const size_t before_bias = stem.rfind('_');
  const size_t before_target = before_bias == std::string::npos || before_bias == 0 ? std::string::npos : stem.rfind('_', before_bias - 1);
  ImageFile file;
  file.path = path;
  if (before_target == std::string::npos || !is_count(stem.substr(before_bias + 1), &file.bias) ||
      !is_count(stem.substr(before_target + 1, before_bias - before_target - 1), &file.label)) {
    throw FileError(full, "the name does not end in _<target>_<bias>, two numbers");
  }
  checked_class(full, "target", file.label, info.class_names.size());
  checked_class(full, "bias", file.bias, info.bias_names.size());
  if (!is_count(stem.substr(0, before_target), &file.id)) file.id = kUnknown;
  return file;
}

void order_by_id(std::vector<ImageFile>& files) {
  std::set<int64_t> ids;
  for (const ImageFile& file : files) {
    if (file.id == kUnknown || !ids.insert(file.id).second) {
      for (ImageFile& each : files) each.id = kUnknown;
      return;
    }
  }
  std::sort(files.begin(), files.end(), [](const ImageFile& a, const ImageFile& b) { return a.id < b.id; });
}

const std::vector<std::string>& folders_of(const SplitFolders& folders, FolderSplit split) {
  if (split == FolderSplit::kValid) return folders.valid;
  return split == FolderSplit::kTest ? folders.test : folders.train;
}

}  // namespace

std::unique_ptr<Dataset> read_named_images(DatasetInfo info, const std::string& root, const SplitFolders& folders, FolderSplit split,
                                           const HoldOutOptions& hold_out) {
  const std::string what = fmt::format("data set '{}'", info.name);
  const std::vector<std::string>& parts = folders_of(folders, split);
  require_root(root, what, fmt::format("{} of files <id>_<target>_<bias>.png", fmt::join(parts, ", ")));
  info.split = enum_name(split == FolderSplit::kHeldOut ? FolderSplit::kTrain : split);
  std::vector<ImageFile> files;
  for (const std::string& part : parts) {
    const std::string folder = (fs::path(root) / part).string();
    std::error_code failure;
    if (!fs::is_directory(folder, failure)) {
      throw FileError(folder, fmt::format("{}: no such folder; split {} is read from {}", what, enum_name(split), fmt::join(parts, ", ")));
    }
    for (const std::string& image : list_images(folder, root)) files.push_back(file_of(root, part + "/" + image, info));
  }
  if (files.empty()) {
    throw FileError((fs::path(root) / parts.front()).string(), fmt::format("{}: no image file below it", what));
  }
  order_by_id(files);
  auto images = std::make_unique<ImageFiles>(std::move(info), root, std::move(files));
  if (split == FolderSplit::kTrain) return take_hold_out_part(std::move(images), hold_out, HoldOutPart::kKept);
  if (split == FolderSplit::kHeldOut) return take_hold_out_part(std::move(images), hold_out, HoldOutPart::kHeldOut);
  return images;
}

}  // namespace debias
