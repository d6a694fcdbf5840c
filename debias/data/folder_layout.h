// Detects the layout of a folder of images before its options are known: which of its folders are splits, what else it contains.
//
// A folder that holds `train` (or `training`) has splits: also `valid` (`val`, `validation`, `dev`) and `test` (`testing`, `eval`,
// `evaluation`), in any case of letters. Any other folder is one set of images, in class folders or not. Folders without images and
// what the reader ignores (readers/image_listing.h) do not count.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "debias/core/config.h"
#include "debias/data/data_check.h"
#include "debias/data/dataset.h"

namespace debias {

struct FolderLayout {
  std::string train;                 // name of the folder; empty: the root itself
  std::string valid, test;           // empty where there is none
  std::vector<BadFile> not_read;     // files that look like images by their names, of kinds that are not read; by path, from the root
  std::vector<std::string> remarks;  // one line each: images and folders that no set has
};

// Throws a data error that names the contents: no folder, no readable image, two folders that are the same split, splits without one
// to train on.
FolderLayout find_layout(const std::string& root);

// The images of one of its splits, or of the root itself if `split` is empty; `more` has further options of image_folder. Data errors of
// image_folder.
std::unique_ptr<const Dataset> open_split(const std::string& root, const std::string& split, const Config& more = Config::map());

}  // namespace debias
