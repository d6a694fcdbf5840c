// "did you mean": the valid name nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace debias {

// The candidate with the least edit distance, or "" when none is within a third of the longer length (at least 2).
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean 'x'?" or, with no near name, "; known: a, b, c", the first ten and ", ..." where there are more.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace debias
