// The one style sheet of pages and charts: light and dark, from 390 pixels up, and for print.
//
// Series colours --s0 to --s9 differ by at least 20 in CIELAB (the first five by 35), also as protanopia, deuteranopia and tritanopia show
// them, and have a contrast of 3:1 or more to the ground.
#pragma once

#include <string_view>

namespace debias {

std::string_view style_sheet();

}  // namespace debias
