// The pairs of a file of marks (pair_marks.h), each once.
#pragma once

#include <string>
#include <vector>

#include "debias/data/readers/pair_marks.h"

namespace debias {

// In the order of the file. A pair of one kind that is named again, in either direction, is left out; a skipped one gives way to an
// answered one. The directions of a leak are different pairs, because its names are of two splits. FileErrors of read_pair_marks, and one
// that names the lines of a pair that is marked same and different.
std::vector<MarkedPair> distinct_marks(const std::string& path);

}  // namespace debias
