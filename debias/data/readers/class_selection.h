// Some of an image folder's classes, or groups of its folders as classes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace debias {

struct ClassSelection {
  std::vector<std::string> class_names;
  std::map<std::string, int64_t> label_of;  // by the folder's name
};

// `imagenet9`: 42 folders of ImageNet as nine classes, dog cat frog turtle bird monkey fish crab insect (Bahng et al. 2020).
// `imagenet100`: a hundred folders of ImageNet (Tian et al. 2020).
// `cifar4`: cat, dog, ship and truck of CIFAR-10.
// Anything else is a file: a line `CLASS: FOLDER FOLDER ...` makes one class of several folders, a line without a colon names folders that
// are classes of their own; `#` begins a comment. Labels are in the order of the file. FileError where it cannot be read, names no class,
// or names a folder or a class twice.
ClassSelection read_class_selection(const std::string& choice);

}  // namespace debias
