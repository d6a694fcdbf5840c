#include "debias/report/pages/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "debias/results/json_file.h"

namespace debias {
namespace {

std::string opening(std::string_view tag, const Cell& cell, std::string_view more = "") {
  std::string out = fmt::format("<{}", tag);
  if (!cell.css_class.empty()) out += fmt::format(" class=\"{}\"", cell.css_class);
  if (!cell.style.empty()) out += fmt::format(" style=\"{}\"", cell.style);
  return out + std::string(more) + ">";
}

std::string row_html(const Row& row, size_t columns) {
  std::string out = row.group ? "<tr class=\"group\">" : "<tr>";
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const Cell& cell = row.cells[i];
    const std::string across = row.group && columns > 1 ? fmt::format(" colspan=\"{}\"", columns) : "";
    const std::string scope = row.group ? " scope=\"colgroup\"" : " scope=\"row\"";
    out +=
        i == 0 ? opening("th", cell, scope + across) + cell.content.source + "</th>" : opening("td", cell) + cell.content.source + "</td>";
  }
  return out + "</tr>\n";
}

Html table_html(const Table& table) {
  std::string out = table.css_class.empty() ? "<table>" : fmt::format("<table class=\"{}\">", table.css_class);
  out += "<thead><tr>";
  for (const auto& cell : table.head) out += opening("th", cell, " scope=\"col\"") + cell.content.source + "</th>";
  out += "</tr></thead>\n<tbody>";
  for (const auto& row : table.rows) out += row_html(row, table.head.size());
  return {out + "</tbody></table>"};
}

}  // namespace

void Table::add_heads(const std::vector<std::string>& names, bool numbers) {
  for (const auto& name : names) head.push_back({plain(name), numbers ? "n" : "", ""});
}

Html table_in_scroller(const Table& table) {
  const std::string caption = escaped(table.caption);
  const std::string above = caption.empty() ? "" : "<p class=\"caption\">" + caption + "</p>";
  return {fmt::format("{}<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">{}</div>\n", above,
                      caption.empty() ? "Table" : caption, table_html(table).source)};
}

void Page::heading(int level, std::string_view text, std::string_view summary) {
  std::string id;
  if (level == 2 && folds_) {
    close_section();
    is_open_ = true;
    body_ += fmt::format("<details class=\"section\"><summary><h2>{}</h2>{}</summary>\n", escaped(text),
                         summary.empty() ? "" : fmt::format(" <span class=\"note\">{}</span>", escaped(summary)));
    return;
  }
  if (level == 2) {
    sections_.emplace_back(fmt::format("section-{}", sections_.size() + 1), std::string(text));
    id = fmt::format(" id=\"{}\"", sections_.back().first);
  }
  body_ += fmt::format("<h{0}{1}>{2}</h{0}>\n", level, id, escaped(text));
}

void Page::close_section() {
  if (is_open_) body_ += "</details>\n";
  is_open_ = false;
}

void Page::paragraph(const Html& content, std::string_view css_class) { body_ += element("p", css_class, content).source + "\n"; }

void Page::table(const Table& table) { body_ += table_in_scroller(table).source; }

void Page::figures(const std::vector<std::pair<Chart, Html>>& charts_and_captions) {
  if (charts_and_captions.empty()) return;
  body_ += "<div class=\"figures\">\n";
  for (const auto& [chart, caption] : charts_and_captions) {
    body_ += "<figure>" + svg(chart, fmt::format("chart-{}", ++charts_)).source;
    if (!caption.source.empty()) body_ += element("figcaption", "", caption).source;
    body_ += "</figure>\n";
  }
  body_ += "</div>\n";
}

void Page::preformatted(std::string_view text) { body_ += "<pre>" + escaped(text) + "</pre>\n"; }

void Page::folded(std::string_view summary, const Html& content) {
  body_ += "<details><summary>" + escaped(summary) + "</summary>" + content.source + "</details>\n";
}

namespace {

// Browsers break a line behind a hyphen: not within "--seeds".
std::string with_whole_options(std::string_view command) {
  std::string out;
  for (size_t begin = 0; begin <= command.size();) {
    const size_t end = std::min(command.find(' ', begin), command.size());
    const std::string word = escaped(command.substr(begin, end - begin));
    out += (begin == 0 ? "" : " ") + (word.starts_with("--") ? "<span class=\"whole\">" + word + "</span>" : word);
    begin = end + 1;
  }
  return out;
}

}  // namespace

void Page::command(const std::string& command) {
  body_ += fmt::format(
      "<div class=\"command\"><code tabindex=\"0\">{}</code><button type=\"button\" onclick=\"navigator.clipboard.writeText("
      "this.previousSibling.textContent).then(()=&gt;this.textContent='Copied')\">Copy</button></div>\n",
      with_whole_options(command));
}

void Page::add(const Html& content) { body_ += content.source; }

std::string Page::html() const {
  std::string links;
  for (const auto& [id, text] : sections_) links += fmt::format("<li><a href=\"#{}\">{}</a></li>", id, escaped(text));
  if (!links.empty()) links = "<nav aria-label=\"Sections\"><ul>" + links + "</ul></nav>\n";
  // The empty icon keeps browsers from asking for one.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/><link rel=\"icon\" href=\"data:,\"/>"
      "<title>{0}</title>\n<style>\n{1}</style></head>\n<body><main>\n<h1>{0}</h1>\n{2}{3}{4}</main></body></html>\n",
      escaped(title_), style_sheet(), lead_.source, links, body_);
}

namespace {

constexpr int64_t kLargestThumbnail = 1 << 20;  // bytes

}  // namespace

std::string last_part(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::string name = std::filesystem::path(path).filename().string();
  return name.empty() ? path : name;
}

std::string thumbnail_bytes(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return "";
  try {
    std::string bytes = read_text_file(path, kLargestThumbnail);
    return bytes.starts_with("\x89PNG") ? bytes : "";
  } catch (const Error&) {
    return "";  // a folder, say: the page says that it is missing
  }
}

Html thumbnail_image(const std::string& bytes, const std::string& alt) {
  if (bytes.empty()) return element("span", "missing", plain("no image"));
  return {fmt::format("<img src=\"{}\" alt=\"{}\" loading=\"lazy\"/>", png_data_uri(bytes), escaped(alt))};
}

}  // namespace debias
