// Resolves links of paths, tests if two paths are one file, and if one is in a folder, whatever they are called.
#pragma once

#include <string>

namespace debias {

// `path`, absolute and without links, dots and a last slash. If the path does not exist, the links in its existing part are followed.
std::string real_path(const std::string& path);

// True if `path` is the folder or is in it, by whatever links. Neither needs to exist.
bool lies_in(const std::string& path, const std::string& folder);

}  // namespace debias
