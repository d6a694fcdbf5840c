#include "debias/report/sections/first_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <numeric>

#include "debias/report/run_column.h"
#include "debias/report/sections/evaluation_figures.h"
#include "debias/report/sections/missing_parts.h"

namespace debias {
namespace {

constexpr size_t kMostFigureRows = 12, kNamedInTitle = 3, kLongestNames = 60;

std::string fixed_table(const RunRecord& run) {
  const Config* fix = run.config.find("fix");
  const Config* table = fix == nullptr ? nullptr : fix->find("embeddings");
  return table == nullptr ? "" : table->text();
}

// A person's own folder has its name; other data theirs.
std::string data_of_run(const RunRecord& run) {
  if (run.is_fixed()) return last_part(fixed_table(run));
  for (const char* split : {"test", "valid", "train"}) {
    const DataFacts& data = run.recipe.data_of(split);
    if (data.name.empty()) continue;
    const auto root = data.options.find("root");
    const bool is_own = data.name == "image_folder" || data.name == "sentences";
    const std::string folder = is_own && root != data.options.end() ? last_part(root->second) : "";
    return folder.empty() ? data.name : folder;
  }
  return run.recipe.task;
}

std::string title_of(const ReportData& data) {
  const size_t count = data.columns.size(), named = count > kNamedInTitle + 1 ? kNamedInTitle : count;
  std::string names;
  for (size_t i = 0; i < named; ++i) {
    const char* before = i == 0 ? "" : count == 2 ? " against " : i + 1 == count ? " and " : ", ";
    names += before + data.columns[i].label;
  }
  if (named < count) {
    names = names.size() > kLongestNames ? fmt::format("{} methods", count)
                                         : fmt::format("{} methods: {} and {} more", count, names, count - named);
  }
  const std::string on = data_name(data.runs);
  return names + (on.empty() ? "" : " on " + on);
}

std::string lower_first(std::string words) {
  if (!words.empty() && words[0] != 'k') words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  return words;
}

std::string upper_first(std::string words) {
  if (!words.empty() && !words.starts_with("kNN")) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return words;
}

bool has_number(const NumberRow& row, size_t column) { return row.by_column[column] && !std::isnan(row.by_column[column]->value); }

// What runs without bias labels are shown by: an accuracy on images outside training that most of them have, else their first number
// that is better the higher it is.
const NumberRow* measure_without_bias(const ReportData& data) {
  const NumberRow* best = nullptr;
  size_t most = 0;
  const auto take = [&](const NumberRow& row) {
    size_t having = 0;
    for (size_t i = 0; i < data.columns.size(); ++i) having += has_number(row, i) ? 1 : 0;
    if (having > most) best = &row;
    most = std::max(most, having);
  };
  for (const char* split : {"test", "valid"}) {
    for (const char* metric : {"linear_acc1", "acc1", "knn_acc1", "mean_classifier_acc1"}) {
      for (const std::string& source : sources_in_order()) {
        if (const NumberRow* row = find_row(data.rows, "", fmt::format("{}.{}", split, metric), source)) take(*row);
      }
    }
  }
  if (best != nullptr) return best;
  for (const auto& row : data.rows) {
    if (row.title.better == Better::kHigher) take(row);
  }
  return best;
}

void add_gap_rows(const ReportData& data, FirstScreen& screen) {
  for (size_t i = 0; i < data.columns.size(); ++i) {
    const auto gap = gap_of(data.rows, i);
    if (const auto before = gap_of(data.rows, i, kBefore); gap && before && data.columns[i].shown().is_fixed())
      screen.rows.push_back({data.columns[i].title() + ", before", i, before->conflicting, before->aligned});
    screen.rows.push_back({data.columns[i].title(), i, gap ? gap->conflicting : nullptr, gap ? gap->aligned : nullptr});
    if (gap && std::isnan(screen.chance)) screen.chance = chance_level(data.columns[i].shown(), gap->split);
  }
}

// The share of the largest class, which naming always this one gets right; NaN where it is not known.
double largest_class(const RunRecord& run, const std::string& split) {
  for (const auto& record : run.evaluations) {
    const auto table = record.classes.find(split);
    if (!record.data.empty() || table == record.classes.end()) continue;
    const std::vector<int64_t>& count = table->second.count;
    const auto all = std::accumulate(count.begin(), count.end(), int64_t{0});
    if (all > 0) return static_cast<double>(*std::ranges::max_element(count)) / static_cast<double>(all);
  }
  return NAN;
}

// The column's number; null where it has none.
const KeyNumber* number_with_interval(const ReportData& data, const NumberRow& row, size_t column, FirstScreen& screen) {
  if (!has_number(row, column)) return nullptr;
  const KeyNumber& number = *row.by_column[column];
  const bool has_one = number.kind != IntervalKind::kNone || !row.metric.ends_with("acc1") || data.columns[column].has_seeds();
  const Proportion share = has_one ? Proportion{} : evaluated_share(data.columns[column].shown(), number, row.metric);
  if (share.count == 0) return &number;
  KeyNumber whole = number;
  whole.kind = IntervalKind::kImages;
  whole.interval = wilson_interval(share);
  return screen.completed.emplace_back(std::make_shared<const KeyNumber>(std::move(whole))).get();
}

void add_rows(const ReportData& data, FirstScreen& screen) {
  const auto has_gap = [&](size_t i) { return gap_of(data.rows, i).has_value(); };
  bool any = false;
  for (size_t i = 0; i < data.columns.size(); ++i) any = any || has_gap(i);
  if (any) {
    screen.measure = "Images classified correctly";
    add_gap_rows(data, screen);
  } else if (const NumberRow* row = measure_without_bias(data)) {
    screen.measure = upper_first(row->heading.empty() ? row->title.title : fmt::format("{}, {}", row->title.title, row->heading));
    screen.unit = row->title.unit;
    for (size_t i = 0; i < data.columns.size(); ++i) {
      screen.rows.push_back({data.columns[i].title(), i, number_with_interval(data, *row, i, screen), nullptr});
      const SplitName name = split_of(row->metric);
      if (name.name.ends_with("acc1") && std::isnan(screen.chance)) screen.chance = largest_class(data.columns[i].shown(), name.split);
    }
  }
  for (size_t i = 0; i < screen.rows.size(); ++i) {
    const KeyNumber* number = screen.rows[i].conflicting;
    if (number != nullptr && (!screen.best || number->value >= screen.rows[*screen.best].conflicting->value)) screen.best = i;
  }
}

bool have_one_training_set(const ReportData& data, size_t a, size_t b) {
  return compare_run_data(data.columns[a].shown(), data.columns[b].shown(), "train") != DataLikeness::kDifferent;
}

// Of the best: its comparison with the run that was given first, of those on its training data where there are any.
const ComparisonVerdict* chief_comparison(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons) {
  const ComparisonVerdict* chief = nullptr;
  const auto place = [&](const ComparisonVerdict& each) {
    return std::pair(!have_one_training_set(data, *each.best, *each.other), *each.other);
  };
  for (const auto& each : comparisons) {
    const bool is_correction = each.best && each.best == each.other;
    if (!each.best || (is_correction && comparisons.size() > 1)) continue;
    if (chief == nullptr || (each.best == chief->best && place(each) < place(*chief))) chief = &each;
  }
  // Corrections of several tables, which cannot be compared with each other: the one that gains most.
  const auto gains = [](const ComparisonVerdict& each) { return each.is_better() ? each.difference.mean : -1; };
  const auto most = std::ranges::max_element(comparisons, {}, gains);
  if (chief == nullptr && most != comparisons.end() && most->is_better()) chief = &*most;
  return chief;
}

std::string label_of(const ReportData& data, size_t column) { return data.columns[column].label; }

// "removes most of the shortcut", by how much smaller the difference of aligned and conflicting images has become.
std::string removal_words(double before, double after, const std::string& plain) {
  constexpr double kMost = 0.5, kPart = 0.15;
  const double removed = 1 - after / before;
  if (before <= kSlight) return "recognises more conflicting images than " + plain;
  if (after < -kSlight) return "removes the shortcut and over-corrects";
  if (after <= kSlight) return "removes nearly all of the shortcut";
  return removed >= kMost   ? "removes most of the shortcut"
         : removed >= kPart ? "removes part of the shortcut"
                            : fmt::format("recognises more conflicting images than {}, yet keeps the shortcut", plain);
}

std::string compared_words(const ReportData& data, const ComparisonVerdict& chief) {
  const bool is_correction = chief.best == chief.other;
  const std::string best = label_of(data, *chief.best), plain = is_correction ? "before" : label_of(data, *chief.other);
  const std::string numbers = lower_first(chief.words);
  if (!chief.is_better()) {
    if (chief.comparison == Comparison::kTooFewSeeds) return fmt::format("{} against {}, untested: {}", best, plain, numbers);
    if (chief.difference.low > 0) return fmt::format("Undecided, {} against {} (p = {:.2g}): {}", best, plain, chief.p_holm, numbers);
    return is_correction ? fmt::format("{}: {}", upper_first(chief.head), numbers)
                         : fmt::format("No difference shown, {} against {}: {}", best, plain, numbers);
  }
  const auto after = gap_of(data.rows, *chief.best), before = gap_of(data.rows, *chief.other, is_correction ? kBefore : "");
  if (chief.measure != "conflicting_acc" || !after || !before) return fmt::format("{} is better than {}: {}", best, plain, numbers);
  if (!have_one_training_set(data, *chief.best, *chief.other))
    return fmt::format("{}, trained on other data than {}, recognises more: {}", best, plain, numbers);
  return fmt::format("{} {}: {}", best, removal_words(before->mean(), after->mean(), plain), numbers);
}

std::string value_words(const FirstScreen& screen, const KeyNumber& number) {
  return screen.unit == Unit::kShare ? rounding_of(number).share(number.value) + " %" : metric_number(screen.unit, number.value);
}

// Of agents and sentences, which no test compares: the highest first.
std::string highest_words(const FirstScreen& screen) {
  constexpr size_t kNamed = 3;
  std::vector<const FigureRow*> rows;
  for (const FigureRow& row : screen.rows) {
    if (row.conflicting != nullptr) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, std::greater(), [](const FigureRow* row) { return row->conflicting->value; });
  std::string words;
  for (size_t i = 0; i < std::min(rows.size(), kNamed); ++i)
    words += fmt::format("{}{} {}", i == 0 ? "" : ", ", rows[i]->label, value_words(screen, *rows[i]->conflicting));
  const std::string more = rows.size() > kNamed ? fmt::format(" and {} lower", rows.size() - kNamed) : "";
  return fmt::format("{}: {}{}. No test compares them.", screen.measure, words, more);
}

std::string alone_words(const ReportData& data, const FirstScreen& screen) {
  const ShortcutVerdict verdict = shortcut_verdict(data.columns, 0, data.rows);
  if (gap_of(data.rows, 0)) return fmt::format("{}: {}", upper_first(verdict.head), lower_first(verdict.words));
  const bool is_known = screen.best && (screen.unit == Unit::kShare || !data.has_images);
  if (!is_known) return data.has_images ? fmt::format("{}: {}", upper_first(verdict.head), lower_first(verdict.words)) : "";
  const KeyNumber& number = *screen.rows[*screen.best].conflicting;
  const std::string interval = rounding_of(number).interval();
  const std::string found = fmt::format("{}: {}{}", screen.measure, value_words(screen, number),
                                        interval.empty() || screen.unit != Unit::kShare ? "" : " (" + interval + ")");
  return upper_first(data.has_images ? fmt::format("{}. {}, so a shortcut cannot be measured.", found, upper_first(verdict.head))
                                     : found + ".");
}

std::string verdict_of(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons, const FirstScreen& screen) {
  if (const ComparisonVerdict* chief = chief_comparison(data, comparisons)) return compared_words(data, *chief);
  if (!data.has_images && !screen.best) return "Nothing was evaluated yet.";
  if (data.columns.size() == 1) return alone_words(data, screen);
  if (!data.has_images && screen.best) return highest_words(screen);
  const auto refused = std::ranges::find_if(comparisons, [](const ComparisonVerdict& each) { return !each.best; });
  return refused == comparisons.end() ? "" : fmt::format("{}: {}", upper_first(refused->head), lower_first(refused->words));
}

NextStep next_of(const ReportData& data, const ComparisonVerdict* chief, const FirstScreen& screen) {
  if (chief != nullptr && !chief->next.command.empty()) return chief->next;
  const size_t column = chief != nullptr ? *chief->best : screen.best ? screen.rows[*screen.best].column : 0;
  if (!data.columns[column].shown().of_images()) {
    const std::string commands = missing_part(data.runs, Part::kSentenceTasks).commands;
    return {commands.substr(0, commands.find('\n')), "a first test"};
  }
  NextStep next = shortcut_verdict(data.columns, column, data.rows).next;
  if (next.command.empty()) next = {fmt::format("debias export {}", shell_word(data.columns[column].shown().path)), "use elsewhere"};
  return next;
}

}  // namespace

std::string data_name(const std::vector<RunRecord>& runs) {
  std::string shared;
  for (const auto& run : runs) {
    const std::string name = data_of_run(run);
    if (name.empty() || (!shared.empty() && name != shared)) return "";
    shared = name;
  }
  return shared;
}

FirstScreen first_screen(const ReportData& data, const std::vector<ComparisonVerdict>& comparisons) {
  FirstScreen screen;
  screen.title = title_of(data);
  add_rows(data, screen);
  const ComparisonVerdict* chief = chief_comparison(data, comparisons);
  if (chief != nullptr) {
    screen.corrected = chief->best;
    for (size_t i = 0; i < screen.rows.size(); ++i) {
      if (screen.best && screen.rows[i].column == *chief->best && screen.rows[*screen.best].column != *chief->best) screen.best = i;
    }
  }
  if (chief != nullptr && chief->other != chief->best) screen.plain = chief->other;
  screen.verdict = verdict_of(data, comparisons, screen);
  if (data.columns.size() == 1 && chief == nullptr) {
    const Finding finding = shortcut_verdict(data.columns, 0, data.rows).finding;
    screen.alarm = finding == Finding::kUsed || finding == Finding::kOverCorrected;
  }
  screen.next = next_of(data, chief, screen);
  return screen;
}

namespace {

// All rows, or as many as fit the first screen, the best and those that the verdict names among them.
std::vector<size_t> drawn_rows(const FirstScreen& screen) {
  std::vector<size_t> drawn;
  const auto is_named = [&](size_t i) {
    const size_t column = screen.rows[i].column;
    return screen.best == i || screen.plain == column || screen.corrected == column;
  };
  size_t named = 0, others = 0;
  for (size_t i = 0; i < screen.rows.size(); ++i) named += is_named(i) ? 1 : 0;
  for (size_t i = 0; i < screen.rows.size(); ++i) {
    if (is_named(i) || others++ + named < kMostFigureRows) drawn.push_back(i);
  }
  return drawn;
}

Series series_of(const FirstScreen& screen, const std::vector<size_t>& drawn, const KeyNumber* FigureRow::*number,
                 const std::string& name) {
  Series series{.name = name, .x = {}, .y = {}, .low = {}, .high = {}};
  const bool is_share = screen.unit == Unit::kShare;
  for (const size_t i : drawn) {
    const KeyNumber* found = screen.rows[i].*number;
    const bool has_interval = found != nullptr && found->kind != IntervalKind::kNone;
    const auto end = [&](double value) { return !has_interval ? NAN : is_share ? std::clamp(value, 0.0, 1.0) : value; };
    series.y.push_back(found == nullptr ? NAN : found->value);
    series.low.push_back(found == nullptr ? NAN : end(found->interval.first));
    series.high.push_back(found == nullptr ? NAN : end(found->interval.second));
    series.texts.push_back(found == nullptr ? ""
                           : is_share       ? rounding_of(*found).share(found->value) + " %"
                                            : metric_number(screen.unit, found->value));
  }
  return series;
}

// "Aligned images follow the shortcut (red goes with circle, orange with triangle ...); conflicting ones do not."
std::string side_words(const ReportData& data, const FirstScreen& screen) {
  constexpr size_t kShown = 2;
  for (const FigureRow& row : screen.rows) {
    const EvaluationRecord* groups = data.columns[row.column].shown().evaluation("groups");
    if (row.aligned == nullptr || groups == nullptr || !groups->aligned) continue;
    std::string pairs;
    size_t known = 0;
    for (const auto& [label, biases] : groups->aligned->biases_of_class) {
      if (!biases.empty() && ++known <= kShown) pairs += fmt::format("{}{} goes with {}", pairs.empty() ? "" : ", ", biases.front(), label);
    }
    if (known > 0)
      return fmt::format("Aligned images follow the shortcut ({}{}); conflicting ones do not.", pairs, known > kShown ? ", ..." : "");
  }
  return "";
}

std::pair<Chart, Html> first_figure(const ReportData& data, const FirstScreen& screen) {
  const std::vector<size_t> drawn = drawn_rows(screen);
  Chart chart;
  chart.title = screen.measure;
  chart.draw = Draw::kDots;
  if (screen.unit == Unit::kShare) {
    chart.x.percent = true;
    chart.x.low = 0;
    chart.x.high = 1;
  } else {
    chart.x.low = chart.x.high = 0;  // from zero, so that a difference looks as large as it is
  }
  for (const size_t i : drawn) chart.categories.push_back(screen.rows[i].label);
  const bool by_side = std::ranges::any_of(screen.rows, [](const FigureRow& row) { return row.aligned != nullptr; });
  chart.series.push_back(series_of(screen, drawn, &FigureRow::conflicting, by_side ? "conflicting images" : ""));
  if (by_side) chart.series.push_back(series_of(screen, drawn, &FigureRow::aligned, "aligned images"));
  if (!std::isnan(screen.chance)) {
    chart.reference = screen.chance;
    chart.reference_name = fmt::format("chance {:.0f} %", 100 * screen.chance);
  }
  if (screen.best) chart.highlighted = static_cast<int>(std::ranges::find(drawn, *screen.best) - drawn.begin());
  const size_t left = screen.rows.size() - drawn.size();
  const std::string more = left == 0 ? "" : fmt::format(" {} more {} under Verdict.", left, left == 1 ? "method is" : "methods are");
  return {chart, plain((by_side ? side_words(data, screen) : "") + more)};
}

const std::vector<ExampleImage>* examples_of(const RunRecord& run) {
  const EvaluationRecord* groups = run.evaluation("groups");
  if (groups == nullptr) return nullptr;
  for (const char* split : {"test", "valid"}) {
    if (const auto found = groups->examples.find(split); found != groups->examples.end()) return &found->second;
  }
  return nullptr;
}

// The same image as another run has it; null where it has others.
const ExampleImage* same_image(const std::vector<ExampleImage>* images, const ExampleImage& image) {
  if (images == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*images, [&](const ExampleImage& other) {
    return other.id == image.id && other.label == image.label && other.bias == image.bias && other.aligned == image.aligned;
  });
  return found == images->end() ? nullptr : &*found;
}

struct SayingRun {
  std::string label;
  const std::vector<ExampleImage>* images;
};

// A line may end behind each underscore.
std::string breakable(const std::string& name) {
  std::string text;
  for (const char c : escaped(name)) text += c == '_' ? std::string("_<wbr/>") : std::string(1, c);
  return text;
}

Html table_row(const std::string& head, const std::vector<Html>& cells) {
  Html row{head.empty() ? "<tr><td></td>" : "<tr><th scope=\"row\">" + breakable(head) + "</th>"};
  for (const Html& cell : cells) row += cell;
  return row + Html{"</tr>\n"};
}

// Images of one side above what they are and what each network says. Nothing where a picture is missing.
Html example_table(const RunRecord& run, const std::vector<SayingRun>& says, bool aligned, const std::string& caption) {
  std::vector<ExampleImage> images;
  std::ranges::copy_if(*examples_of(run), std::back_inserter(images), [&](const ExampleImage& image) { return image.aligned == aligned; });
  const std::string split = run.evaluation("groups")->examples.contains("test") ? "test" : "valid";
  std::vector<Html> pictures, facts;
  for (const ExampleImage& image : images) {
    const std::string bytes = thumbnail_bytes(fmt::format("{}/evaluation/examples/{}_{}.png", run.path, split, image.id));
    if (bytes.empty()) return {};
    const std::string is = fmt::format("{}, {}", image.label, image.bias);
    pictures.push_back(element("td", "", thumbnail_image(bytes, fmt::format("{} image {}: {}", split, image.id, is))));
    facts.push_back(element("td", "", plain(is)));
  }
  if (images.empty()) return {};
  Html rows = table_row("", pictures) + table_row("class, bias", facts);
  for (const SayingRun& one : says) {
    std::vector<Html> cells;
    for (const ExampleImage& image : images) {
      const ExampleImage* own = same_image(one.images, image);
      const bool is_right = own != nullptr && own->predicted == own->label;
      cells.push_back(own == nullptr ? element("td", "", plain("–"))
                                     : element("td", is_right ? "" : "wrong", plain((is_right ? "✓ " : "✗ ") + own->predicted)));
    }
    rows += table_row(one.label, cells);
  }
  return element("table", "examples", element("caption", "", plain(caption)) + element("tbody", "", rows));
}

// Eight evaluated images, with what the plain and the corrected network say; nothing where a run has none.
Html example_images(const ReportData& data, const FirstScreen& screen, size_t column) {
  const RunRecord& run = data.columns[column].shown();
  if (examples_of(run) == nullptr) return {};
  std::vector<SayingRun> says;
  for (const auto& of : {screen.plain, std::optional(column)}) {
    if (!of) continue;
    const std::string& label = data.columns[*of].label;
    says.push_back({data.columns.size() == 1 ? "predicted" : label, examples_of(data.columns[*of].shown())});
  }
  const Html aligned = example_table(run, says, true, "Follow the shortcut (aligned)");
  const Html conflicting = example_table(run, says, false, "Do not follow it (conflicting)");
  return aligned.source.empty() || conflicting.source.empty() ? Html{} : aligned + conflicting;
}

}  // namespace

void add_first_screen(Page& page, const ReportData& data) {
  const auto comparisons = comparison_verdicts(data.columns, data.rows);
  const FirstScreen screen = first_screen(data, comparisons);
  if (!screen.verdict.empty()) page.paragraph(plain(screen.verdict), screen.alarm ? "lead alarm" : "lead");
  page.add({"<div class=\"first\"><div>\n"});
  if (!screen.rows.empty()) page.figures({first_figure(data, screen)});
  const size_t shown = screen.corrected.value_or(screen.best ? screen.rows[*screen.best].column : 0);
  const Html examples = example_images(data, screen, shown);
  page.add({"</div>\n"});
  page.add(element("div", "seen", examples.source.empty() ? groups_or_classes(data, shown) : examples) + Html{"\n<div>\n"});
  if (!screen.next.command.empty()) {
    page.paragraph(plain(fmt::format("Next, for {}{}:", screen.next.why, step_time(screen.next))));
    page.command(screen.next.command);
  }
  if (const std::string note = interval_note(data, comparisons); !note.empty()) page.paragraph(plain(note), "note");
  page.add({"</div></div>\n"});
}

}  // namespace debias
