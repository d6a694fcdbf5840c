#pragma once

#include "debias/report/charts/curve_figures.h"
#include "debias/report/tables/seed_table.h"

namespace debias {

// A sweep's metric over each key of its grid and each of its axes, against training time and over the epochs, with what is published
// beside it.

// For every key whose values are three or more numbers (two, where something is published), and every axis of variants: a line
// for each variant and point of the other keys, or for each line of the axis and point of the grid, in the band of its interval, and a
// dashed one for the published numbers. Then, where three settings or more took different times (two, where minutes are published), the
// metric against minutes; and over the epochs, where a number is published of one.
Figures grid_figures(const SeedTable& table);

}  // namespace debias
