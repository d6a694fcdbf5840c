#include "debias/study/bcl_results.h"

namespace debias {

BclResults study_bcl(const BclSetting& base, const StudyRun& run) {
  constexpr int64_t kFigure4Samples = 20000;
  BclResults results{.rows = reference_rows(base), .row_figures = {}, .panels = panels(base), .panel_figures = {}, .samplers = {}};
  std::vector<BclSetting> settings;
  for (const auto& row : results.rows) settings.push_back(row.setting);
  for (const auto& panel : results.panels) settings.insert(settings.end(), panel.settings.begin(), panel.settings.end());
  const std::vector<BclFigures> all = measure(settings, run);
  auto next = all.begin() + std::ssize(results.rows);
  results.row_figures.assign(all.begin(), next);
  for (const auto& panel : results.panels) {
    results.panel_figures.emplace_back(next, next + std::ssize(panel.settings));
    next += std::ssize(panel.settings);
  }
  results.samplers = check_samplers(kFigure4Samples, run);
  return results;
}

}  // namespace debias
