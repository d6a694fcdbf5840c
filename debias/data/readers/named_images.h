// Folders of images whose file names carry label and bias: <id>_<target>_<bias>.png.
//
// The layout in which Lee et al. ("Learning debiased representation via disentangled feature augmentation", 2021) publish their data
// sets: the training images in align/ and conflict/, split by whether target and bias agree, and folders valid/ and test/. Label and
// bias are the last two fields of the name, whatever is before them; subfolders carry no meaning. Extensions .jpg .jpeg .png.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "debias/data/dataset.h"
#include "debias/data/hold_out.h"

namespace debias {

enum class FolderSplit { kTrain, kTest, kValid, kHeldOut };

constexpr auto enum_words(FolderSplit) { return named("train", "test", "valid", "held_out"); }

// Folders of the images of each split, relative to the root; every folder named must exist.
struct SplitFolders {
  std::vector<std::string> train = {"align", "conflict"};
  std::vector<std::string> valid = {"valid"};
  std::vector<std::string> test = {"test"};
};

// The images of one split. info.name, class_names and bias_names must be set; info.split is set here.
//
// If the first field of every name is a number of its own, it is the image's id and the images come in its order; otherwise the ids
// are 0, 1, ... in the order of the folders and, within each, of the paths. Train and held_out are parts of train (hold_out.h).
// A data error naming the path: a missing folder, no images, a name without two numbers at its end, a target or bias beyond the names.
std::unique_ptr<Dataset> read_named_images(DatasetInfo info, const std::string& root, const SplitFolders& folders, FolderSplit split,
                                           const HoldOutOptions& hold_out);

}  // namespace debias
