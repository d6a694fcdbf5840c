// Durations as a clock shows them.
#pragma once

#include <string>

namespace debias {

std::string clock_text(double seconds);  // "0:07", "12:30", "1:02:03"; rounded, and 0:00 for what is negative or not finite

}  // namespace debias
