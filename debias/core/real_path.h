// Paths without links: whether two are of one file, and whether one lies in a folder, whatever they are called.
#pragma once

#include <string>

namespace debias {

// `path`, absolute and without links, dots and a last slash. Of what is not there, the links in the part that is there are followed.
std::string real_path(const std::string& path);

// Whether `path` is the folder or lies in it, by whatever links. Neither need be there.
bool lies_in(const std::string& path, const std::string& folder);

}  // namespace debias
