// Results of the studies: as JSON, as CSV in long form, as printed tables, and the whole study of Bayesian contrastive learning.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "debias/study/bcl_study.h"
#include "debias/study/embedding_study.h"
#include "debias/study/theorems.h"

namespace debias {

// Study results as JSON, and as CSV in long form: one line for each setting and estimator, or for each statement.
//
// Numbers are printed to nine digits; a missing one (an interval of one repetition, an estimate without samples) is null in JSON
// and empty in CSV.
struct BclResults {
  std::vector<BclRow> rows;
  std::vector<BclFigures> row_figures;  // as rows
  std::vector<BclPanel> panels;
  std::vector<std::vector<BclFigures>> panel_figures;  // as panels
  std::vector<SamplerCheck> samplers;
};

nlohmann::ordered_json to_json(const BclResults& results);
nlohmann::ordered_json to_json(const std::vector<TheoremCheck>& checks);
nlohmann::ordered_json to_json(const EmbeddingStudy& study);

std::string reference_csv(const BclResults& results);
std::string panels_csv(const BclResults& results);
std::string densities_csv();                         // figure 3
std::string samples_csv(const BclResults& results);  // figure 4
std::string theorems_csv(const std::vector<TheoremCheck>& checks);
std::string embeddings_csv(const EmbeddingStudy& study);

// The whole study of Bayesian contrastive learning: the reference table, the curves of figures 5 and 8, and the samplers of figure 4.

// Results of `base` and of its one-factor changes. Usage errors of the base setting.
BclResults study_bcl(const BclSetting& base, const StudyRun& run);

// Printed results of `debias study`: tables in plain text, a line each.

// Mean squared errors of all settings, the estimates at the base, and the samplers.
std::string bcl_text(const BclResults& results);

// Both sides of each statement and its verdict.
std::string theorems_text(const std::vector<TheoremCheck>& checks);

// Mean squared errors on a user's embeddings, the estimates at the base, and the recommendation.
std::string embeddings_text(const EmbeddingStudy& study);

}  // namespace debias
