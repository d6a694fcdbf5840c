// Metrics as the command shows them.
#pragma once

#include <memory>
#include <string>

#include "debias/report/metric_title.h"

namespace debias {

// Of all that describe their metrics: protocols, training and its methods, agents.
std::shared_ptr<const MetricTitles> metric_titles();

// A metric's value in a table of the terminal: shares in percent, other numbers as they are, right-aligned.
std::string metric_text(const std::string& name, double value);

}  // namespace debias
