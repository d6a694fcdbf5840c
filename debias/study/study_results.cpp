#include "debias/study/study_results.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace debias {

BclResults study_bcl(const BclSetting& base, const StudyRun& run) {
  constexpr int64_t kFigure4Samples = 20000;
  BclResults results{.rows = reference_rows(base), .row_figures = {}, .panels = panels(base), .panel_figures = {}, .samplers = {}};
  std::vector<BclSetting> settings;
  for (const auto& row : results.rows) settings.push_back(row.setting);
  for (const auto& panel : results.panels) settings.insert(settings.end(), panel.settings.begin(), panel.settings.end());
  const std::vector<BclFigures> all = measure(settings, run);
  auto next = all.begin() + std::ssize(results.rows);
  results.row_figures.assign(all.begin(), next);
  for (const auto& panel : results.panels) {
    results.panel_figures.emplace_back(next, next + std::ssize(panel.settings));
    next += std::ssize(panel.settings);
  }
  results.samplers = check_samplers(kFigure4Samples, run);
  return results;
}

namespace {

using Json = nlohmann::ordered_json;
using Figures = std::array<EstimatorFigures, kEstimators>;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
std::string cell(double value) { return std::isfinite(value) ? fmt::format("{:.9g}", value) : ""; }

// Text with a comma or a quote in it, as CSV has it.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

Json figures_json(const Figures& figures) {
  Json out = Json::object();
  for (const auto& [name, estimator] : EnumNames<Estimator>::values) {
    const auto& of = figures[static_cast<size_t>(estimator)];
    out[std::string(name)] = {{"count", of.count},
                              {"mean", number(of.mean)},
                              {"target", number(of.target)},
                              {"bias", number(of.bias)},
                              {"variance", number(of.variance)},
                              {"mse", number(of.mse.mean)},
                              {"mse_standard_error", number(of.mse.standard_error)},
                              {"mse_interval", {number(of.mse.low), number(of.mse.high)}}};
  }
  return out;
}

constexpr char kFigureColumns[] = "estimator,count,mean,target,bias,variance,mse,mse_low,mse_high\n";

std::string figure_lines(const std::string& setting, const Figures& figures) {
  std::string out;
  for (const auto& [name, estimator] : EnumNames<Estimator>::values) {
    const auto& of = figures[static_cast<size_t>(estimator)];
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", setting, name, of.count, cell(of.mean), cell(of.target), cell(of.bias),
                       cell(of.variance), cell(of.mse.mean), cell(of.mse.low), cell(of.mse.high));
  }
  return out;
}

Json setting_json(const BclSetting& setting) {
  const Population& population = setting.population;
  return {{"interval", enum_name(population.reading)},
          {"alpha", population.alpha},
          {"gamma", population.gamma},
          {"tau_plus", population.tau_plus},
          {"temperature", population.temperature},
          {"anchors", setting.anchors},
          {"negatives", setting.negatives},
          {"positives", setting.positives},
          {"beta", setting.beta},
          {"hard_beta", setting.hard_beta}};
}

Json test_json(const KolmogorovSmirnov& test) { return {{"distance", test.distance}, {"p_value", test.p_value}}; }

}  // namespace

nlohmann::ordered_json to_json(const BclResults& results) {
  Json out = {{"reference", Json::array()}, {"panels", Json::array()}, {"densities", Json::array()}, {"samplers", Json::array()}};
  for (size_t i = 0; i < results.rows.size(); ++i) {
    out["reference"].push_back({{"change", results.rows[i].change},
                                {"setting", setting_json(results.rows[i].setting)},
                                {"estimators", figures_json(results.row_figures[i].of)}});
  }
  for (size_t i = 0; i < results.panels.size(); ++i) {
    const BclPanel& panel = results.panels[i];
    Json points = Json::array();
    for (size_t j = 0; j < panel.values.size(); ++j) {
      points.push_back({{"value", panel.values[j]}, {"estimators", figures_json(results.panel_figures[i][j].of)}});
    }
    out["panels"].push_back(
        {{"figure", panel.figure}, {"parameter", panel.parameter}, {"interval", enum_name(panel.reading)}, {"points", points}});
  }
  for (const auto& at : class_densities()) {
    out["densities"].push_back(
        {{"alpha", at.alpha}, {"phi", at.phi}, {"true_negative", at.true_negative}, {"false_negative", at.false_negative}});
  }
  for (const auto& check : results.samplers) {
    out["samplers"].push_back({{"alpha", check.alpha},
                               {"samples", check.samples},
                               {"true_negatives_two_samplers", test_json(check.true_negatives)},
                               {"false_negatives_two_samplers", test_json(check.false_negatives)},
                               {"inversion_closed_form", test_json(check.inversion)},
                               {"accept_reject_closed_form", test_json(check.accept_reject)},
                               {"edges", check.edges},
                               {"inversion_density", check.inversion_density},
                               {"accept_reject_density", check.accept_reject_density}});
  }
  return out;
}

nlohmann::ordered_json to_json(const std::vector<TheoremCheck>& checks) {
  Json out = Json::array();
  for (const auto& check : checks) {
    out.push_back({{"statement", check.statement},
                   {"claim", check.claim},
                   {"setting", check.setting},
                   {"left", number(check.left)},
                   {"relation", check.relation},
                   {"right", number(check.right)},
                   {"standard_error", number(check.error)},
                   {"verdict", enum_name(check.verdict)}});
  }
  return out;
}

nlohmann::ordered_json to_json(const EmbeddingStudy& study) {
  Json out = {{"rows", study.rows},         {"classes", study.classes}, {"anchors", study.anchors},
              {"tau_plus", study.tau_plus}, {"alpha", study.alpha},     {"recommendation", study.recommendation},
              {"settings", Json::array()}};
  for (const auto& [setting, of] : study.settings) {
    out["settings"].push_back({{"parameter", setting.parameter},
                               {"value", setting.value},
                               {"negatives", setting.negatives},
                               {"tau_plus", setting.options.tau_plus},
                               {"alpha", setting.options.alpha},
                               {"beta", setting.options.beta},
                               {"hard_beta", setting.options.hard_beta},
                               {"estimators", figures_json(of)}});
  }
  return out;
}

std::string reference_csv(const BclResults& results) {
  std::string out = fmt::format("{}{}", "change,", kFigureColumns);
  for (size_t i = 0; i < results.rows.size(); ++i) out += figure_lines(quoted(results.rows[i].change), results.row_figures[i].of);
  return out;
}

std::string panels_csv(const BclResults& results) {
  std::string out = fmt::format("{}{}", "figure,interval,parameter,value,", kFigureColumns);
  for (size_t i = 0; i < results.panels.size(); ++i) {
    const BclPanel& panel = results.panels[i];
    for (size_t j = 0; j < panel.values.size(); ++j) {
      out += figure_lines(fmt::format("{},{},{},{:.9g}", panel.figure, enum_name(panel.reading), panel.parameter, panel.values[j]),
                          results.panel_figures[i][j].of);
    }
  }
  return out;
}

std::string densities_csv() {
  std::string out = "alpha,phi,true_negative,false_negative\n";
  for (const auto& at : class_densities())
    out += fmt::format("{:.9g},{:.9g},{:.9g},{:.9g}\n", at.alpha, at.phi, at.true_negative, at.false_negative);
  return out;
}

std::string samples_csv(const BclResults& results) {
  std::string out = "alpha,low,high,inversion,accept_reject\n";
  for (const auto& check : results.samplers) {
    for (size_t i = 0; i + 1 < check.edges.size(); ++i) {
      out += fmt::format("{:.9g},{:.9g},{:.9g},{:.9g},{:.9g}\n", check.alpha, check.edges[i], check.edges[i + 1],
                         check.inversion_density[i], check.accept_reject_density[i]);
    }
  }
  return out;
}

std::string theorems_csv(const std::vector<TheoremCheck>& checks) {
  std::string out = "statement,claim,setting,left,relation,right,standard_error,verdict\n";
  for (const auto& check : checks) {
    out += fmt::format("{},{},{},{},{},{},{},{}\n", quoted(check.statement), quoted(check.claim), quoted(check.setting), cell(check.left),
                       check.relation, cell(check.right), cell(check.error), enum_name(check.verdict));
  }
  return out;
}

std::string embeddings_csv(const EmbeddingStudy& study) {
  std::string out = fmt::format("{}{}", "parameter,value,negatives,tau_plus,alpha,beta,hard_beta,", kFigureColumns);
  for (const auto& [setting, of] : study.settings) {
    const auto& options = setting.options;
    out += figure_lines(fmt::format("{},{:.9g},{},{:.9g},{:.9g},{:.9g},{:.9g}", setting.parameter, setting.value, setting.negatives,
                                    options.tau_plus, options.alpha, options.beta, options.hard_beta),
                        of);
  }
  return out;
}

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
