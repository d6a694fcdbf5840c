#include "debias/runs/compared_sweeps.h"

#include <fmt/format.h>

#include "debias/core/error.h"
#include "debias/data/data_roots.h"
#include "debias/report/compared_runs.h"

namespace debias {

std::vector<std::string> data_roots(const std::vector<RunRecord>& runs) {
  std::vector<Config> sections;
  for (const auto& run : runs) {
    const Config* data = run.config.find("data");
    if (data == nullptr) continue;
    for (const auto& [split, section] : data->entries()) sections.push_back(section);
  }
  return roots_of(sections);
}

std::vector<SeedTable> sweep_tables(const std::vector<std::string>& paths, const ReadingProgram& program, Log& log) {
  std::vector<SeedTable> tables;
  for (const auto& path : paths) {
    if (run_folders({path}) == std::vector<std::string>{path}) continue;
    const ComparedRuns compared = read_compared_runs({path}, program);
    if (compared.metric.empty()) continue;
    try {
      tables.push_back(seed_table(compared, {}));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUsage) throw;
      const std::string note = fmt::format("the table of '{}' is left out: {}", path, error.what());
      log.warn("report: " + note);
      tables.push_back({.metric = compared.metric, .epoch = "", .rows = {}, .differences = {}, .ordering = {}, .notes = {note}});
    }
  }
  return tables;
}

}  // namespace debias
