// Resolution at which JPEG images are decoded for views that begin with a random_resized_crop.
#pragma once

#include "debias/core/enum_names.h"

namespace debias {

// kExact: all of it. kScaled: decoded at 1/2, 1/4 or 1/8 of its size by libjpeg's scaled inverse DCT where every view's crop still has the
// size of the view, which is quicker and gives other pixels.
enum class Decode { kExact, kScaled };
constexpr auto enum_words(Decode) { return named("exact", "scaled"); }

}  // namespace debias
