#include "debias/data/folder_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "debias/core/error.h"
#include "debias/core/paths.h"
#include "debias/data/readers/image_folder.h"
#include "debias/data/readers/image_listing.h"
#include "debias/data/shown_names.h"
#include "debias/data/split_names.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> kTrain = {"train", "training"};
constexpr std::array<std::string_view, 4> kValid = {"valid", "val", "validation", "dev"};
constexpr std::array<std::string_view, 4> kTest = {"test", "testing", "eval", "evaluation"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<BadFile> files_not_read(const std::string& root) {
  std::vector<BadFile> files;
  for (const std::string& path : list_unread_images(root)) {
    files.push_back({path, fmt::format("looks like an image, but {} files are not read", fs::path(path).extension().string())});
  }
  return files;
}

void set_once(const std::string& root, const std::string& name, std::string& split) {
  if (!split.empty()) throw FileError(root, fmt::format("the folders {} and {} are the same split; keep one", split, name));
  split = name;
}

[[noreturn]] void refuse_empty(const std::string& root, const std::vector<BadFile>& not_read) {
  const std::string other = not_read.empty() ? "" : fmt::format("; {} of other kinds: {}", not_read.size(), not_read[0].path);
  throw FileError(root, fmt::format("has no readable image{}", other));
}

}  // namespace

FolderLayout find_layout(const std::string& root) {
  std::error_code failure;
  if (!fs::is_directory(root, failure)) {
    throw FileError(root, fs::exists(root, failure) ? "is a file; give the folder of the images" : "no such folder" + start_of(root));
  }
  FolderLayout layout;
  layout.not_read = files_not_read(root);
  std::vector<std::string> others;
  for (const std::string& name : list_folders(root)) {
    if (list_images((fs::path(root) / name).string(), root).empty()) continue;
    const std::string plain = in_lower_case(name);
    if (is_one_of(kTrain, plain)) {
      set_once(root, name, layout.train);
    } else if (is_one_of(kValid, plain)) {
      set_once(root, name, layout.valid);
    } else if (is_one_of(kTest, plain)) {
      set_once(root, name, layout.test);
    } else {
      others.push_back(name);
    }
  }
  const size_t loose = list_images_directly_in(root).size();
  const bool has_splits = !layout.train.empty();
  const bool has_evaluated = !layout.valid.empty() || !layout.test.empty();
  if (others.empty() && !has_splits && !has_evaluated && loose == 0) refuse_empty(root, layout.not_read);
  if (!has_splits && has_evaluated && others.empty()) {
    throw FileError(root, fmt::format("has {}, but no folder `train` to train on", shown_names(list_folders(root), 5)));
  }
  if (!has_splits) {
    for (std::string* name : {&layout.valid, &layout.test}) {
      if (!name->empty()) layout.remarks.push_back(fmt::format("the folder {} is read as a class: there is no folder `train`", *name));
      name->clear();
    }
  }
  if (has_splits && !others.empty()) {
    layout.remarks.push_back(fmt::format("{} folders beside {} are ignored: {}", others.size(), layout.train, shown_names(others, 5)));
  }
  if (loose > 0 && (has_splits || !others.empty())) {
    layout.remarks.push_back(fmt::format("{} images directly in {} are in no folder and are ignored", loose, root));
  }
  if (std::string passed_over = remark_on_passed_over(root, root); !passed_over.empty()) layout.remarks.push_back(std::move(passed_over));
  return layout;
}

std::unique_ptr<const Dataset> open_split(const std::string& root, const std::string& split, const Config& more) {
  auto options = options_from<ImageFolderOptions>(more, "image_folder");
  options.root = root;
  if (!split.empty()) options.split = split;
  return make_image_folder(options);
}

}  // namespace debias
