#include "debias/report/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "debias/report/judgement_figures.h"
#include "debias/report/key_numbers.h"
#include "debias/report/missing_parts.h"
#include "debias/report/neighbour_gallery.h"
#include "debias/report/page.h"

namespace debias {
namespace {

constexpr int64_t kThumbnailBytes = 2'400'000, kMapPoints = 24'000;  // of a page
constexpr size_t kMostMapPoints = 3000, kFoldedGroups = 150, kMostDifferences = 60;

std::string text_at_path(const Config& config, std::initializer_list<const char*> path) {
  const Config* node = &config;
  for (const char* key : path) node = node == nullptr ? nullptr : node->find(key);
  return node == nullptr || !node->is_scalar() ? "" : node->text();
}

std::string objective_names(const Config& config) {
  const Config* objective = config.find("objective");
  if (objective == nullptr) return "";
  if (objective->is_scalar()) return objective->text();
  if (objective->is_map()) return text_at_path(*objective, {"name"});
  std::string names;
  for (const auto& term : objective->items()) names += (names.empty() ? "" : " + ") + text_at_path(term, {"name"});
  return names;
}

std::string progress_text(const RunRecord& run) {
  if (run.epochs == 0) return fmt::format("{} epochs", run.epochs_done);
  return fmt::format("{} of {} epochs{}", run.epochs_done, run.epochs, run.finished() ? "" : ", unfinished");
}

std::string run_words(const RunRecord& run) {
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() || part.empty() ? "" : ", ") + part; };
  add(run.name);
  if (const std::string objective = objective_names(run.config); !objective.empty()) add("objective " + objective);
  if (const std::string encoder = text_at_path(run.config, {"encoder", "name"}); !encoder.empty()) add("encoder " + encoder);
  if (const std::string data = text_at_path(run.config, {"data", "train", "name"}); !data.empty()) add("trained on " + data);
  if (!run.seed().empty()) add("seed " + run.seed());
  add(progress_text(run));
  return words;
}

Cell number_cell(const NumberRow& row, size_t run) {
  const auto& number = row.by_run[run];
  if (!number) return {plain("–"), "n", ""};
  if (std::isnan(number->value)) return {element("span", "small", plain("undefined")), "n", ""};
  const std::string value = metric_number(row.metric, number->value);
  Html content = row.best == static_cast<int>(run) ? strong(value) : plain(value);
  if (number->interval) {
    const bool percent = shown_in_percent(row.metric);
    const auto end = [&](double at) { return percent ? fmt::format("{:.2f}", 100 * at) : short_number(at); };
    content += element("span", "small", plain(fmt::format(" [{}, {}]", end(number->interval->first), end(number->interval->second))));
  }
  return {content, "n", ""};
}

void add_key_numbers(Page& page, const std::vector<RunRecord>& runs) {
  const std::vector<NumberRow> rows = key_numbers(runs);
  page.heading(2, "Key numbers");
  if (rows.empty()) {
    page.paragraph(plain("No epoch is finished and nothing was judged yet."), "missing");
    return;
  }
  Table table;
  table.css_class = "numbers";
  table.head.push_back({plain("metric"), "", ""});
  for (const auto& run : runs) {
    Html head = plain(run.label);
    if (!run.finished()) head += element("span", "small", plain(fmt::format(" ({})", progress_text(run))));
    table.head.push_back({head, "n", ""});
  }
  bool intervals = false, best = false, files = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i].heading != rows[i - 1].heading) table.rows.push_back({{{plain(rows[i].heading), "", ""}}, true});
    Row row;
    row.cells.push_back({plain(rows[i].title.title), "", ""});
    for (size_t run = 0; run < runs.size(); ++run) {
      row.cells.push_back(number_cell(rows[i], run));
      intervals = intervals || (rows[i].by_run[run] && rows[i].by_run[run]->interval);
      files = files || (rows[i].by_run[run] && rows[i].by_run[run]->source.ends_with(".json"));
    }
    best = best || rows[i].best >= 0;
    table.rows.push_back(std::move(row));
  }
  page.table(table);
  std::string note = files ? "Numbers are from evaluation/*.json, and from the last epoch line of training where no file has them."
                           : "Numbers are from the last epoch line of training.";
  if (intervals) {
    const std::string level = interval_level(runs);
    note +=
        fmt::format(" In brackets: {}{}bootstrap interval over the images judged; how far other training seeds would fall is not in it.",
                    level, level.empty() ? "" : " ");
  }
  if (best) note += " Bold: better than every other run, and no other interval reaches this one's.";
  page.paragraph(plain(note), "note");
}

// Keys of the recipes in which the runs differ, apart from where they are written.
void add_differences(Page& page, const std::vector<RunRecord>& runs) {
  if (runs.size() < 2) return;
  std::vector<std::string> keys;
  std::vector<std::map<std::string, std::string>> values(runs.size());
  for (size_t run = 0; run < runs.size(); ++run) {
    for (auto& [key, value] : flattened(runs[run].config)) {
      if (key == "output" || key.starts_with("expected")) continue;
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
      values[run][key] = value;
    }
  }
  Table table;
  table.css_class = "numbers config";
  table.head.push_back({plain("recipe key"), "", ""});
  for (const auto& run : runs) table.head.push_back({plain(run.label), "", ""});
  size_t differing = 0;
  for (const auto& key : keys) {
    const auto of = [&](size_t run) { return values[run].contains(key) ? values[run][key] : std::string("–"); };
    bool differs = false;
    for (size_t run = 1; run < runs.size(); ++run) differs = differs || of(run) != of(0);
    if (!differs || ++differing > kMostDifferences) continue;
    Row row;
    row.cells.push_back({code(key), "", ""});
    for (size_t run = 0; run < runs.size(); ++run) row.cells.push_back({plain(of(run)), "", ""});
    table.rows.push_back(std::move(row));
  }
  page.heading(2, "What differs");
  if (differing == 0) {
    page.paragraph(plain("The recipes are the same, but for where the runs are written."));
    return;
  }
  page.table(table);
  if (differing > kMostDifferences) {
    page.paragraph(plain(fmt::format("{} more keys differ; the recipes are at the end.", differing - kMostDifferences)), "note");
  }
}

void add_missing(Page& page, const std::vector<RunRecord>& runs, Part part) {
  const MissingPart missing = missing_part(runs, part);
  if (missing.words.empty()) return;
  Html line = plain(missing.words + "; ");
  for (size_t begin = 0; begin < missing.commands.size();) {
    const size_t end = std::min(missing.commands.find('\n', begin), missing.commands.size());
    line += (begin == 0 ? Html{} : plain(", ")) + code(missing.commands.substr(begin, end - begin));
    begin = end + 1;
  }
  page.paragraph(line + plain(runs.size() > 1 ? " would add them." : " adds them."), "missing");
}

void add_curves(Page& page, const std::vector<RunRecord>& runs) {
  page.heading(2, "Learning curves");
  const Figures learning = learning_figures(runs);
  if (learning.empty()) page.paragraph(plain("Fewer than two epochs or logged steps: there is no curve yet."), "missing");
  page.figures(learning);
  const Figures evidence = evidence_figures(runs);
  if (evidence.empty()) return;
  page.heading(2, "Evidence of the objective");
  page.paragraph(
      plain("The clamp share is the share of anchors whose clamp, floor or fall-back acted: near 100 %, the objective is no longer the "
            "one that was asked for. An effective sample size near 1 means that one negative outweighs all others."));
  page.figures(evidence);
}

void add_groups(Page& page, const std::vector<RunRecord>& runs) {
  page.heading(2, "Groups");
  for (const auto& set : judged_sets(runs, "groups")) {
    page.figures(group_figures(runs, set));
    for (const auto& run : runs) {
      const EvaluationRecord* record = run.evaluation("groups", set.data);
      if (record == nullptr || !record->groups.contains(set.split)) continue;
      const GroupTable& groups = record->groups.at(set.split);
      const std::string predictions = value_or(record->options, "predictions", std::string());
      const std::string caption = fmt::format("{}, {}: accuracy in percent, number of images below{}", run.label, set.title(),
                                              predictions.empty() ? "" : fmt::format("; predictions by {}", predictions));
      const Table table = group_table(*record, set, caption);
      if (groups.labels.size() * groups.biases.size() > kFoldedGroups || runs.size() > 4) {
        page.folded(fmt::format("Groups of {}, {}", run.label, set.title()), table_in_scroller(table));
      } else {
        page.table(table);
      }
      for (const auto& note : record->notes) {
        if (note.find(fmt::format(" {}", set.split)) != std::string::npos) page.paragraph(plain(run.label + ": " + note), "note");
      }
    }
    page.paragraph(plain("Grey outline: the bias value of the label's own number. Red outline: the least accuracy."), "note");
  }
  add_missing(page, runs, Part::kGroups);
}

void add_similarities(Page& page, const std::vector<RunRecord>& runs) {
  page.heading(2, "Similarities");
  const auto sets = judged_sets(runs, "geometry");
  if (!sets.empty()) {
    page.paragraph(
        plain("Positive pairs share the label, aligned pairs the bias value. Features that ignore the bias have positive aligned and "
              "positive conflicting pairs alike."));
  }
  for (const auto& set : sets) {
    page.figures(similarity_figures(runs, set));
    page.table(similarity_table(runs, set));
  }
  add_missing(page, runs, Part::kSimilarities);
}

void add_maps(Page& page, const std::vector<RunRecord>& runs) {
  page.heading(2, "Map");
  const auto sets = judged_sets(runs, "tsne");
  if (!sets.empty()) {
    page.paragraph(
        plain("t-SNE of the features: images that lie together have similar features; sizes of clusters and distances between them "
              "mean little."));
  }
  const size_t most = std::min(kMostMapPoints, static_cast<size_t>(kMapPoints) / std::max<size_t>(1, sets.size() * runs.size()));
  for (const auto& set : sets) {
    Figures by_label, by_bias;
    for (const auto& run : runs) {
      Figures of_run = map_figures(run, set, most, runs.size() > 1);
      for (size_t i = 0; i < of_run.size(); ++i) (i == 0 ? by_label : by_bias).push_back(std::move(of_run[i]));
    }
    if (runs.size() == 1) {
      by_label.insert(by_label.end(), std::make_move_iterator(by_bias.begin()), std::make_move_iterator(by_bias.end()));
      by_bias.clear();
    }
    page.figures(by_label);
    page.figures(by_bias);
  }
  add_missing(page, runs, Part::kMap);
}

void add_neighbours(Page& page, const std::vector<RunRecord>& runs) {
  page.heading(2, "Nearest neighbours");
  std::vector<JudgedSet> sets;
  for (const auto& set : judged_sets(runs, "knn")) sets.push_back(set);
  if (!sets.empty()) {
    page.paragraph(
        plain("Left, a judged image; then the training images nearest to it, nearest first. Solid red frame: of another class; dotted "
              "frame: of the same class with another bias value; no frame: of the same group."));
  }
  const auto share = kThumbnailBytes / static_cast<int64_t>(std::max<size_t>(1, sets.size() * runs.size()));
  for (const auto& set : sets) {
    for (const auto& run : runs) {
      const Gallery gallery = neighbour_gallery(run, set, share);
      if (gallery.queries == 0) continue;
      page.heading(3, fmt::format("{}, {}", run.label, set.title()));
      page.add(gallery.first);
      if (!gallery.others.source.empty()) page.folded(fmt::format("{} more", gallery.shown - gallery.in_first), gallery.others);
      if (gallery.shown < gallery.queries) {
        page.paragraph(plain(fmt::format("{} of {} judged images are shown, to keep the file small.", gallery.shown, gallery.queries)),
                       "note");
      }
      if (!gallery.missing.empty()) {
        page.paragraph(
            plain(fmt::format("{} thumbnails are missing or no PNG files, {} the first; ", gallery.missing.size(), gallery.missing[0])) +
                code(fmt::format("debias eval knn {}", shell_word(run.path))) + plain(" writes them again."),
            "missing");
      }
    }
  }
  add_missing(page, runs, Part::kNeighbours);
}

// What the recipe says a run of it should give, beside what it gave.
void add_expected(Page& page, const std::vector<RunRecord>& runs) {
  const std::vector<NumberRow> numbers = key_numbers(runs);
  Table table;
  table.css_class = "numbers";
  for (const char* head : {"run and metric", "expected", "found", "", "source"}) table.head.push_back({plain(head), "", ""});
  table.head[1].css_class = table.head[2].css_class = "n";
  for (size_t i = 0; i < runs.size(); ++i) {
    const Config* expected = runs[i].config.find("expected");
    if (expected == nullptr || !expected->is_sequence()) continue;
    for (const auto& item : expected->items()) {
      const std::string metric = text_at_path(item, {"metric"});
      double value = 0, tolerance = NAN;
      if (!parse_number(text_at_path(item, {"value"}), &value)) continue;
      if (!parse_number(text_at_path(item, {"tolerance"}), &tolerance)) tolerance = NAN;
      const auto row = std::ranges::find_if(numbers, [&](const NumberRow& number) { return number.metric == metric && number.by_run[i]; });
      const double found = row == numbers.end() ? NAN : row->by_run[i]->value;
      const std::string verdict = std::isnan(found)                                    ? "not measured"
                                  : std::isnan(tolerance)                              ? ""
                                  : std::fabs(found - value) <= tolerance * (1 + 1e-9) ? "within"
                                                                                       : "outside";
      const std::string within = std::isnan(tolerance) ? "" : " ± " + metric_number(metric, tolerance);
      table.rows.push_back({{{plain(runs[i].label + ", " + metric), "", ""},
                             {plain(metric_number(metric, value) + within), "n", ""},
                             {plain(std::isnan(found) ? "–" : metric_number(metric, found)), "n", ""},
                             {plain(verdict), "", ""},
                             {plain(text_at_path(item, {"source"})), "text", ""}},
                            false});
    }
  }
  if (table.rows.empty()) return;
  page.heading(2, "What was expected");
  page.table(table);
}

void add_recipes(Page& page, const std::vector<RunRecord>& runs) {
  page.heading(2, "What was run");
  Table table;
  table.css_class = "numbers config";
  table.head.push_back({plain(""), "", ""});
  for (const auto& run : runs) table.head.push_back({plain(run.label), "", ""});
  const auto add_row = [&](const std::string& name, const auto& value_of) {
    Row row;
    row.cells.push_back({plain(name), "", ""});
    bool any = false;
    for (const auto& run : runs) {
      const std::string value = value_of(run);
      any = any || !value.empty();
      row.cells.push_back({plain(value.empty() ? "–" : value), "", ""});
    }
    if (any) table.rows.push_back(std::move(row));
  };
  add_row("folder", [](const RunRecord& run) { return run.path; });
  add_row("recipe", [](const RunRecord& run) { return run.name; });
  add_row("trained", progress_text);
  add_row("seed", [](const RunRecord& run) { return run.seed(); });
  for (const char* split : {"train", "valid", "test"}) {
    add_row(fmt::format("seed of the {} data", split), [&](const RunRecord& run) {
      return text_at_path(run.config, {"data", split, "seed"});
    });
  }
  std::vector<std::string> keys;
  for (const auto& run : runs) {
    for (const auto& [key, value] : run.environment.items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  for (const auto& key : keys) add_row(key, [&](const RunRecord& run) { return run.of_environment(key.c_str()); });
  page.table(table);
  for (const auto& run : runs) {
    page.folded(fmt::format("Recipe of {}, every default written out", run.label), {"<pre>" + escaped(run.config_text) + "</pre>"});
    page.paragraph(plain("To repeat it: ") + code(fmt::format("debias train {}/config.yaml output=OTHER", shell_word(run.path))), "note");
  }
}

}  // namespace

std::string run_report_html(const std::vector<RunRecord>& runs, const std::string& debias_version) {
  constexpr size_t kNamedRuns = 3;
  std::string title;
  for (const auto& run : runs) title += (title.empty() ? "" : ", ") + run.label;
  if (runs.size() > kNamedRuns) title = fmt::format("{} runs", runs.size());
  Page page(title);
  for (const auto& run : runs) {
    page.paragraph(runs.size() > 1 ? strong(run.label) + plain(": " + run_words(run)) : plain(run_words(run)));
    for (const auto& note : run.notes) page.paragraph(plain(runs.size() > 1 ? run.label + ": " + note : note), "note warning");
  }
  add_key_numbers(page, runs);
  add_differences(page, runs);
  add_curves(page, runs);
  add_groups(page, runs);
  add_similarities(page, runs);
  add_maps(page, runs);
  add_neighbours(page, runs);
  add_expected(page, runs);
  add_recipes(page, runs);
  page.paragraph(plain(fmt::format("Made by debias report {}.", debias_version)), "note");
  return page.html();
}

}  // namespace debias
