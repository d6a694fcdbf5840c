// The splits that data sets of two fixed parts have.
#pragma once

#include "debias/core/enum_names.h"

namespace debias {

enum class Split { kTrain, kTest, kHeldOut };

constexpr auto enum_words(Split) { return named("train", "test", "held_out"); }

}  // namespace debias
