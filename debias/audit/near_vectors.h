// Rows of features that are frames of one scene, or copies: much nearer to each other than to any other rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "debias/data/row_groups.h"

namespace debias {

// `rows` [labels.size(), dimensions]. Each dimension gets mean 0 and deviation 1, each row length 1. Two rows are one group if their cosine is at
// least t, the largest of 0.95, 0.9, ... 0.75 above which lie four in five of the pairs above t - 0.1: a gap. Nothing where there is none,
// where one pair of twenty is of two classes, a group has a fifth of the rows, a class fewer than eight groups (features that collapse onto the
// classes), or rows fewer than eight dimensions. Deterministic.
std::optional<RowGroups> groups_of_near_vectors(std::span<const float> rows, int64_t dimensions, std::span<const int32_t> labels);

}  // namespace debias
