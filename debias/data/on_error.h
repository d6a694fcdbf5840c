// Policy for a sample that cannot be read: it ends the run, or another of the data set replaces it.
#pragma once

#include "debias/core/enum_names.h"

namespace debias {

enum class OnError { kStop, kSubstitute };
constexpr auto enum_words(OnError) { return named("stop", "substitute"); }

}  // namespace debias
