// A metric as a person reads it.
#pragma once

#include <string>

namespace debias {

// Fractions in percent, told by their names (acc, auc, rate, difference, share); other numbers as they are.
bool is_fraction(const std::string& name);
std::string metric_text(const std::string& name, double value);

}  // namespace debias
