#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "debias/report/axis.h"
#include "debias/report/missing_parts.h"
#include "debias/report/prediction_source.h"
#include "debias/report/seed_interval.h"
#include "debias/report/verdict.h"
#include "debias/results/proportion_interval.h"

namespace debias {
namespace {

constexpr double kLittle = 0.05;  // a difference of accuracies up to which a shortcut does not count for much

struct Range {
  double low = NAN, high = NAN;
  bool known() const { return !std::isnan(low) && !std::isnan(high); }
};

// The two accuracies of a column, by one source's predictions.
struct Gap {
  std::string split, source;
  const KeyNumber *aligned = nullptr, *conflicting = nullptr;

  double mean() const { return aligned->value - conflicting->value; }
  std::vector<double> by_seed() const {
    std::vector<double> values;
    for (size_t i = 0; i < aligned->by_seed.size(); ++i) values.push_back(aligned->by_seed[i] - conflicting->by_seed[i]);
    return values;
  }
};

// Test before valid, a classifier's predictions before a probe's and kNN's.
std::optional<Gap> gap_of(const std::vector<NumberRow>& rows, size_t column) {
  for (const char* split : {"test", "valid"}) {
    for (const char* source : {"classifier", "linear", "knn", ""}) {
      const NumberRow* aligned = find_row(rows, "", fmt::format("{}.aligned_acc", split), source);
      const NumberRow* conflicting = find_row(rows, "", fmt::format("{}.conflicting_acc", split), source);
      if (aligned == nullptr || conflicting == nullptr) continue;
      const auto &a = aligned->by_column[column], &c = conflicting->by_column[column];
      if (a && c && !std::isnan(a->value) && !std::isnan(c->value)) return Gap{split, source, &*a, &*c};
    }
  }
  return std::nullopt;
}

bool was_judged(const std::vector<NumberRow>& rows, size_t column) {
  return std::ranges::any_of(rows, [&](const NumberRow& row) {
    const std::string split = split_of(row.metric).split;
    return row.by_column[column] && row.data.empty() && (split == "test" || split == "valid");
  });
}

const EvaluationRecord* groups_record(const RunRecord& run, const std::string& split) {
  const EvaluationRecord* record = run.evaluation("groups");
  return record != nullptr && record->groups.contains(split) ? record : nullptr;
}

Range image_range(const RunRecord& run, const Gap& gap) {
  const EvaluationRecord* record = groups_record(run, gap.split);
  const auto counts = record == nullptr ? std::nullopt : record->aligned_counts(gap.split);
  if (!counts || counts->aligned == 0 || counts->conflicting == 0) return {};
  const auto [low, high] = difference_interval({gap.aligned->value, static_cast<double>(counts->aligned)},
                                               {gap.conflicting->value, static_cast<double>(counts->conflicting)});
  return {low, high};
}

// What naming the most frequent class of the conflicting images would reach; NaN where it is not known.
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

std::string percent(double value) { return percent_text(value); }
std::string in_points(double value) { return fmt::format("{:.1f}", 100 * value); }

std::string gap_words(const RunColumn& column, const Gap& gap, const Range& range, bool over_seeds) {
  const std::string who = gap.source.empty() ? "" : fmt::format(" ({})", source_title(gap.source));
  std::string words =
      fmt::format("On {}, {} of the bias-aligned and {} of the bias-conflicting images are judged right{}{}: ", gap.split,
                  percent(gap.aligned->value), percent(gap.conflicting->value), over_seeds ? ", in the mean over the seeds" : "", who);
  words += fmt::format("a difference of {} points", in_points(gap.mean()));
  if (range.known()) {
    words += fmt::format(", 95 % interval {} to {} over {}", in_points(range.low), in_points(range.high),
                         over_seeds ? fmt::format("{} seeds", column.runs.size()) : "the images judged");
  }
  return words + ".";
}

bool has_converged(const RunColumn& column) {
  return std::ranges::all_of(column.runs, [](const RunRecord* run) {
    const EvaluationRecord* record = run->evaluation("geometry");
    return record == nullptr || !record->bias_probe || record->bias_probe->converged;
  });
}

// What a linear probe reads of the bias, against guessing.
std::string probe_words(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows, size_t place) {
  for (const char* split : {"test", "valid"}) {
    const NumberRow* probe = find_row(rows, "", fmt::format("{}.bias_probe_acc1", split));
    if (probe == nullptr || !probe->by_column[place] || std::isnan(probe->by_column[place]->value)) continue;
    const double read = probe->by_column[place]->value, chance = bias_chance(rows, "", split, place);
    std::string words = fmt::format(" A linear probe reads the bias value from the features of {} of the images", percent(read));
    if (std::isnan(chance)) {
      words += "; what chance would give is not known.";
    } else {
      words += fmt::format(", where chance would give {}: {}.", percent(chance),
                           read - chance > kLittle ? "the bias is in the features" : "little of the bias is in the features");
    }
    return has_converged(columns[place]) ? words : words + " The probe has not converged: it may read more.";
  }
  return "";
}

struct Judgement {
  Finding finding;
  std::string head, why;
};

Judgement judged(const Range& range, const Range& images, double conflicting, double conflicting_low, double chance) {
  if (!range.known()) return {Finding::kCannotTell, "whether the shortcut is used cannot be told", " No interval is known for it."};
  const bool images_disagree = images.known() && (images.low > 0) != (range.low > 0);
  if (images_disagree) {
    return {Finding::kCannotTell, "whether the shortcut is used cannot be told",
            fmt::format(" Over the images judged the interval is {} to {}: seeds and images do not say the same.", in_points(images.low),
                        in_points(images.high))};
  }
  if (range.low > 0) {
    return range.high > kLittle ? Judgement{Finding::kUsed, "the shortcut is still used", ""}
                                : Judgement{Finding::kUsedLittle, "the shortcut is still used, though little", ""};
  }
  if (range.high > kLittle || (images.known() && images.high > kLittle)) {
    return {Finding::kCannotTell, "whether the shortcut is used cannot be told",
            " No difference and one that matters are both within reach; more images or more seeds would tell."};
  }
  if (!std::isnan(chance) && (std::isnan(conflicting_low) ? conflicting : conflicting_low) <= chance) {
    return {Finding::kCannotTell, "whether the shortcut is used cannot be told",
            fmt::format(" Bias-conflicting images are not judged better than by chance ({}): too little was learned.", percent(chance))};
  }
  return {Finding::kNotUsed, "no sign that the shortcut is used", ""};
}

ShortcutVerdict without_gap(const std::vector<RunColumn>& columns, const std::vector<NumberRow>& rows, size_t place) {
  const RunRecord& run = columns[place].shown();
  if (!run.of_images()) {
    return {Finding::kNoBias, "no bias information",
            fmt::format("{}: there are no classes and no bias values to judge it by.",
                        run.of_agent() ? "An agent learns from rewards" : "This run learns from sentences"),
            ""};
  }
  const std::string path = shell_word(run.path);
  if (!was_judged(rows, place)) {
    return {Finding::kNoTest, "not tested", "Nothing was judged on images that training had not seen.",
            "debias eval knn,groups,geometry " + path};
  }
  return {Finding::kNoBias, "no bias information",
          "Nothing says which bias value an image has and which goes with its class: whether a shortcut is used cannot be told." +
              probe_words(columns, rows, place),
          "debias eval groups,geometry " + path};
}

}  // namespace

ShortcutVerdict shortcut_verdict(const std::vector<RunColumn>& columns, size_t place, const std::vector<NumberRow>& rows) {
  const RunColumn& column = columns[place];
  const auto gap = gap_of(rows, place);
  if (!gap) return without_gap(columns, rows, place);
  const RunRecord& run = column.shown();
  const SeedInterval seeds = seed_interval(gap->by_seed());
  const bool over_seeds = seeds.n > 1;
  const Range images = image_range(run, *gap);
  const Range range = over_seeds ? Range{seeds.low(), seeds.high()} : images;
  double conflicting_low = NAN;
  if (const auto* record = groups_record(run, gap->split); record != nullptr && images.known()) {
    const auto count = static_cast<double>(record->aligned_counts(gap->split)->conflicting);
    conflicting_low = wilson_interval({gap->conflicting->value, count}).first;
  }
  const Judgement found =
      judged(range, over_seeds ? images : Range{}, gap->conflicting->value, conflicting_low, chance_level(run, gap->split));
  ShortcutVerdict verdict{found.finding, found.head, gap_words(column, *gap, range, over_seeds) + found.why, ""};
  if (!over_seeds) verdict.words += " This is one training run: how far another seed would fall is not known.";
  verdict.words += probe_words(columns, rows, place);
  if (!range.known()) verdict.command = "debias eval groups " + shell_word(run.path);
  return verdict;
}

const char* finding_name(Finding finding) {
  switch (finding) {
    case Finding::kUsed:
      return "used";
    case Finding::kUsedLittle:
      return "used_little";
    case Finding::kNotUsed:
      return "not_used";
    case Finding::kCannotTell:
      return "cannot_tell";
    case Finding::kNoBias:
      return "no_bias";
    case Finding::kNoTest:
      break;
  }
  return "no_test";
}

}  // namespace debias
