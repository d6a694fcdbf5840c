#include "debias/report/sections/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "debias/report/run_column.h"
#include "debias/report/sections/first_screen.h"
#include "debias/report/sections/report_sections.h"
#include "debias/report/sections/verdict.h"
#include "debias/report/seed_interval.h"
#include "debias/report/tables/number_text.h"

namespace debias {

ReportData::ReportData(const std::vector<RunRecord>& all)
    : runs(all),
      columns(run_columns(all)),
      shown(shown_runs(columns)),
      rows(key_numbers(columns)),
      has_images(std::ranges::any_of(all, &RunRecord::of_images)) {}

std::string run_report_html(const std::vector<RunRecord>& runs, const std::string& debias_version, const std::vector<SeedTable>& tables) {
  const ReportData data(runs);
  Page page(first_screen(data, {}).title);
  page.fold_sections();
  add_first_screen(page, data);
  add_notes(page, data);
  add_key_numbers(page, data);
  if (data.has_images) add_verdict(page, data);
  for (const auto& table : tables) add_comparison(page, table);
  for (const auto add : {add_further_numbers, add_differences, add_curves, add_videos}) add(page, data);
  if (data.has_images) {
    for (const auto add : {add_groups, add_classes, add_similarities, add_maps, add_neighbours}) add(page, data);
  }
  for (const auto add : {add_nearest_texts, add_expected, add_recipes}) add(page, data);
  page.close_section();
  page.paragraph(plain(fmt::format("Made by debias report {}.", debias_version)), "note");
  return page.html();
}

// The report for the terminal and for programs.

namespace {

size_t columns_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width, bool left) {
  const std::string space(width - std::min(width, columns_of(text)), ' ');
  return left ? text + space : space + text;
}

// From files, for a terminal: what would steer it becomes a question mark.
std::string tame(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return text;
}

struct CellText {
  std::string value, interval;
};

CellText cell_text(const std::vector<NumberRow>& rows, const NumberRow& row, size_t column) {
  const NumberText text = number_text(rows, row, column);
  CellText cell{text.is_number() || text.value == "undefined" ? text.value : "-", text.interval};
  const auto add = [&](const std::string& part) { cell.interval += (cell.interval.empty() ? "" : " ") + part; };
  if (!text.remark.empty()) add(text.remark);
  if (row.best == static_cast<int>(column)) add("*");
  return cell;
}

struct TextRow {
  std::string head;
  std::vector<CellText> cells;
};

// Values to the right, intervals to the left of their columns; a row without cells is a heading.
std::string table_text(const std::vector<std::string>& runs, const std::vector<TextRow>& rows) {
  size_t head = 0;
  std::vector<size_t> values(runs.size()), intervals(runs.size());
  for (const auto& row : rows) {
    if (!row.cells.empty()) head = std::max(head, columns_of(row.head));
    for (size_t i = 0; i < row.cells.size(); ++i) {
      values[i] = std::max(values[i], columns_of(row.cells[i].value));
      intervals[i] = std::max(intervals[i], columns_of(row.cells[i].interval));
    }
  }
  std::string out = std::string(head, ' ');
  for (size_t i = 0; i < runs.size(); ++i) {
    values[i] = std::max(values[i], columns_of(runs[i]) - std::min(columns_of(runs[i]), intervals[i] + 1));
    out += "  " + padded(runs[i], values[i] + 1 + intervals[i], true);
  }
  out.erase(out.find_last_not_of(' ') + 1);
  for (const auto& row : rows) {
    std::string line = padded(row.head, head, true);
    for (size_t i = 0; i < row.cells.size(); ++i) {
      line += "  " + padded(row.cells[i].value, values[i], false) + " " + padded(row.cells[i].interval, intervals[i], true);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += "\n" + line;
  }
  return out + "\n";
}

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// A line of its own, to be copied.
std::string step_text(const NextStep& step) { return step.command.empty() ? "" : "  " + tame(step_words(step)) + "\n"; }

std::string sentences(const std::string& head, const std::string& words) {
  return tame(words.empty() ? head + "." : head + ". " + words) + "\n";
}

// "a, b and c": what several say alike is printed once.
std::string together(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

// Of each column; those of which the same is to be said have one line.
std::vector<std::string> column_lines(const ReportData& data) {
  std::vector<std::pair<std::string, std::vector<std::string>>> said;
  for (size_t i = 0; i < data.columns.size(); ++i) {
    const ShortcutVerdict verdict = shortcut_verdict(data.columns, i, data.rows);
    const std::string words = sentences(verdict.head, verdict.words);
    auto same = std::ranges::find(said, words, &std::pair<std::string, std::vector<std::string>>::first);
    if (same == said.end()) same = said.insert(said.end(), {words, {}});
    same->second.push_back(tame(data.columns[i].title()));
  }
  std::vector<std::string> lines;
  for (const auto& [words, titles] : said) lines.push_back(fmt::format("{}: {}", together(titles), words));
  return lines;
}

// A bar of the accuracy on conflicting images for each row of the figure.
std::vector<std::string> bar_lines(const FirstScreen& screen, const TextStyle& style) {
  constexpr size_t kWidest = 32;
  if (style.bar.empty() || screen.unit != Unit::kShare || screen.rows.size() < 2) return {};
  std::vector<std::string> lines;
  size_t width = 0;
  for (const FigureRow& row : screen.rows) width = std::max(width, std::min(kWidest, columns_of(row.label)));
  for (const FigureRow& row : screen.rows) {
    if (row.conflicting == nullptr) return {};
    const double value = row.conflicting->value;
    lines.push_back(fmt::format("  {}{} {:>5} %{}\n", padded(tame(row.label), width, true), share_bar(value, style, 20),
                                rounding_of(*row.conflicting).share(value), row.aligned == nullptr ? "" : " of conflicting images"));
  }
  return lines;
}

// What holds for all verdicts, once; with `whole`, also how they were tested.
std::string caveats(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons, bool whole) {
  std::string all;
  const auto add = [&](const std::string& note) { all += (all.empty() || note.empty() ? "" : " ") + note; };
  for (const auto& column : data.columns) {
    if (!column.shown().finished()) add(fmt::format("{}: {}.", column.title(), progress_text(column.shown())));
  }
  add(interval_note(data, comparisons));
  if (whole) add(verdict_note(data, comparisons));
  return all.empty() ? "" : tame(all) + "\n";
}

// About how many rows of a terminal of `width` columns the lines take, which may break between words.
size_t rows_of(const std::string& lines, size_t width) {
  size_t rows = 0;
  for (size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
    end = std::min(lines.find('\n', begin), lines.size());
    rows += 1 + columns_of(lines.substr(begin, end - begin)) / std::max<size_t>(width, 1);
  }
  return rows;
}

// "infonce: the shortcut is still used. Conflicting images 20 %, ...", two sentences each; with `whole`, all that is known of each.
std::string verdict_text(const ReportData& data, const TextStyle& style, size_t width) {
  const bool whole = style.verbose;
  const auto comparisons = comparison_verdicts(data.columns, data.rows);
  const FirstScreen screen = first_screen(data, comparisons);
  std::vector<std::string> lines;
  const bool is_alone = data.columns.size() == 1 && !screen.verdict.empty() && !whole;  // the verdict of all is its own
  if (data.has_images && !is_alone && !whole) lines = column_lines(data);
  for (size_t i = 0; data.has_images && whole && i < data.columns.size(); ++i) {
    const ShortcutVerdict verdict = shortcut_verdict(data.columns, i, data.rows);
    const std::string head = fmt::format("{}: {}", data.columns[i].title(), verdict.head);
    lines.push_back(sentences(head, verdict.words + " " + verdict.details) + step_text(verdict.next));
  }
  for (const auto& comparison : comparisons) {
    if (!whole && (is_alone || (screen.corrected == comparison.best && screen.plain == comparison.other))) continue;  // likewise
    lines.push_back(whole ? sentences(comparison.head, comparison.words + " " + comparison.details) + step_text(comparison.next)
                          : sentences(comparison.head, comparison.words));
  }
  std::string out = screen.verdict.empty() ? "" : tame(screen.verdict) + "\n";
  const std::string end = caveats(data, comparisons, whole) + (whole ? "" : step_text(screen.next));
  size_t free = kShortText - 1 - std::min<size_t>(kShortText - 2, rows_of(out + end, width));  // 1: the page
  size_t wanted = 0, shown = 0;
  for (const std::string& line : lines) wanted += rows_of(line, width);
  if (const auto bars = bar_lines(screen, style); whole || bars.size() + wanted <= free) {
    for (const std::string& line : bars) out += line;
  }
  const bool fits = whole || wanted <= free;
  for (; shown < lines.size() && (fits || rows_of(lines[shown], width) < free); ++shown) {
    out += lines[shown];
    free -= std::min(free, rows_of(lines[shown], width));
  }
  if (shown < lines.size()) out += fmt::format("{} more: debias report -v\n", lines.size() - shown);
  return out + end;
}

std::string runs_text(const ReportData& data) {
  std::string out;
  for (const auto& run : data.runs) {
    out += tame(fmt::format("{}: {}{}{}", run.path, run.recipe.name.empty() ? "" : run.recipe.name + ", ",
                            run.seed().empty() ? "" : "seed " + run.seed() + ", ", progress_text(run))) +
           "\n";
    for (const auto& note : run.notes) out += tame("  note: " + note) + "\n";
  }
  return out;
}

std::string numbers_text(const ReportData& data) {
  std::vector<std::string> titles;
  for (const auto& column : data.columns) titles.push_back(tame(column.title()));
  std::vector<TextRow> rows;
  const std::string* heading = nullptr;
  for (const auto& number : data.rows) {
    if (!has_own_row(data.rows, number)) continue;
    if (heading == nullptr || *heading != number.heading) rows.push_back({number.heading, {}});
    heading = &number.heading;
    rows.push_back({"  " + tame(number.title.title), {}});
    for (size_t column = 0; column < titles.size(); ++column) rows.back().cells.push_back(cell_text(data.rows, number, column));
  }
  std::string out = table_text(titles, rows);
  for (const auto& note : number_notes(data.columns, data.rows)) out += note + "\n";
  return out;
}

std::string missing_text(const ReportData& data) {
  std::string out;
  for (const Part part :
       {Part::kGroups, Part::kSimilarities, Part::kMap, Part::kNeighbours, Part::kVideo, Part::kSentenceTasks, Part::kNearestTexts}) {
    const bool of_shown = part == Part::kVideo || part == Part::kNearestTexts;
    const MissingPart missing = missing_part(of_shown ? data.shown : data.runs, part);
    if (missing.words.empty()) continue;
    std::string commands = missing.commands;
    for (size_t at = commands.find('\n'); at != std::string::npos; at = commands.find('\n', at)) commands.replace(at, 1, ", ");
    out += tame(fmt::format("{}; {} would add them", missing.words, commands)) + "\n";
  }
  if (const std::string words = unknown_bias_words(data.runs); !words.empty()) out += tame(words) + "\n";
  return out;
}

// The metrics of one column; where two sources have one metric, that of `groups` has its plain name.
Json metrics_json(const std::vector<NumberRow>& rows, size_t column) {
  Json metrics = Json::object();
  for (const auto& row : rows) {
    if (!row.by_column[column]) continue;
    const KeyNumber& number = *row.by_column[column];
    std::string name = row.data.empty() ? row.metric : fmt::format("on {}: {}", row.data, row.metric);
    if (row_with_number(rows, row.data, row.metric, column) != &row) name += " by " + row.source;
    Json& json = metrics[name] = {{"value", number_json(number.value)}};
    if (number.kind != IntervalKind::kNone) {
      json["low"] = number_json(number.interval.first);
      json["high"] = number_json(number.interval.second);
    }
    if (number.kind == IntervalKind::kSeeds) {
      json["half_width"] = number_json(number.interval.second - number.value);
      json["seeds"] = number.seeds();
    }
    if (!row.source.empty()) json["predictions"] = row.source;
    json["source"] = number.source;
  }
  return metrics;
}

Json run_json(const RunRecord& run, const Json& metrics) {
  return {{"path", run.path},
          {"label", run.label},
          {"name", run.recipe.name},
          {"seed", run.recipe.seed_json},
          {"epochs", run.recipe.epochs},
          {"epochs_done", run.epochs_done},
          {"finished", run.finished()},
          {"environment", run.environment},
          {"config", run.config.to_json()},
          {"metrics", metrics},
          {"notes", run.notes}};
}

void add_difference(const Difference& difference, Json& json) {
  json["difference"] = number_json(difference.mean);
  json["size"] = std::isnan(difference.mean) ? "" : size_adjective(difference.mean);
  json["low"] = number_json(difference.low);
  json["high"] = number_json(difference.high);
  json["over"] = enum_name(difference.over);
}

void add_step(const NextStep& step, Json& json) {
  json["command"] = step.command;
  json["minutes"] = number_json(step.minutes);
}

Json shortcut_json(const RunColumn& column, const ShortcutVerdict& verdict) {
  Json json = {{"runs", column.title()},
               {"finding", enum_name(verdict.finding)},
               {"head", verdict.head},
               {"words", verdict.words},
               {"details", verdict.details}};
  add_difference(verdict.difference, json);
  json["worst_group"] = nullptr;
  if (verdict.worst) {
    json["worst_group"] = {{"label", verdict.worst->label},
                           {"bias", verdict.worst->bias},
                           {"accuracy", verdict.worst->accuracy},
                           {"images", verdict.worst->images}};
  }
  json["sign_of_shortcut"] = verdict.sign && !verdict.sign->is_overfitting();
  add_step(verdict.next, json);
  return json;
}

Json comparison_json(const ComparisonVerdict& comparison) {
  Json json = {{"result", enum_name(comparison.comparison)},
               {"head", comparison.head},
               {"words", comparison.words},
               {"details", comparison.details}};
  add_difference(comparison.difference, json);
  json["p"] = number_json(comparison.p);
  json["p_holm"] = number_json(comparison.p_holm);
  json["tests"] = comparison.tests;
  add_step(comparison.next, json);
  return json;
}

Json figure_json(const FirstScreen& screen) {
  const auto number = [](const KeyNumber* found) {
    if (found == nullptr) return Json(nullptr);
    const bool has_interval = found->kind != IntervalKind::kNone;
    return Json{{"value", number_json(found->value)},
                {"low", has_interval ? number_json(found->interval.first) : Json(nullptr)},
                {"high", has_interval ? number_json(found->interval.second) : Json(nullptr)}};
  };
  Json json = {{"title", screen.measure}, {"chance", number_json(screen.chance)}, {"rows", Json::array()}};
  for (size_t i = 0; i < screen.rows.size(); ++i) {
    const FigureRow& row = screen.rows[i];
    Json& added = json["rows"].emplace_back(Json{{"runs", row.label}, {"best", screen.best == i}});
    if (row.aligned == nullptr) {
      added["value"] = number(row.conflicting);
    } else {
      added["conflicting"] = number(row.conflicting);
      added["aligned"] = number(row.aligned);
    }
  }
  return json;
}

Json verdict_json(const ReportData& data) {
  const auto comparisons = comparison_verdicts(data.columns, data.rows);
  const FirstScreen screen = first_screen(data, comparisons);
  Json json = {{"title", screen.title}, {"words", screen.verdict}, {"shortcut", Json::array()}, {"comparisons", Json::array()}};
  for (size_t i = 0; i < data.columns.size(); ++i)
    json["shortcut"].push_back(shortcut_json(data.columns[i], shortcut_verdict(data.columns, i, data.rows)));
  for (const auto& comparison : comparisons) json["comparisons"].push_back(comparison_json(comparison));
  json["figure"] = figure_json(screen);
  json["note"] = verdict_note(data, comparisons);
  add_step(screen.next, json);
  return json;
}

}  // namespace

std::string run_report_text(const std::vector<RunRecord>& runs, const TextStyle& style, size_t width) {
  const ReportData data(runs);
  const std::string verdict = verdict_text(data, style, width);
  if (!style.verbose)
    return data.rows.empty() ? verdict + runs_text(data) + "no epoch is finished and nothing was evaluated yet\n" : verdict;
  const std::string out = (verdict.empty() ? "" : verdict + "\n") + runs_text(data);
  if (data.rows.empty()) return out + "no epoch is finished and nothing was evaluated yet\n";
  return out + "\n" + numbers_text(data) + missing_text(data);
}

nlohmann::ordered_json run_report_json(const std::vector<RunRecord>& runs) {
  const ReportData data(runs);
  const std::vector<NumberRow> alone = key_numbers(single_columns(runs));
  Json out = {{"verdict", verdict_json(data)}, {"runs", Json::array()}, {"columns", Json::array()}};
  for (size_t i = 0; i < runs.size(); ++i) out["runs"].push_back(run_json(runs[i], metrics_json(alone, i)));
  for (size_t i = 0; i < data.columns.size(); ++i) {
    Json members = Json::array();
    for (const RunRecord* run : data.columns[i].runs) members.push_back(run->path);
    out["columns"].push_back({{"label", data.columns[i].label}, {"runs", members}, {"metrics", metrics_json(data.rows, i)}});
  }
  return out;
}

}  // namespace debias
