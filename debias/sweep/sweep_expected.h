// The section `expected` of a sweep file: published numbers of its runs.
#pragma once

#include "debias/core/config.h"
#include "debias/sweep/sweep_parts.h"

namespace debias {

// Into `parts`, whose variants, grid and published metric have been read. Usage errors as of read_sweep().
void read_expected(const Config* node, SweepParts& parts);

}  // namespace debias
