#include "debias/fix/fixed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace debias {
namespace {

std::string share(const double* value) { return value == nullptr || std::isnan(*value) ? "    -" : fmt::format("{:5.1f}", 100 * *value); }

// A line of percentages with intervals for each head and split.
std::string accuracy_lines(const char* who, const EvaluationRecord& record, bool by_folds) {
  std::string lines;
  for (const auto& [split, count] : record.counts) {
    if (split == "train") continue;
    lines += fmt::format("{:<7} {:<6}", who, by_folds && split == "valid" ? "folds" : split);
    for (const char* metric : {"acc1", "aligned_acc", "conflicting_acc", "worst_group_acc"}) {
      const std::string name = split + "." + metric;
      lines += "  " + share(record.metric(name));
      const auto interval = record.intervals.find(name);
      lines += interval == record.intervals.end()
                   ? std::string(15, ' ')
                   : fmt::format(" [{:5.1f}, {:5.1f}]", 100 * interval->second.first, 100 * interval->second.second);
    }
    lines += "\n";
  }
  return lines;
}

// Whole table of percentages, with intervals.
std::string accuracy_table(const FixedEvaluations& evaluations) {
  return fmt::format("{:<14}  {:<20}  {:<20}  {:<20}  {}\n", "% correct", "all", "bias-aligned", "bias-conflicting", "worst group") +
         accuracy_lines("before", evaluations.before.groups.record, evaluations.by_folds) +
         accuracy_lines("after", evaluations.after.groups.record, evaluations.by_folds);
}

// Before and after on the split that tells most: test, or else valid.
std::string accuracy_summary(const FixedEvaluations& evaluations, const TextStyle& style) {
  const EvaluationRecord &before = evaluations.before.groups.record, &after = evaluations.after.groups.record;
  const auto has = [&](std::string_view split) {
    return std::ranges::any_of(after.counts, [&](const auto& count) { return count.first == split; });
  };
  const std::string split = has("test") ? "test" : "valid";
  if (!has(split)) return "";
  std::string text = fmt::format("{:<24} before  after\n", "% correct, " + (evaluations.by_folds && split == "valid" ? "folds" : split));
  for (const auto& [metric, name] : {std::pair("acc1", "all"), std::pair("aligned_acc", "bias-aligned"),
                                     std::pair("conflicting_acc", "bias-conflicting"), std::pair("worst_group_acc", "worst group")}) {
    const double *was = before.metric(split + "." + metric), *is = after.metric(split + "." + metric);
    text +=
        fmt::format("{:<24}  {}  {}{}\n", name, share(was), share(is), is == nullptr || std::isnan(*is) ? "" : share_bar(*is, style, 20));
  }
  return text;
}

}  // namespace

std::string fixed_text(const FixedOutcome& outcome, const std::string& folder, const TextStyle& style) {
  const FixResult& result = outcome.result;
  std::string text = result.changed ? fmt::format("{}: corrected by {} in {:.1f} s; {}/fix.log says why\n", folder,
                                                  enum_name(result.method), outcome.seconds, folder)
                                    : fmt::format("{}: nothing is changed; {}/fix.log says why\n", folder, folder);
  if (style.verbose) return text + accuracy_table(outcome.evaluations);
  text += accuracy_summary(outcome.evaluations, style);
  return text + "-v prints all splits with 95 % intervals\n";
}

}  // namespace debias
