#include "debias/report/sections/verdict_note.h"

#include "debias/report/data_draw.h"

namespace debias {

std::string verdict_note(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons) {
  std::string note;
  if (comparisons.size() > 1) {
    note =
        "Each interval is for its own comparison. \"Better\" is decided by p-values adjusted for all comparisons (Holm), as the best was "
        "chosen by the numbers that it is tested on.";
  }
  std::vector<std::vector<const RunRecord*>> columns;
  for (const auto& column : data.columns) columns.push_back(column.runs);
  if (const std::string words = shared_draw_words(columns); !words.empty()) note += (note.empty() ? "" : " ") + words + ".";
  return note;
}

}  // namespace debias
