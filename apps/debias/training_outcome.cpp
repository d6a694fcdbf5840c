#include "apps/debias/training_outcome.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/debias/metric_text.h"
#include "apps/debias/results.h"
#include "debias/core/human_units.h"
#include "debias/core/printable.h"

namespace debias {
namespace {

nlohmann::ordered_json outcome_json(const TrainingOutcome& outcome, const nlohmann::ordered_json& more) {
  nlohmann::ordered_json out = {
      {"folder", outcome.folder}, {"epochs", outcome.epochs}, {"already_finished", outcome.already_finished}, {"seconds", outcome.seconds}};
  out.update(more);
  for (const auto& [name, value] : outcome.metrics) out["metrics"][name] = value;
  out["notes"] = outcome.notes;
  return out;
}

}  // namespace

void print_outcome(const TrainingOutcome& outcome, bool json, const nlohmann::ordered_json& more) {
  if (json) return print_json(outcome_json(outcome, more));
  const std::string folder = without_control_characters(outcome.folder);
  if (outcome.already_finished) {
    fmt::print("{}: finished already ({} epochs); nothing was changed\n", folder, outcome.epochs);
    return;
  }
  fmt::print("{}: {} epochs in {}\n", folder, outcome.epochs, duration_text(outcome.seconds));
  for (const auto& [name, value] : outcome.metrics) {
    fmt::print("  {:<24} {}\n", without_control_characters(name), metric_text(name, value));
  }
  for (const auto& note : outcome.notes) print_lines(fmt::format("note: {}\n", without_control_characters(note)));
}

}  // namespace debias
