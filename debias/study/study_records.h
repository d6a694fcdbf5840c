// Study results as JSON, and as CSV in long form: one line for each setting and estimator, or for each statement.
//
// Numbers are printed to nine digits; a missing one (an interval of one repetition, an estimate without samples) is null in JSON
// and empty in CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "debias/study/bcl_study.h"
#include "debias/study/embedding_study.h"
#include "debias/study/theorems.h"

namespace debias {

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

}  // namespace debias
