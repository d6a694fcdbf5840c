#include "debias/report/sections/report_sections.h"
#include "debias/report/sections/verdict.h"
#include "debias/report/sections/verdict_note.h"

namespace debias {
namespace {

Html step_html(const NextStep& step) {
  if (step.command.empty()) return {};
  return plain(" " + step_head(step)) + code(step.command) + plain(step_time(step) + ".");
}

Html finding_item(const RunColumn& column, const ShortcutVerdict& verdict, bool named) {
  std::string head = named ? fmt::format("{}: {}.", column.title(), verdict.head) : verdict.head + ".";
  if (!named && !head.empty()) head[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(head[0])));
  Html item = strong(head) + plain(" " + verdict.words);
  return element("li", finding_name(verdict.finding), item + step_html(verdict.next));
}

}  // namespace

void add_verdict(Page& page, const ReportData& data) {
  page.heading(2, "Verdict");
  Html list;
  for (size_t i = 0; i < data.columns.size(); ++i) {
    list += finding_item(data.columns[i], shortcut_verdict(data.columns, i, data.rows), data.columns.size() > 1);
  }
  const auto comparisons = comparison_verdicts(data.columns, data.rows);
  for (const auto& comparison : comparisons) {
    list += element("li", comparison_name(comparison.comparison),
                    strong(comparison.head + ".") + plain(" " + comparison.words) + step_html(comparison.next));
  }
  page.add(element("ul", "verdict", list));
  if (const std::string note = verdict_note(data, comparisons); !note.empty()) page.paragraph(plain(note), "note");
}

}  // namespace debias
