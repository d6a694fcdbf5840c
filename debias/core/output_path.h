// Checks where results may be written.
#pragma once

#include <string>
#include <vector>

#include "debias/core/config.h"

namespace debias {

// Usage errors, `what` in front: an output that is one of the inputs, by its path or as the same file under another, and one path for two
// outputs. Empty paths are absent.
void refuse_overwriting(const std::string& what, const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

// Throws a resource error if the folder of `path`, which is to be written, does not exist. An empty path is absent.
void require_folder_of(const std::string& path);

// Throws a usage error if one of the inputs is in the run folder that --overwrite empties.
void refuse_emptying(const std::string& folder, const std::vector<std::string>& inputs);

// The files that a section or a recipe reads: whatever it says, at any depth, that is the path of a file.
std::vector<std::string> files_named_in(const Config& section);

}  // namespace debias
