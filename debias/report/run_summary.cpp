// The report for the terminal and for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "debias/report/key_numbers.h"
#include "debias/report/missing_parts.h"
#include "debias/report/run_report.h"

namespace debias {
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

CellText cell_text(const NumberRow& row, size_t run) {
  const auto& number = row.by_run[run];
  if (!number) return {"-", ""};
  if (std::isnan(number->value)) return {"undefined", ""};
  CellText text{metric_number(row.metric, number->value), ""};
  if (number->interval) {
    const double factor = shown_in_percent(row.metric) ? 100 : 1;
    text.interval = fmt::format("[{:.2f}, {:.2f}]", factor * number->interval->first, factor * number->interval->second);
  }
  if (row.best == static_cast<int>(run)) text.interval += " *";
  return text;
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

}  // namespace

std::string run_report_text(const std::vector<RunRecord>& runs) {
  std::string out;
  for (const auto& run : runs) {
    const std::string epochs =
        run.epochs > 0 ? fmt::format("{} of {} epochs", run.epochs_done, run.epochs) : fmt::format("{} epochs", run.epochs_done);
    out += tame(fmt::format("{}: {}{}{}{}", run.path, run.name.empty() ? "" : run.name + ", ",
                            run.seed().empty() ? "" : "seed " + run.seed() + ", ", epochs, run.finished() ? "" : ", unfinished")) +
           "\n";
    for (const auto& note : run.notes) out += tame("  note: " + note) + "\n";
  }
  const std::vector<NumberRow> numbers = key_numbers(runs);
  if (numbers.empty()) return out + "no epoch is finished and nothing was judged yet\n";
  std::vector<std::string> labels;
  for (const auto& run : runs) labels.push_back(tame(run.label));
  std::vector<TextRow> rows;
  bool best = false;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i == 0 || numbers[i].heading != numbers[i - 1].heading) rows.push_back({numbers[i].heading, {}});
    rows.push_back({"  " + tame(numbers[i].title.title), {}});
    for (size_t run = 0; run < runs.size(); ++run) rows.back().cells.push_back(cell_text(numbers[i], run));
    best = best || numbers[i].best >= 0;
  }
  out += "\n" + table_text(labels, rows);
  if (best) out += "* better than every other run, and no other interval reaches this one's\n";
  for (const Part part : {Part::kGroups, Part::kSimilarities, Part::kMap, Part::kNeighbours}) {
    const MissingPart missing = missing_part(runs, part);
    if (missing.words.empty()) continue;
    std::string commands = missing.commands;
    for (size_t at = commands.find('\n'); at != std::string::npos; at = commands.find('\n', at)) commands.replace(at, 1, ", ");
    out += tame(fmt::format("{}; {} would add them", missing.words, commands)) + "\n";
  }
  return out;
}

nlohmann::ordered_json run_report_json(const std::vector<RunRecord>& runs) {
  const std::vector<NumberRow> numbers = key_numbers(runs);
  Json out = {{"runs", Json::array()}};
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunRecord& run = runs[i];
    Json metrics = Json::object();
    for (const auto& row : numbers) {
      if (!row.by_run[i]) continue;
      const KeyNumber& number = *row.by_run[i];
      const size_t of = row.heading.find(" of ");
      const std::string name = of == std::string::npos ? row.metric : fmt::format("on {}: {}", row.heading.substr(of + 4), row.metric);
      metrics[name] = {{"value", number_json(number.value)}};
      if (number.interval) {
        metrics[name]["low"] = number_json(number.interval->first);
        metrics[name]["high"] = number_json(number.interval->second);
      }
      metrics[name]["source"] = number.source;
    }
    const Config* seed = run.config.find("seed");
    out["runs"].push_back({{"path", run.path},
                           {"label", run.label},
                           {"name", run.name},
                           {"seed", seed == nullptr ? Json() : seed->to_json()},
                           {"epochs", run.epochs},
                           {"epochs_done", run.epochs_done},
                           {"finished", run.finished()},
                           {"environment", run.environment},
                           {"config", run.config.to_json()},
                           {"metrics", metrics},
                           {"notes", run.notes}});
  }
  return out;
}

}  // namespace debias
