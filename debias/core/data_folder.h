// Data folders are read and never written into, because written files would count as data the next time.
#pragma once

#include <string>
#include <vector>

namespace debias {

// Throws a usage error if `path` is inside one of the data folders, by whatever links; `what` says what would be written there.
// An empty path or folder is absent.
void refuse_inside_data(const std::string& path, const std::vector<std::string>& data_roots, const std::string& what = "output");

// The same of a run that is there already and is to be gone on with or evaluated: it has to be moved, since no other can be chosen.
void refuse_run_inside_data(const std::string& folder, const std::vector<std::string>& data_roots);

}  // namespace debias
