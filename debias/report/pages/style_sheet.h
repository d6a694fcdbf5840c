// The one style sheet of pages and charts: light and dark, from 390 pixels up, and for print.
//
// Series colours --s0 to --s9 differ by at least 20 in CIELAB (the first five by 35), also as protanopia, deuteranopia and tritanopia show
// them, and stand out from the ground by 3:1 or more.
#pragma once

#include <string_view>

namespace debias {

std::string_view style_sheet();

}  // namespace debias
