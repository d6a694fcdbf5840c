// What the names of files say in numbers: running numbers, their digits, length and case.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "debias/audit/file_columns.h"

namespace debias {

// Columns of the first four numbers of a name ("name number 1") and of the last, with its last digit and, where some have leading zeros, the
// count of its digits; of the name's length without the digits of numbers that have none; of its case; and of its common words
// (common_words.h).
//
// Two kinds of running numbers say nothing about images. Numbers that each class counts for itself (from a common start, evenly up to an end
// of its own) differ only by the sizes of the classes; they give their last digit alone. Numbers that run on from class to class, so
// that sorted files come in blocks of at least five of one class, give the block, which names the class. `labels` are those of the first rows;
// other rows have no influence on which columns there are.
std::vector<FileColumn> name_columns(const std::vector<std::string>& names, std::span<const int32_t> labels);

}  // namespace debias
