#include "debias/data/split_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace debias {

std::string in_lower_case(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

bool names_a_split(const std::string& name) {
  constexpr std::array<std::string_view, 9> kSplits = {"train", "training", "test", "testing", "val", "valid", "validation", "dev", "eval"};
  return std::find(kSplits.begin(), kSplits.end(), in_lower_case(name)) != kSplits.end();
}

}  // namespace debias
