#include "debias/report/report_sections.h"
#include "debias/report/verdict.h"

namespace debias {
namespace {

Html finding_item(const RunColumn& column, const ShortcutVerdict& verdict, bool named) {
  std::string head = named ? fmt::format("{}: {}.", column.title(), verdict.head) : verdict.head + ".";
  if (!named && !head.empty()) head[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(head[0])));
  Html item = strong(head) + plain(" " + verdict.words);
  if (!verdict.command.empty()) item += plain(" To know more: ") + code(verdict.command);
  return element("li", finding_name(verdict.finding), item);
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
    list += element("li", comparison_name(comparison.comparison), strong(comparison.head + ".") + plain(" " + comparison.words));
  }
  page.add(element("ul", "verdict", list));
  if (comparisons.size() > 1) {
    page.paragraph(plain("Each interval holds for its own comparison; of many, one in twenty misses by chance."), "note");
  }
}

}  // namespace debias
