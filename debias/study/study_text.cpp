#include "debias/study/study_text.h"

#include <fmt/format.h>

namespace debias {

std::string bcl_text(const BclResults& results) {
  std::string text;
  constexpr Estimator columns[] = {Estimator::kBiased,        Estimator::kDebiased,          Estimator::kDebiasedFloor,  Estimator::kHard,
                                   Estimator::kBayesianPaper, Estimator::kBayesianCorrected, Estimator::kBayesianAuthors};
  text += fmt::format("mean squared error against the anchor's true negatives\n{:<40}", "setting (base, or what changes)");
  for (const auto column : columns) text += fmt::format(" {:>18}", enum_name(column));
  text += fmt::format(" {:>10}\n", "mean truth");
  for (size_t i = 0; i < results.rows.size(); ++i) {
    text += fmt::format("{:<40}", results.rows[i].change);
    for (const auto column : columns) text += fmt::format(" {:>18.4g}", results.row_figures[i].of[static_cast<size_t>(column)].mse.mean);
    text += fmt::format(" {:>10.4g}\n", results.row_figures[i].of[static_cast<size_t>(Estimator::kOracle)].target);
  }
  text += "\nmean of the estimates at the base\n";
  for (const auto& [name, estimator] : EnumNames<Estimator>::values) {
    const auto& of = results.row_figures[0].of[static_cast<size_t>(estimator)];
    text += fmt::format("{:<20} {:>10.4g}   target {:>8.4g}   bias {:>10.3g}   variance {:>9.3g}\n", name, of.mean, of.target, of.bias,
                        of.variance);
  }
  text += "\nsamplers: accept-reject against inversion, Kolmogorov-Smirnov\n";
  for (const auto& check : results.samplers) {
    text += fmt::format("alpha {:<4} true negatives D {:.4f} (p {:.2f}), false negatives D {:.4f} (p {:.2f})\n", check.alpha,
                        check.true_negatives.distance, check.true_negatives.p_value, check.false_negatives.distance,
                        check.false_negatives.p_value);
  }
  return text;
}

std::string theorems_text(const std::vector<TheoremCheck>& checks) {
  std::string text;
  for (const auto& check : checks) {
    text += fmt::format("{}: {}\n", check.statement, check.claim);
    if (!check.setting.empty()) text += fmt::format("    {}\n", check.setting);
    if (check.verdict != Verdict::kOrderOnly) {
      text += fmt::format("    {:.6g} {} {:.6g}", check.left, check.relation, check.right);
      if (check.error > 0) text += fmt::format("  (+- {:.2g})", check.error);
      text += "\n";
    }
    text += fmt::format("    {}\n", enum_name(check.verdict));
  }
  return text;
}

std::string embeddings_text(const EmbeddingStudy& study) {
  std::string text;
  constexpr Estimator columns[] = {Estimator::kBiased,        Estimator::kDebiasedFloor,     Estimator::kHard,
                                   Estimator::kBayesianPaper, Estimator::kBayesianCorrected, Estimator::kBayesianAuthors,
                                   Estimator::kOracle};
  text += fmt::format("{} rows, {} classes, {} anchors; by the labels tau_plus = {:.4g}, alpha = {:.4g}\n", study.rows, study.classes,
                      study.anchors, study.tau_plus, study.alpha);
  text += fmt::format("mean squared error against the mean over all rows of other classes\n{:<20}", "setting");
  for (const auto column : columns) text += fmt::format(" {:>18}", enum_name(column));
  text += "\n";
  for (const auto& [setting, of] : study.settings) {
    text += fmt::format("{:<20}", setting.parameter == "base" ? fmt::format("base, N = {}", setting.negatives)
                                                              : fmt::format("{} = {:.4g}", setting.parameter, setting.value));
    for (const auto column : columns) text += fmt::format(" {:>18.4g}", of[static_cast<size_t>(column)].mse.mean);
    text += "\n";
  }
  text += "\nat the base\n";
  for (const auto& [name, estimator] : EnumNames<Estimator>::values) {
    const auto& of = study.settings[0].of[static_cast<size_t>(estimator)];
    text += fmt::format("{:<20} mean {:>9.4g}   target {:>9.4g}   bias {:>10.3g}   variance {:>9.3g}   mse {:>9.3g}\n", name, of.mean,
                        of.target, of.bias, of.variance, of.mse.mean);
  }
  text += fmt::format("\n{}\n", study.recommendation);
  return text;
}

}  // namespace debias
