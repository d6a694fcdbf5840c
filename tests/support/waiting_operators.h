// Operators whose result, or its size, the host must know: on a device it waits for them.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace debias {

inline bool is_waited_for(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames = {"aten::_local_scalar_dense", "aten::nonzero", "aten::_unique",  "aten::_unique2",
                                                      "aten::unique_dim",          "aten::equal",   "aten::bincount", "aten::masked_select",
                                                      "aten::unique_consecutive"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace debias
