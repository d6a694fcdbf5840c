// Policy for a sample that cannot be read: it ends the run, or another of the data set replaces it.
#pragma once

#include "debias/core/options.h"

namespace debias {

enum class OnError { kStop, kSubstitute };
template <>
struct EnumNames<OnError> {
  static constexpr std::array<std::pair<std::string_view, OnError>, 2> values = {
      {{"stop", OnError::kStop}, {"substitute", OnError::kSubstitute}}};
};

}  // namespace debias
