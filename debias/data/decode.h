// How an image of a data set is read: at which resolution, and what happens where it cannot be.
#pragma once

#include "debias/core/enum_names.h"

namespace debias {

// Resolution at which JPEG images are decoded for views that begin with a random_resized_crop.

// kExact: all of it. kScaled: decoded at 1/2, 1/4 or 1/8 of its size by libjpeg's scaled inverse DCT where every view's crop still has the
// size of the view, which is quicker and gives other pixels.
enum class Decode { kExact, kScaled };
constexpr auto enum_words(Decode) { return named("exact", "scaled"); }

// Policy for a sample that cannot be read: it ends the run, or another of the data set replaces it.
enum class OnError { kStop, kSubstitute };
constexpr auto enum_words(OnError) { return named("stop", "substitute"); }

}  // namespace debias
