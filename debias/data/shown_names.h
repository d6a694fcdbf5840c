// Names in a message, the first of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace debias {

// "cat, dog, ..." where there are more than `most`.
std::string shown_names(const std::vector<std::string>& names, size_t most = 10);

}  // namespace debias
