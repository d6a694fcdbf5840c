// Note on all verdicts of a report together.
#pragma once

#include <string>
#include <vector>

#include "debias/report/sections/report_sections.h"
#include "debias/report/sections/verdict.h"

namespace debias {

// Whole sentences on the number of comparisons and on seeds that share one draw of the data; "" where there is nothing to say.
std::string verdict_note(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons);

}  // namespace debias
