#include "debias/report/pages/study_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "debias/report/pages/page.h"
#include "debias/results/json_file.h"

namespace debias {
namespace {

using Figures = std::vector<std::pair<Chart, Html>>;

// Estimators of the mean over true negatives; those of the anchor's own class estimate another quantity.
constexpr std::array<std::string_view, 7> kNegativeEstimators = {"biased",         "debiased",           "debiased_floor",  "hard",
                                                                 "bayesian_paper", "bayesian_corrected", "bayesian_authors"};

std::string parameter_label(const std::string& parameter) {
  if (parameter == "negatives") return "N, negatives";
  if (parameter == "positives") return "K, positives";
  if (parameter == "temperature") return "t, temperature";
  return parameter;
}

bool doubles(const std::string& parameter) { return parameter == "negatives" || parameter == "positives"; }

std::string command_of(const Json& study) { return study.at("command").get<std::string>(); }

Html caption(const Json& study, const std::string& words) {
  return plain(words + (words.empty() ? "" : " ")) + code(command_of(study) + " --out DIR");
}

// One quantity of one estimator over the points of a sweep.
struct Quantity {
  const char* key;       // "mse"
  const char* interval;  // "mse_interval", or null
};

Series series_of(const std::string& name, const std::vector<double>& x, const std::vector<const Json*>& estimators,
                 const Quantity& quantity) {
  Series series{.name = name, .x = x, .y = {}, .low = {}, .high = {}};
  for (const Json* of : estimators) {
    const Json& estimator = of->at(name);
    series.y.push_back(number_or_nan(estimator.at(quantity.key)));
    if (quantity.interval == nullptr) continue;
    series.low.push_back(number_or_nan(estimator.at(quantity.interval).at(0)));
    series.high.push_back(number_or_nan(estimator.at(quantity.interval).at(1)));
  }
  return series;
}

// Differences that are zero but for rounding would stretch a log axis to 1e-32.
void leave_out_rounding(Chart& chart) {
  constexpr double kRounding = 1e-15;
  double largest = 0;
  for (const auto& series : chart.series) {
    for (const double y : series.y) largest = std::fmax(largest, y);
  }
  for (auto& series : chart.series) {
    std::ranges::replace_if(
        series.y, [&](double y) { return y < kRounding * largest; }, std::numeric_limits<double>::quiet_NaN());
  }
}

Chart sweep_chart(const std::string& title, const std::string& parameter, const std::vector<double>& x,
                  const std::vector<const Json*>& estimators, const Quantity& quantity, Scale scale) {
  Chart chart;
  chart.title = title;
  chart.x.label = parameter_label(parameter);
  if (doubles(parameter)) chart.x.scale = Scale::kLog;
  chart.y.scale = scale;
  for (const auto name : kNegativeEstimators) chart.series.push_back(series_of(std::string(name), x, estimators, quantity));
  if (scale == Scale::kLog) leave_out_rounding(chart);
  return chart;
}

struct Panel {
  std::string figure, parameter, interval;
  std::vector<double> x;
  std::vector<const Json*> estimators;
};

Panel panel_of(const Json& json) {
  Panel panel{json.at("figure"), json.at("parameter"), json.at("interval"), {}, {}};
  for (const auto& point : json.at("points")) {
    panel.x.push_back(point.at("value").get<double>());
    panel.estimators.push_back(&point.at("estimators"));
  }
  return panel;
}

std::string reading(const std::string& interval) { return interval == "text" ? "interval of the text" : "interval of the program"; }

Figures density_figures(const Json& study) {
  Figures figures;
  for (const auto& [key, title] : {std::pair{"true_negative", "True negatives"}, {"false_negative", "False negatives"}}) {
    Chart chart;
    chart.title = title;
    chart.x.label = "Φ, share of the proposal below";
    chart.y.label = "density over the proposal's";
    chart.y.low = 0;
    std::map<double, Series> by_alpha;
    for (const auto& at : study.at("densities")) {
      const auto alpha = at.at("alpha").get<double>();
      Series& series = by_alpha[alpha];
      series.name = fmt::format("alpha = {:g}", alpha);
      series.x.push_back(at.at("phi").get<double>());
      series.y.push_back(number_or_nan(at.at(key)));
    }
    for (auto& [alpha, series] : by_alpha) chart.series.push_back(std::move(series));
    figures.emplace_back(std::move(chart), caption(study, ""));
  }
  return figures;
}

Figures sampler_figures(const Json& study) {
  Figures figures;
  for (const auto& check : study.at("samplers")) {
    Chart chart;
    chart.title = fmt::format("alpha = {:g}", check.at("alpha").get<double>());
    chart.draw = Draw::kSteps;
    chart.x.label = "exp(x / t)";
    chart.y.label = "density";
    for (const auto& [key, name] : {std::pair{"inversion_density", "inversion"}, {"accept_reject_density", "accept-reject"}}) {
      chart.series.push_back({.name = name,
                              .x = check.at("edges").get<std::vector<double>>(),
                              .y = check.at(key).get<std::vector<double>>(),
                              .low = {},
                              .high = {}});
    }
    const auto p_value = [&](const char* key) { return check.at(key).at("p_value").get<double>(); };
    const std::string words = fmt::format("Kolmogorov-Smirnov of the two samplers: p = {:.2f} for true, {:.2f} for false negatives.",
                                          p_value("true_negatives_two_samplers"), p_value("false_negatives_two_samplers"));
    figures.emplace_back(std::move(chart), caption(study, words));
  }
  return figures;
}

Figures error_figures(const Json& study, const std::string& interval) {
  Figures figures;
  for (const auto& json : study.at("panels")) {
    const Panel panel = panel_of(json);
    if (panel.figure != "5" || panel.interval != interval) continue;
    Chart chart = sweep_chart("Mean squared error against " + parameter_label(panel.parameter), panel.parameter, panel.x, panel.estimators,
                              {"mse", "mse_interval"}, Scale::kLog);
    figures.emplace_back(std::move(chart), caption(study, reading(interval) + "."));
  }
  return figures;
}

Figures mean_figures(const Json& study) {
  Figures figures;
  for (const auto& json : study.at("panels")) {
    const Panel panel = panel_of(json);
    if (!panel.figure.starts_with("8")) continue;
    Chart chart = sweep_chart(fmt::format("Mean of the estimates against {}", panel.parameter), panel.parameter, panel.x, panel.estimators,
                              {"mean", nullptr}, Scale::kLinear);
    std::erase_if(chart.series, [](const Series& series) { return series.name == "hard"; });
    chart.series.push_back(series_of("oracle", panel.x, panel.estimators, {"mean", nullptr}));
    chart.series.back().name = "true negatives";
    figures.emplace_back(std::move(chart), caption(study, reading(panel.interval) + "."));
  }
  return figures;
}

Cell number(double value) { return {plain(std::isnan(value) ? "–" : short_number(value)), "n", ""}; }

// "4.89e-3"; numbers from 0.1 to 1000 without the power.
std::string three_digits(double value) {
  if (std::isnan(value)) return "–";
  const double size = std::fabs(value);
  if (size >= 0.1 && size < 1000) return fmt::format("{:.3g}", value);
  std::string text = fmt::format("{:.2e}", value);
  const size_t power = text.find('e') + 1;
  return text.substr(0, power) + fmt::format("{}", std::stoi(text.substr(power)));
}

Table error_table(const Json& rows, const std::function<std::string(const Json&)>& heading) {
  Table table{"Mean squared error against the mean over true negatives; in brackets its 95 % interval over repetitions", "numbers", {}, {}};
  table.add_heads({"setting"});
  for (const auto name : kNegativeEstimators) table.add_heads({std::string(name)}, true);
  for (const auto& json : rows) {
    Row row;
    row.cells.push_back({plain(heading(json)), "", ""});
    for (const auto name : kNegativeEstimators) {
      const Json& estimator = json.at("estimators").at(std::string(name));
      const double low = number_or_nan(estimator.at("mse_interval").at(0)), high = number_or_nan(estimator.at("mse_interval").at(1));
      Cell cell{plain(three_digits(number_or_nan(estimator.at("mse")))), "n", ""};
      if (std::isfinite(low) && std::isfinite(high)) {
        cell.content += element("span", "small below", plain(fmt::format("[{}, {}]", three_digits(low), three_digits(high))));
      }
      row.cells.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void open_with_command(Page& page, const Json& study, const std::string& words) {
  page.paragraph(plain(words));
  page.preformatted(command_of(study) + " --out DIR");
}

// "DCL" of "DCL Theorem 3".
std::string paper_of(const std::string& statement) { return statement.substr(0, statement.find(' ')); }

struct Statement {
  std::string name, claim, setting, relation, verdict;
  double left = 0, right = 0, error = 0;
  int number = 0;  // in its paper's table

  bool has_sides() const { return !verdict.starts_with("states an order"); }
  bool fails() const { return verdict.starts_with("fails"); }
};

Statement statement_of(const Json& json, int number) {
  return {json.at("statement"),
          json.at("claim"),
          json.at("setting"),
          json.at("relation"),
          json.at("verdict"),
          number_or_nan(json.at("left")),
          number_or_nan(json.at("right")),
          number_or_nan(json.at("standard_error")),
          number};
}

Table statement_table(const std::vector<Statement>& statements) {
  Table table{"", "numbers statements", {}, {}};
  table.add_heads({"number", "statement", "verdict", "left", "relation", "right"});
  table.head[3].css_class = table.head[5].css_class = "n";
  for (const auto& statement : statements) {
    Html what = plain(statement.name) + element("span", "small below", plain(statement.claim));
    if (!statement.setting.empty()) what += element("span", "small below", plain(statement.setting));
    Row row{{{plain(fmt::format("{}", statement.number)), "", ""},
             {what, "text", ""},
             {statement.fails() ? strong(statement.verdict) : plain(statement.verdict), "", ""}},
            false};
    if (statement.has_sides()) {
      Cell left = number(statement.left);
      if (statement.error > 0) left.content += element("span", "small below", plain(fmt::format("± {}", short_number(statement.error))));
      row.cells.insert(row.cells.end(), {left, {plain(statement.relation), "", ""}, number(statement.right)});
    } else {
      row.cells.insert(row.cells.end(), 3, Cell{});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Bars of both sides, some statements a chart, all on one axis.
std::vector<Chart> sides_charts(const std::string& paper, const std::vector<Statement>& statements) {
  constexpr size_t kStatements = 10;
  std::vector<Chart> charts;
  double low = 0, high = 0;
  for (const auto& statement : statements) {
    if (!statement.has_sides()) continue;
    if (charts.empty() || charts.back().categories.size() == kStatements) {
      Chart& chart = charts.emplace_back();
      chart.title = fmt::format("{}: left and right sides, from {}", paper, statement.number);
      chart.draw = Draw::kBars;
      chart.series = {{.name = "left", .x = {}, .y = {}, .low = {}, .high = {}},
                      {.name = "right", .x = {}, .y = {}, .low = {}, .high = {}}};
    }
    Chart& chart = charts.back();
    chart.categories.push_back(
        fmt::format("{}  {}: left {} right{}", statement.number, statement.name, statement.relation, statement.fails() ? " fails" : ""));
    chart.series[0].y.push_back(statement.left);
    chart.series[1].y.push_back(statement.right);
    for (const double side : {statement.left, statement.right}) {
      low = std::fmin(low, side);
      high = std::fmax(high, side);
    }
  }
  for (auto& chart : charts) {
    chart.x.low = low;
    chart.x.high = high;
  }
  return charts;
}

}  // namespace

std::string bcl_page(const nlohmann::ordered_json& study) {
  Page page("Bayesian contrastive learning: the numerical study");
  open_with_command(page, study,
                    "A population of similarities whose classes are known: how far is each estimator from the mean over an anchor's true "
                    "negatives? Panels of figures 3, 4, 5 and 8 of Liu and Wang 2023, all from this command:");
  page.heading(2, "Reference settings");
  page.table(error_table(study.at("reference"), [](const Json& row) { return row.at("change").get<std::string>(); }));
  page.heading(2, "Figure 3: densities of the classes");
  page.figures(density_figures(study));
  page.heading(2, "Figure 4: two samplers of one law");
  page.figures(sampler_figures(study));
  page.heading(2, "Figure 5: errors, interval of the text");
  page.paragraph(plain("Bands are 95 % intervals over repetitions. Errors that are zero up to rounding are not drawn: without false "
                       "negatives (tau_plus = 0) some estimators make none."),
                 "note");
  page.figures(error_figures(study, "text"));
  page.heading(2, "Figure 5: errors, interval of the program");
  page.figures(error_figures(study, "code"));
  page.heading(2, "Figure 8: means of the estimates");
  page.paragraph(plain("The estimator hard is left out: weighting hard negatives estimates another quantity."), "note");
  page.figures(mean_figures(study));
  return page.html();
}

std::string theorems_page(const nlohmann::ordered_json& study) {
  Page page("The papers' statements, both sides measured");
  open_with_command(
      page, study,
      "Expectations over classes are exact, those over drawn samples are means with a standard error; an inequality is held to "
      "it up to three of them.");
  std::vector<std::string> papers;
  std::map<std::string, std::vector<Statement>> by_paper;
  for (const auto& json : study.at("statements")) {
    const std::string paper = paper_of(json.at("statement").get<std::string>());
    if (!by_paper.contains(paper)) papers.push_back(paper);
    by_paper[paper].push_back(statement_of(json, static_cast<int>(by_paper[paper].size()) + 1));
  }
  for (const auto& paper : papers) {
    page.heading(2, paper);
    page.table(statement_table(by_paper[paper]));
    Figures figures;
    for (auto& chart : sides_charts(paper, by_paper[paper])) figures.emplace_back(std::move(chart), caption(study, ""));
    page.figures(figures);
  }
  page.paragraph(plain("± is the standard error of left minus right."), "note");
  return page.html();
}

std::string estimators_page(const nlohmann::ordered_json& study) {
  Page page("Every estimator on your embeddings");
  const auto count = [&](const char* key) { return study.at(key).get<int64_t>(); };
  open_with_command(page, study,
                    fmt::format("{} rows, {} classes, {} anchors; by the labels tau_plus = {:.4g} and alpha = {:.4g}.", count("rows"),
                                count("classes"), count("anchors"), study.at("tau_plus").get<double>(), study.at("alpha").get<double>()));
  page.paragraph(strong(study.at("recommendation").get<std::string>()));
  page.heading(2, "Errors by setting");
  const auto heading = [](const Json& row) {
    const auto parameter = row.at("parameter").get<std::string>();
    return parameter == "base" ? fmt::format("base, N = {}", row.at("negatives").get<int64_t>())
                               : fmt::format("{} = {:.4g}", parameter, row.at("value").get<double>());
  };
  page.table(error_table(study.at("settings"), heading));
  for (const std::string parameter : {"tau_plus", "alpha", "beta", "negatives"}) {
    std::vector<double> x;
    std::vector<const Json*> estimators;
    for (const auto& setting : study.at("settings")) {
      if (setting.at("parameter").get<std::string>() != parameter) continue;
      x.push_back(setting.at("value").get<double>());
      estimators.push_back(&setting.at("estimators"));
    }
    if (x.empty()) continue;
    const std::string label = parameter_label(parameter);
    page.heading(2, "Against " + label);
    page.figures({{sweep_chart("Bias", parameter, x, estimators, {"bias", nullptr}, Scale::kLinear), caption(study, "")},
                  {sweep_chart("Variance", parameter, x, estimators, {"variance", nullptr}, Scale::kLog), caption(study, "")},
                  {sweep_chart("Mean squared error", parameter, x, estimators, {"mse", "mse_interval"}, Scale::kLog), caption(study, "")}});
  }
  return page.html();
}

}  // namespace debias
