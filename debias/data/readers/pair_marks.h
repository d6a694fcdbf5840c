// Pairs of images in a CSV, as `debias pairs` writes them and its page answers them.
//
// Columns `a` and `b` name images; `answer` is same, different or skip (or empty, which is skip); `kind` is that of the pair. Other columns
// are not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "debias/core/enum_names.h"

namespace debias {

enum class PairAnswer { kSame, kDifferent, kSkip };
constexpr auto enum_words(PairAnswer) { return named("same", "different", "skip"); }

struct MarkedPair {
  std::string a, b;
  std::optional<PairAnswer> answer;  // none: the file has no column `answer`
  std::string kind;                  // empty without a column `kind`
  int64_t line = 0;                  // in the file, from 1
};

// FileError "PATH: line N: ..." if a name is empty, a pair names one image twice or an answer is not one of the three (the nearest is
// named); "PATH: ..." without the columns a and b or without rows, and as of read_csv.
std::vector<MarkedPair> read_pair_marks(const std::string& path);

}  // namespace debias
