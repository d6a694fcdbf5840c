// The home folder in paths that no shell has seen.
#pragma once

#include <string>

namespace debias {

// A path that begins with ~ where no shell has seen it (`output: ~/runs/a`, `--out=~/a.npy`): ~ and ~/ are the home folder. A usage error
// for ~USER, and where there is no $HOME.
std::string with_home(const std::string& path);

}  // namespace debias
