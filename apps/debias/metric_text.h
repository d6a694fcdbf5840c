// A metric's value in a table of the terminal.
#pragma once

#include <string>

namespace debias {

// Fractions in percent (see debias/report/metric_title.h), other numbers as they are, right-aligned.
std::string metric_text(const std::string& name, double value);

}  // namespace debias
