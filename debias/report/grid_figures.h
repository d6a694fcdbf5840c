// A sweep's metric over each of its grid's keys, and against minutes of training, with what is published beside it.
#pragma once

#include "debias/report/curve_figures.h"
#include "debias/report/seed_table.h"

namespace debias {

// For every key with three or more numbers as values: a line for each variant and point of the other keys, in the band of its interval, and
// a dashed one for the published numbers. Then, where three settings or more took different times, the metric against minutes.
Figures grid_figures(const SeedTable& table);

}  // namespace debias
