// A time in a result.
#pragma once

#include <string>

namespace debias {

std::string duration_text(double seconds);  // "1.2 s", "3.4 min", "5.6 h"

}  // namespace debias
