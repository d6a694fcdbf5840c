// What a feature table holds, in two digests, so that a later reader notices a change.
#pragma once

#include <string>

#include "debias/features/feature_table.h"

namespace debias {

struct TableDigest {
  std::string vectors;  // of every byte of their file
  std::string rows;     // of name, label, split and bias labels of each row, in the order of the vectors; other columns do not count
};

// SHA-256, lower case. The file is hashed in blocks on all cores: its digest is one of the blocks' digests.
TableDigest table_digest(const FeatureTable& table);

}  // namespace debias
