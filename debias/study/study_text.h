// Printed results of `debias study`: tables in plain text, a line each.
#pragma once

#include <string>
#include <vector>

#include "debias/study/bcl_results.h"
#include "debias/study/embedding_study.h"
#include "debias/study/theorems.h"

namespace debias {

// Mean squared errors of all settings, the estimates at the base, and the samplers.
std::string bcl_text(const BclResults& results);

// Both sides of each statement and its verdict.
std::string theorems_text(const std::vector<TheoremCheck>& checks);

// Mean squared errors on a user's embeddings, the estimates at the base, and the recommendation.
std::string embeddings_text(const EmbeddingStudy& study);

}  // namespace debias
