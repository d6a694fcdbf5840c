// Guesses if a column of a CSV has bias labels, such as a colour, a gender or a clinic. A column that may is reported, never chosen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace debias {

// `values`: one field for each image, empty where unknown; `labels`: the class of each image, kUnknown where unknown.
//
// True where at least half of the images have a value and there are from 2 to sqrt(n) different ones, n being the images with a value.
// False for a column of split names (train, test, ...), and for one that renames the classes: each class has one value of its own.
bool may_be_bias(const std::vector<std::string>& values, const std::vector<int64_t>& labels);

}  // namespace debias
