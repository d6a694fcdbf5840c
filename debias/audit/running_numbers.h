// Running numbers of files: whether they follow from the classes' sizes, or from their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace debias {

// Each class has its own count: all begin near the smallest number, and the numbers of each are uniform up to its largest
// (Kolmogorov-Smirnov test at 0.1 %). A number may occur several times, as that of an augmented image does, but in no class kLeastRows times
// on average. NaN: no number.
bool counts_by_class(std::span<const double> numbers, std::span<const int32_t> labels);

// Sorted by number, rows come in blocks of one class, of at least kLeastRows rows each: the first numbers of the blocks. Empty otherwise, or
// if a row has no number.
std::vector<double> class_blocks(std::span<const double> numbers, std::span<const int32_t> labels);

}  // namespace debias
