// Durations as a clock shows them.
#pragma once

#include <string>

namespace debias {

std::string clock_text(double seconds);  // "0:07", "12:30", "1:02:03"; rounded; 0:00 for negative and non-finite times

}  // namespace debias
