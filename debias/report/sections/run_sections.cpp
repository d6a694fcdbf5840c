#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "debias/core/recipe_keys.h"
#include "debias/report/charts/axis.h"
#include "debias/report/charts/curve_figures.h"
#include "debias/report/pages/page.h"
#include "debias/report/recipe_facts.h"
#include "debias/report/run_column.h"
#include "debias/report/sections/report_sections.h"
#include "debias/report/tables/number_text.h"

namespace debias {
namespace {

Cell number_cell(const std::vector<NumberRow>& rows, const NumberRow& row, size_t column) {
  const NumberText text = number_text(rows, row, column);
  if (!text.is_number()) return {text.value == "–" ? plain(text.value) : element("span", "small", plain(text.value)), "n", ""};
  Html content = row.best == static_cast<int>(column) ? strong(text.value) : plain(text.value);
  for (const auto& beside : {text.interval, text.remark}) {
    if (!beside.empty()) content += element("span", "small", plain(" " + beside));
  }
  return {content, "n", ""};
}

// "within", "outside", or nothing where there is no tolerance.
std::string expectation_met(double found, const Published& expected) {
  if (std::isnan(found)) return "not measured";
  if (!expected.tolerance) return "";
  return std::fabs(found - expected.value) <= *expected.tolerance * (1 + 1e-9) ? "within" : "outside";
}

// Value at the epoch of the published number; 0: the last one.
double found_at(const ReportData& data, size_t column, const std::string& metric, int64_t epoch) {
  if (epoch > 0 && epoch != data.columns[column].shown().recipe.epochs) {
    const ColumnCurve curve = column_curve(data.columns[column], metric, false);
    const auto at = std::ranges::find(curve.x, static_cast<double>(epoch));
    return at == curve.x.end() ? NAN : curve.y[static_cast<size_t>(at - curve.x.begin())];
  }
  const NumberRow* row = row_with_number(data.rows, "", metric, column);
  return row == nullptr ? NAN : row->by_column[column]->value;
}

Row expected_row(const ReportData& data, size_t column, const Published& expected) {
  const Unit unit = data.columns[column].titles().unit(expected.metric);
  const int64_t epoch = std::max<int64_t>(0, expected.epoch), trained = data.columns[column].shown().epochs_done;
  const double found = found_at(data, column, expected.metric, epoch);
  const std::string of_epoch = epoch > 0 ? fmt::format(", epoch {}", epoch) : "";
  const std::string within = expected.tolerance ? " ± " + metric_number(unit, *expected.tolerance) : "";
  return {{{plain(data.columns[column].title() + ", " + expected.metric + of_epoch), "", ""},
           {plain(metric_number(unit, expected.value) + within), "n", ""},
           {plain(std::isnan(found) ? "–" : metric_number(unit, found)), "n", ""},
           {plain(epoch > trained ? fmt::format("trained for {} epochs", trained) : expectation_met(found, expected)), "", ""},
           {plain(expected.source), "text", ""}},
          false};
}

}  // namespace

namespace {

// The numbers that answer whether a shortcut is used and what it costs, or how well an agent or an encoder of sentences does; the others are
// folded.
bool is_key_number(const ReportData& data, const NumberRow& row) {
  if (!data.has_images) return row.data.empty() && row.title.better == Better::kHigher;
  constexpr std::array kNames = {"acc1",         "knn_acc1",        "linear_acc1",
                                 "aligned_acc",  "conflicting_acc", "worst_group_acc",
                                 "unbiased_acc", "bias_probe_acc1", "mean_classifier_acc1"};
  const SplitName name = split_of(row.metric);
  return (row.data.empty() || row.data == kBefore) && (name.split == "test" || name.split == "valid") &&
         std::ranges::find(kNames, name.name) != kNames.end();
}

std::vector<const NumberRow*> own_rows(const ReportData& data, bool key) {
  std::vector<const NumberRow*> rows;
  for (const auto& row : data.rows) {
    if (has_own_row(data.rows, row) && is_key_number(data, row) == key) rows.push_back(&row);
  }
  return rows;
}

void add_numbers(Page& page, const ReportData& data, const std::vector<const NumberRow*>& rows, const std::string& caption) {
  Table table{caption, "numbers key", {}, {}};
  table.add_heads({"metric"});
  for (const auto& column : data.columns) {
    Html head = plain(column.title());
    if (!column.shown().finished()) head += element("span", "small", plain(fmt::format(" ({})", progress_text(column.shown()))));
    table.head.push_back({head, "n", ""});
  }
  const std::string* heading = nullptr;
  for (const NumberRow* row : rows) {
    if (heading == nullptr || *heading != row->heading) table.rows.push_back({{{plain(row->heading), "", ""}}, true});
    heading = &row->heading;
    table.rows.push_back({{{plain(row->title.title), "", ""}}, false});
    for (size_t column = 0; column < data.columns.size(); ++column) table.rows.back().cells.push_back(number_cell(data.rows, *row, column));
  }
  page.table(table);
}

}  // namespace

void add_key_numbers(Page& page, const ReportData& data) {
  if (data.rows.empty()) {
    page.paragraph(plain("No epoch is finished and nothing was evaluated yet."), "missing");
    return;
  }
  const auto rows = own_rows(data, true);
  if (rows.empty()) return;
  const auto has = [&](IntervalKind kind) {
    return std::ranges::any_of(rows, [&](const NumberRow* row) {
      return std::ranges::any_of(row->by_column, [&](const auto& number) { return number && number->kind == kind; });
    });
  };
  const bool any_best = std::ranges::any_of(rows, [](const NumberRow* row) { return row->best >= 0; });
  add_numbers(page, data, rows,
              fmt::format("Key numbers{}{}{}", has(IntervalKind::kSeeds) ? "; ±: half of the 95 % interval over seeds" : "",
                          has(IntervalKind::kImages) ? "; in brackets: 95 % interval over " + sampled_units(data.columns) : "",
                          any_best ? "; bold: better than every other" : ""));
}

void add_further_numbers(Page& page, const ReportData& data) {
  if (data.rows.empty()) return;
  page.heading(2, "Further numbers", "every other metric, training time, and what the intervals mean");
  if (const auto rows = own_rows(data, false); !rows.empty()) add_numbers(page, data, rows, "All other numbers");
  const bool files = std::ranges::any_of(data.rows, [](const NumberRow& row) {
    return std::ranges::any_of(row.by_column, [](const auto& number) { return number && number->source.ends_with(".json"); });
  });
  std::string note = files ? "Numbers are from evaluation/*.json, and from the last epoch line of training where no file has them."
                           : "Numbers are from the last epoch line of training.";
  for (const auto& more : number_notes(data.columns, data.rows)) note += " " + more;
  page.paragraph(plain(note), "note");
  add_missing(page, data.runs, Part::kSentenceTasks);
}

// Expected numbers of the recipe beside those of the run.
void add_expected(Page& page, const ReportData& data) {
  Table table{"", "numbers", {}, {}};
  table.add_heads({"run and metric"});
  table.add_heads({"expected", "found"}, true);
  table.add_heads({"outcome", "source"});
  for (size_t i = 0; i < data.columns.size(); ++i) {
    for (const auto& expected : data.columns[i].shown().recipe.expected) {
      if (!std::isnan(expected.value)) table.rows.push_back(expected_row(data, i, expected));
    }
  }
  if (table.rows.empty()) return;
  page.heading(2, "What was expected", "numbers that the recipe expects, beside those of the run");
  page.table(table);
}

namespace {

constexpr size_t kMostDifferences = 60;

// Values of each column's recipe by key, and the keys in order of appearance; without where and when a run was written.
struct RecipeKeys {
  std::vector<std::string> keys;
  std::vector<std::map<std::string, std::string>> values;
};

RecipeKeys recipe_keys(const std::vector<RunColumn>& columns) {
  RecipeKeys found;
  for (const auto& column : columns) {
    auto& values = found.values.emplace_back();
    for (auto& [key, value] : flattened(column.shown().config)) {
      if (key == "output" || key.starts_with("expected")) continue;
      if (std::ranges::find(found.keys, key) == found.keys.end()) found.keys.push_back(key);
      values[key] = key == "seed" ? seeds_text(column) : key == "name" ? recipe_name(column) : value;
    }
  }
  return found;
}

Table column_table(const std::vector<RunColumn>& columns, const std::string& head) {
  Table table{"", "numbers config", {}, {}};
  table.add_heads({head});
  for (const auto& column : columns) table.add_heads({column.title()});
  return table;
}

// A row of each run's value; left out if none has one. A column with seeds gives their value if they agree, else all values.
template <class ValueOf>
void add_row(Table& table, const std::vector<RunColumn>& columns, const std::string& name, ValueOf&& value_of) {
  Row row{{{plain(name), "", ""}}, false};
  bool any = false;
  for (const auto& column : columns) {
    std::vector<std::string> values;
    for (const RunRecord* run : column.runs) {
      const std::string value = value_of(*run);
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
    std::string text;
    for (const auto& value : values) text += (text.empty() ? "" : ", ") + value;
    any = any || !text.empty();
    row.cells.push_back({plain(text.empty() ? "–" : text), "", ""});
  }
  if (any) table.rows.push_back(std::move(row));
}

}  // namespace

void add_notes(Page& page, const ReportData& data) {
  for (const auto& column : data.columns) {
    if (!column.shown().finished())
      page.paragraph(plain(fmt::format("{}: {}.", column.title(), progress_text(column.shown()))), "note warning");
    for (const RunRecord* run : column.runs) {
      for (const auto& note : run->notes) page.paragraph(plain(data.runs.size() > 1 ? run->label + ": " + note : note), "note warning");
    }
  }
}

void add_differences(Page& page, const ReportData& data) {
  if (data.columns.size() < 2) return;
  const RecipeKeys recipes = recipe_keys(data.columns);
  Table table = column_table(data.columns, "recipe key");
  size_t differing = 0;
  for (const auto& key : recipes.keys) {
    const auto of = [&](const auto& values) {
      const auto found = values.find(key);
      return found == values.end() || found->second.empty() ? std::string("–") : found->second;
    };
    const std::string first = of(recipes.values[0]);
    const bool differs = std::ranges::any_of(recipes.values, [&](const auto& values) { return of(values) != first; });
    if (!differs || ++differing > kMostDifferences) continue;
    Row row{{{code(key), "", ""}}, false};
    for (const auto& values : recipes.values) row.cells.push_back({plain(of(values)), "", ""});
    table.rows.push_back(std::move(row));
  }
  page.heading(2, "What differs", "recipe keys in which the runs differ");
  if (differing == 0) {
    page.paragraph(plain("The recipes are the same, but for where the runs are written."));
    return;
  }
  page.table(table);
  if (differing > kMostDifferences) {
    page.paragraph(plain(fmt::format("{} more keys differ; the recipes are at the end.", differing - kMostDifferences)), "note");
  }
}

void add_recipes(Page& page, const ReportData& data) {
  page.heading(2, "What was run", "folders, seeds, versions, whole recipes, and the command that repeats each");
  for (const auto& column : data.columns) page.paragraph(strong(column.title()) + plain(": " + column_words(column)));
  Table table = column_table(data.columns, "setting");
  add_row(table, data.columns, "folder", [](const RunRecord& run) { return run.path; });
  add_row(table, data.columns, "recipe", [](const RunRecord& run) { return run.recipe.name; });
  add_row(table, data.columns, "trained", progress_text);
  add_row(table, data.columns, "seed", [](const RunRecord& run) { return run.seed(); });
  for (const char* split : {"train", "valid", "test"}) {
    add_row(table, data.columns, fmt::format("seed of the {} data", split),
            [&](const RunRecord& run) { return run.recipe.data_of(split).seed; });
  }
  std::vector<std::string> keys;
  for (const auto& run : data.runs) {
    for (const auto& [key, value] : run.environment.items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  for (const auto& key : keys) {
    add_row(table, data.columns, key, [&](const RunRecord& run) { return run.of_environment(key.c_str()); });
  }
  page.table(table);
  for (const auto& run : data.shown) {
    page.folded(fmt::format("Recipe of {}, every default written out", run.label), {"<pre>" + escaped(run.config_text) + "</pre>"});
    page.paragraph(plain("To repeat it: ") +
                       code(fmt::format("debias {}train {}/config.yaml output=OTHER", run.of_agent() ? "rl " : "", shell_word(run.path))),
                   "note");
  }
}

namespace {

// Still frames of an episode, a strip for each run of an agent.

constexpr int64_t kVideoBytes = 1'200'000;  // of a page's frames, as files

// As many as fit, evenly apart, the first and the last among them.
std::vector<size_t> frames_that_fit(const std::vector<std::string>& frames, int64_t most_bytes) {
  for (size_t count = frames.size(); count > 1; --count) {
    std::vector<size_t> chosen;
    int64_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      chosen.push_back(i * (frames.size() - 1) / (count - 1));
      bytes += std::ssize(frames[chosen.back()]);
    }
    if (bytes <= most_bytes) return chosen;
  }
  return frames.empty() ? std::vector<size_t>{} : std::vector<size_t>{frames.size() - 1};
}

Html frame_figure(const VideoStill& still, const std::string& png) {
  const std::string when = fmt::format("step {}", still.control_step), reward = fmt::format("reward {}", short_number(still.reward));
  return element(
      "figure", "",
      thumbnail_image(png, fmt::format("{}, {}", when, reward)) + element("figcaption", "", plain(when) + Html{"<br/>"} + plain(reward)));
}

std::string episode_words(const RunRecord& run) {
  const VideoRecord& video = *run.video;
  const bool evaluated = fmt::format("{}", video.seed) == run.seed();
  return fmt::format("{}: episode {} of {}, played by the mean action of the policy in {} after {} control steps of training. It {} {}.",
                     run.label, video.episode + 1,
                     evaluated ? "those that training is evaluated with" : fmt::format("the seed {}", video.seed), video.checkpoint,
                     video.control_steps, video.diverged ? "ended early, in a non-finite state, with a return of" : "has a return of",
                     short_number(video.episode_return));
}

// Note that training continued after the video.
Html later_words(const RunRecord& run) {
  const double now = run.history.last_of_epochs("control_steps");
  if (std::isnan(now) || now <= static_cast<double>(run.video->control_steps)) return {};
  return plain(fmt::format(" Training has come to {} control steps since; ", short_number(now))) +
         code(fmt::format("debias rl play {}", shell_word(run.path))) + plain(" plays its newest policy.");
}

void add_video_of_run(Page& page, const RunRecord& run, int64_t most_bytes) {
  std::vector<std::string> frames, missing;
  for (size_t i = 0; i < run.video->stills.size(); ++i) {
    frames.push_back(thumbnail_bytes(fmt::format("{}/{}/{}", run.path, kVideoFolder, still_name(i))));
    if (frames.back().empty()) missing.push_back(still_name(i));
  }
  const std::vector<size_t> shown = frames_that_fit(frames, most_bytes);
  Html strip;
  for (const size_t i : shown) strip += frame_figure(run.video->stills[i], frames[i]);
  page.paragraph(plain(episode_words(run)) + later_words(run));
  page.add(element("div", "film", strip));
  if (shown.size() < frames.size()) {
    page.paragraph(plain(fmt::format("{} of {} frames are shown, to keep the file small.", shown.size(), frames.size())), "note");
  }
  if (!missing.empty()) {
    page.paragraph(
        plain(fmt::format("{} of {} frames are missing or not PNG files, {} the first; ", missing.size(), frames.size(), missing[0])) +
            code(fmt::format("debias rl play {}", shell_word(run.path))) + plain(" writes them again."),
        "missing");
  }
}

}  // namespace

void add_videos(Page& page, const ReportData& data) {
  if (std::ranges::none_of(data.runs, &RunRecord::of_agent)) return;
  page.heading(2, "Video", "frames of an episode");
  const auto videos = std::ranges::count_if(data.shown, [](const RunRecord& run) { return run.video.has_value(); });
  if (videos > 0) {
    page.paragraph(plain("Frames of an episode, evenly apart in time: below each its control step, and the reward added up until then."));
  }
  for (const auto& run : data.shown) {
    if (run.video) add_video_of_run(page, run, kVideoBytes / videos);
  }
  add_missing(page, data.shown, Part::kVideo);
}

}  // namespace debias
