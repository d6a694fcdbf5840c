#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "debias/report/charts/axis.h"
#include "debias/report/run_column.h"
#include "debias/report/sections/missing_parts.h"
#include "debias/report/sections/verdict.h"
#include "debias/report/seed_interval.h"
#include "debias/results/statistics.h"

namespace debias {
namespace {

constexpr double kFarBetter = 0.3;

// The mean over the seeds of a metric of the epoch lines; NaN where a seed lacks it.
double mean_of_last(const RunColumn& column, const std::string& metric) {
  double sum = 0;
  for (const RunRecord* run : column.runs) sum += run->history.last_of_epochs(metric);
  return sum / static_cast<double>(column.runs.size());
}

std::string joined(const std::vector<std::string>& names) {
  std::string words;
  for (const auto& name : names) words += (words.empty() ? "" : " or ") + name;
  return words;
}

const GroupTable* groups_of(const RunRecord& run, const std::string& split) {
  const EvaluationRecord* record = run.evaluation("groups");
  if (record == nullptr) return nullptr;
  const auto found = record->groups.find(split);
  return found == record->groups.end() ? nullptr : &found->second;
}

}  // namespace

std::string shortcut_words(const EvaluationRecord& groups) {
  constexpr size_t kShown = 4;
  if (!groups.aligned) return "";
  std::string words;
  size_t known = 0;
  for (const auto& [label, biases] : groups.aligned->biases_of_class) {
    if (biases.empty() || ++known > kShown) continue;
    words += words.empty() ? fmt::format(" The shortcut: bias label {} belongs to class {}", joined(biases), label)
                           : fmt::format(", {} with {}", joined(biases), label);
  }
  if (known > kShown) words += fmt::format(", and so on for {} classes", known);
  return words.empty() ? "" : words + ".";
}

std::optional<WorstGroup> worst_group(const RunColumn& column, const std::string& split) {
  const GroupTable* first = groups_of(column.shown(), split);
  if (first == nullptr) return std::nullopt;
  std::optional<WorstGroup> worst;
  for (size_t y = 0; y < first->labels.size(); ++y) {
    for (size_t b = 0; b < first->biases.size(); ++b) {
      if (first->count[y][b] == 0) continue;
      std::vector<double> values;
      for (const RunRecord* run : column.runs) {
        const GroupTable* table = groups_of(*run, split);
        const bool is_same = table != nullptr && table->labels == first->labels && table->biases == first->biases;
        if (is_same) values.push_back(table->accuracy[y][b]);
      }
      const double mean = seed_interval(values).mean;
      if (!std::isnan(mean) && (!worst || mean < worst->accuracy)) worst = {first->labels[y], first->biases[b], mean, first->count[y][b]};
    }
  }
  return worst;
}

std::string worst_group_words(const WorstGroup& group) {
  return fmt::format(" The worst group is class {} with bias label {}: {} of its {} images.", group.label, group.bias,
                     percent_text(group.accuracy), group.images);
}

std::optional<GeneralisationGap> generalisation_gap(const RunColumn& column) {
  GeneralisationGap gap{mean_of_last(column, "acc1"), mean_of_last(column, "test.acc1"), {}};
  if (!(gap.train - gap.test >= kFarBetter)) return std::nullopt;  // or NaN
  if (const double held_out = mean_of_last(column, "valid.acc1"); !std::isnan(held_out)) gap.held_out = held_out;
  return gap;
}

std::string gap_sign_words(const GeneralisationGap& gap) {
  std::string words = fmt::format(" The classifier is right on {} of the training images and on {} of the test images",
                                  percent_text(gap.train), percent_text(gap.test));
  if (!gap.held_out) {
    return words +
           ": a sign of a shortcut that training images share and test images lack. Overfitting looks the same; images held out of "
           "training (data.valid) would distinguish the two.";
  }
  words += fmt::format("; on training images that were held out it is right on {}", percent_text(*gap.held_out));
  return words + (gap.is_overfitting()
                      ? ", which is overfitting, not a sign of a shortcut."
                      : ", so it is not overfitting: a sign of a shortcut that training images share and test images lack.");
}

std::vector<double> Gap::by_seed() const {
  std::vector<double> values;
  for (size_t i = 0; i < aligned->by_seed.size(); ++i) values.push_back(aligned->by_seed[i] - conflicting->by_seed[i]);
  return values;
}

std::optional<Gap> gap_of(const std::vector<NumberRow>& rows, size_t column, const std::string& data) {
  for (const char* split : {"test", "valid"}) {
    for (const std::string& source : sources_in_order()) {
      const NumberRow* aligned = find_row(rows, data, fmt::format("{}.aligned_acc", split), source);
      const NumberRow* conflicting = find_row(rows, data, fmt::format("{}.conflicting_acc", split), source);
      if (aligned == nullptr || conflicting == nullptr) continue;
      const auto &a = aligned->by_column[column], &c = conflicting->by_column[column];
      if (a && c && !std::isnan(a->value) && !std::isnan(c->value)) return Gap{split, source, &*a, &*c};
    }
  }
  return std::nullopt;
}

namespace {

// With the decimals of the interval's half width, without zeros behind the point.
std::string points_text(double value, double low, double high, bool with_sign) {
  const double half = (high - low) / 2;
  const int decimals = std::isnan(half) || half >= 0.005 ? 0 : half >= 0.0005 || half <= 0 ? 1 : 2;
  const double unit = std::pow(10, decimals), rounded = std::round(100 * value * unit) / unit + 0.0;
  std::string text = with_sign ? fmt::format("{:+.{}f}", rounded, decimals) : fmt::format("{:.{}f}", rounded, decimals);
  if (decimals > 0) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

std::string Rounding::share(double value) const { return points_text(value, low, high, false); }
std::string Rounding::change(double value) const { return points_text(value, low, high, true); }
std::string Rounding::interval() const {
  return std::isnan(low) || std::isnan(high) ? "" : fmt::format("{} to {}", share(low), share(high));
}

Rounding rounding_of(const KeyNumber& number) {
  return number.kind == IntervalKind::kNone ? Rounding{} : Rounding{number.interval.first, number.interval.second};
}

namespace {

struct PointRange {
  double low = NAN, high = NAN;
  bool known() const { return !std::isnan(low) && !std::isnan(high); }
};

bool was_evaluated(const std::vector<NumberRow>& rows, size_t column) {
  return std::ranges::any_of(rows, [&](const NumberRow& row) {
    const std::string split = split_of(row.metric).split;
    return row.by_column[column] && row.data.empty() && (split == "test" || split == "valid");
  });
}

const EvaluationRecord* groups_record(const RunRecord& run, const std::string& split) {
  const EvaluationRecord* record = run.evaluation("groups");
  return record != nullptr && record->groups.contains(split) ? record : nullptr;
}

}  // namespace

double chance_level(const RunRecord& run, const std::string& split) {
  const EvaluationRecord* record = groups_record(run, split);
  if (record == nullptr) return run.classes.empty() ? NAN : 1 / static_cast<double>(run.classes.size());
  const GroupTable& table = record->groups.at(split);
  int64_t all = 0, most = 0;
  for (size_t y = 0; y < table.labels.size(); ++y) {
    int64_t of_class = 0;
    for (size_t b = 0; b < table.biases.size(); ++b) {
      if (!record->is_aligned(table, y, b).value_or(true)) of_class += table.count[y][b];
    }
    all += of_class;
    most = std::max(most, of_class);
  }
  return all == 0 ? NAN : static_cast<double>(most) / static_cast<double>(all);
}

namespace {

double effective_count(const EvaluationRecord& record, const std::string& split, MarkedImages images, int64_t count) {
  return static_cast<double>(count) / record.design_effect(split, images);
}

PointRange image_range(const RunRecord& run, const Gap& gap) {
  const EvaluationRecord* record = groups_record(run, gap.split);
  const auto counts = record == nullptr ? std::nullopt : record->aligned_counts(gap.split);
  if (!counts || counts->aligned == 0 || counts->conflicting == 0) return {};
  const auto [low, high] =
      difference_interval({gap.aligned->value, effective_count(*record, gap.split, MarkedImages::kAligned, counts->aligned)},
                          {gap.conflicting->value, effective_count(*record, gap.split, MarkedImages::kConflicting, counts->conflicting)});
  return {low, high};
}

std::string percent(double value) { return percent_text(value); }
std::string in_points(double value) { return fmt::format("{:.1f}", 100 * value); }

// Each interval with what it covers.
std::string covered_words(const RunColumn& column, const Gap& gap, const PointRange& seeds, const PointRange& images) {
  std::string words = fmt::format("{} difference of {} points", size_adjective(gap.mean()), in_points(gap.mean()));
  if (seeds.known()) {
    words += fmt::format(", 95 % interval {} to {} over {} seeds (further trainings)", in_points(seeds.low), in_points(seeds.high),
                         column.runs.size());
  }
  if (images.known()) {
    const EvaluationRecord* record = groups_record(column.shown(), gap.split);
    const int64_t groups = record == nullptr ? 0 : record->groups_of(gap.split);
    const std::string of_groups = groups == 0 ? "" : fmt::format("{} groups ({}) of the ", groups, record->groups_from);
    words += fmt::format(", {}{} to {} over the {}evaluated images (other {}, the same {})", seeds.known() ? "and " : "95 % interval ",
                         in_points(images.low), in_points(images.high), of_groups, groups == 0 ? "images" : "groups",
                         column.has_seeds() ? "networks" : "network");
  }
  words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return words + ".";
}

// "Conflicting images 17 %, aligned ones 100 % right: 83 points apart (80 to 85)."
std::string gap_words(const Gap& gap, const PointRange& range) {
  const Rounding rounding{range.low, range.high};
  const std::string interval = rounding.interval(), apart = rounding.share(std::fabs(gap.mean()));
  return fmt::format("Conflicting images {} %, aligned ones {} % right: {} point{} {}{}.",
                     rounding_of(*gap.conflicting).share(gap.conflicting->value), rounding_of(*gap.aligned).share(gap.aligned->value),
                     apart, apart == "1" ? "" : "s", gap.mean() < 0 && apart != "0" ? "fewer" : "apart",
                     interval.empty() ? "" : " (" + interval + ")");
}

bool has_converged(const RunColumn& column) {
  return std::ranges::all_of(column.runs, [](const RunRecord* run) {
    const EvaluationRecord* record = run->evaluation("geometry");
    return record == nullptr || !record->bias_probe || record->bias_probe->converged;
  });
}

// Bias accuracy of a linear probe, against chance.
std::string probe_words(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows, size_t place) {
  for (const char* split : {"test", "valid"}) {
    const NumberRow* probe = find_row(rows, "", fmt::format("{}.bias_probe_acc1", split));
    if (probe == nullptr || !probe->by_column[place] || std::isnan(probe->by_column[place]->value)) continue;
    const double read = probe->by_column[place]->value, chance = chance_of(rows, *probe, place);
    std::string words = fmt::format(" A linear probe predicts the bias label from the features of {} of the images", percent(read));
    if (std::isnan(chance)) {
      words += "; the chance level is unknown.";
    } else {
      words += fmt::format(", where chance gives {}: {}.", percent(chance),
                           read - chance > kSlight ? "the bias is in the features" : "little of the bias is in the features");
    }
    return has_converged(columns[place]) ? words : words + " The probe has not converged, so it may predict more.";
  }
  return "";
}

struct GapEvaluation {
  Finding finding;
  std::string head, why;
};

int sign_of(const PointRange& range) { return range.low > 0 ? 1 : range.high < 0 ? -1 : 0; }

// Verdict on the difference `mean`, whose interval is `range`; `images`: that over the images, beside one over seeds. Where it cannot be
// told whether the shortcut is used, the head says why, or how much of it there may be.
GapEvaluation evaluate_gap(double mean, const PointRange& range, const PointRange& images, double conflicting, double conflicting_low,
                           double chance) {
  if (!range.known()) return {Finding::kCannotTell, "use of the shortcut has no interval yet", " No interval is known for it."};
  if (images.known() && sign_of(images) != sign_of(range)) {
    return {Finding::kCannotTell, "seeds and images disagree on the shortcut",
            " Seeds and images disagree: one interval excludes 0, the other does not."};
  }
  if (range.low > 0) {
    return {range.high > kSlight ? Finding::kUsed : Finding::kUsedLittle, fmt::format("the shortcut is still used {}", size_adverb(mean)),
            ""};
  }
  if (range.high < 0) {
    return {Finding::kOverCorrected, fmt::format("{} over-correction", size_adjective(mean)),
            " Bias-conflicting images are recognised more often than bias-aligned ones: the correction goes beyond its aim."};
  }
  const double most = std::fmax(range.high, images.high);  // not NaN where one is known
  if (most > kSlight) {
    return {Finding::kCannotTell, fmt::format("up to {:.0f} points of the shortcut may be left", std::ceil(100 * most)),
            " The interval contains both no difference and one that matters; evaluate more images or train more seeds."};
  }
  if (!std::isnan(chance) && (std::isnan(conflicting_low) ? conflicting : conflicting_low) <= chance) {
    return {
        Finding::kCannotTell, "too little was learned to show a shortcut",
        fmt::format(" Bias-conflicting images are not classified better than by chance ({}): too little was learned.", percent(chance))};
  }
  return {Finding::kNotUsed, "no sign that the shortcut is used", ""};
}

ShortcutVerdict not_tested(const RunRecord& run) {
  ShortcutVerdict verdict{Finding::kNoTest, "not tested", "Nothing was evaluated on images that training had not seen.", {}, {}};
  if (run.recipe.data_of("test").name.empty() && run.recipe.data_of("valid").name.empty()) {
    verdict.details = "The recipe names none: data.test.";
    return verdict;
  }
  verdict.next = evaluate_protocols(run, run.has_bias_values() ? "knn,groups,geometry" : "knn", "a first test");
  return verdict;
}

std::string trimmed(const std::string& words) { return words.starts_with(' ') ? words.substr(1) : words; }

ShortcutVerdict without_gap(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows, size_t place) {
  const RunRecord& run = columns[place].shown();
  if (!run.of_images()) {
    return {Finding::kNoBias,
            "no bias information",
            fmt::format("{}: there are no classes and no bias labels to evaluate it by.",
                        run.of_agent() ? "An agent learns from rewards" : "This run learns from sentences"),
            {},
            {}};
  }
  if (!was_evaluated(rows, place)) return not_tested(run);
  ShortcutVerdict verdict{Finding::kNoBias,
                          "no bias information",
                          "There are no bias labels, or none is known to belong to a class, so use of a shortcut cannot be evaluated.",
                          {},
                          run.has_bias_values() ? evaluate_protocols(run, "groups,geometry", "accuracy by group") : give_bias_values(run)};
  verdict.details = probe_words(columns, rows, place);
  verdict.sign = generalisation_gap(columns[place]);
  if (verdict.sign) verdict.details += gap_sign_words(*verdict.sign);
  if (verdict.sign && !verdict.sign->is_overfitting()) verdict.head += ", but a sign of a shortcut";
  if (!run.has_bias_values()) verdict.details += unknown_bias_words();
  verdict.details = trimmed(verdict.details);
  return verdict;
}

// The lower end of the accuracy on conflicting images; NaN where it is not known of how many.
double conflicting_low(const RunRecord& run, const Gap& gap) {
  const EvaluationRecord* record = groups_record(run, gap.split);
  const auto counts = record == nullptr ? std::nullopt : record->aligned_counts(gap.split);
  if (!counts || counts->conflicting == 0) return NAN;
  return wilson_interval({gap.conflicting->value, effective_count(*record, gap.split, MarkedImages::kConflicting, counts->conflicting)})
      .first;
}

NextStep step_after(const RunColumn& column, Finding finding, bool has_interval) {
  const RunRecord& run = column.shown();
  if (!has_interval) return evaluate_protocols(run, "groups", "an interval over the images");
  if (!column.has_seeds() || finding == Finding::kCannotTell) return train_more_seeds(column);
  if (run.evaluation("geometry") == nullptr) return evaluate_protocols(run, "geometry", "how much of the bias is in the features");
  return {};
}

}  // namespace

ShortcutVerdict shortcut_verdict(const std::vector<RunColumn>& columns, size_t place, const std::vector<NumberRow>& rows) {
  const RunColumn& column = columns[place];
  const auto gap = gap_of(rows, place);
  if (!gap) return without_gap(columns, rows, place);
  const RunRecord& run = column.shown();
  const SeedInterval over_seeds = seed_interval(gap->by_seed());
  const PointRange seeds = over_seeds.n > 1 ? PointRange{over_seeds.low(), over_seeds.high()} : PointRange{};
  const PointRange images = image_range(run, *gap), range = seeds.known() ? seeds : images;
  const GapEvaluation found = evaluate_gap(gap->mean(), range, seeds.known() ? images : PointRange{}, gap->conflicting->value,
                                           conflicting_low(run, *gap), chance_level(run, gap->split));
  ShortcutVerdict verdict{found.finding, found.head, gap_words(*gap, range), covered_words(column, *gap, seeds, images) + found.why,
                          step_after(column, found.finding, range.known())};
  const EvaluationRecord* record = groups_record(run, gap->split);
  const Coverage over_images = record != nullptr && record->groups_of(gap->split) > 0 ? Coverage::kGroups : Coverage::kImages;
  verdict.difference = {gap->mean(), range.low, range.high,
                        seeds.known()    ? Coverage::kSeeds
                        : images.known() ? over_images
                                         : Coverage::kNone};
  if (record != nullptr) verdict.details += shortcut_words(*record);
  verdict.worst = worst_group(column, gap->split);
  if (verdict.worst) verdict.details += worst_group_words(*verdict.worst);
  verdict.details += probe_words(columns, rows, place);
  return verdict;
}

}  // namespace debias
