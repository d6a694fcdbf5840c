#include "debias/fix/fixed_text.h"

#include <fmt/format.h>

#include <cmath>

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

}  // namespace

std::string fixed_text(const FixedOutcome& outcome, const std::string& folder) {
  const FixResult& result = outcome.result;
  std::string text =
      fmt::format("{:<14}  {:<20}  {:<20}  {:<20}  {}\n", "% correct", "all", "bias-aligned", "bias-conflicting", "worst group");
  text += accuracy_lines("before", outcome.evaluations.before.groups.record, outcome.evaluations.by_folds);
  text += accuracy_lines("after", outcome.evaluations.after.groups.record, outcome.evaluations.by_folds);
  text += result.changed ? fmt::format("{}: corrected by {} in {:.1f} s; {}/fix.log says why\n", folder, enum_name(result.method),
                                       outcome.seconds, folder)
                         : fmt::format("{}: nothing is changed; {}/fix.log says why\n", folder, folder);
  return text;
}

}  // namespace debias
