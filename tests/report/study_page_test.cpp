#include "debias/report/pages/study_page.h"
#include "tests/report/reports.h"

namespace debias::study_page_test {

using Json = nlohmann::ordered_json;

Json estimators(double mse) {
  Json out;
  for (const char* name :
       {"biased", "debiased", "debiased_floor", "hard", "bayesian_paper", "bayesian_corrected", "bayesian_authors", "oracle"}) {
    out[name] = {{"mean", 0.9}, {"bias", 0.1}, {"variance", mse}, {"mse", mse}, {"mse_interval", {mse / 2, nullptr}}};
  }
  return out;
}

size_t times(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Json bcl_study() {
  Json study = {{"command", "debias study bcl --seed 3"}};
  study["reference"].push_back({{"change", "base & <more>"}, {"estimators", estimators(1e-3)}});
  for (const char* figure : {"5", "8a"}) {
    for (const char* interval : {"text", "code"}) {
      Json panel = {{"figure", figure}, {"parameter", "negatives"}, {"interval", interval}};
      for (const int n : {4, 8, 512}) panel["points"].push_back({{"value", n}, {"estimators", estimators(1.0 / n)}});
      study["panels"].push_back(panel);
    }
  }
  for (const double alpha : {0.5, 0.9}) {
    for (const double phi : {0.0, 1.0}) {
      study["densities"].push_back({{"alpha", alpha}, {"phi", phi}, {"true_negative", 1.0}, {"false_negative", phi}});
    }
  }
  study["samplers"].push_back({{"alpha", 0.5},
                               {"true_negatives_two_samplers", {{"p_value", 0.5}}},
                               {"false_negatives_two_samplers", {{"p_value", 0.25}}},
                               {"edges", {0.0, 1.0, 2.0}},
                               {"inversion_density", {0.5, 0.5}},
                               {"accept_reject_density", {0.4, 0.6}}});
  return study;
}

TEST(StudyPage, EachFigureOfBclCarriesItsCommand) {
  const std::string page = bcl_page(bcl_study());
  EXPECT_EQ(well_formed(page).fault, "");
  const size_t figures = well_formed(page).count("figure");
  EXPECT_EQ(figures, 2u + 1u + 2u + 2u);  // figures 3, 4, 5 by both readings, 8
  EXPECT_EQ(times(page, "<code>debias study bcl --seed 3 --out DIR</code></figcaption>"), figures);
  for (const char* name : {"Figure 3", "Figure 4", "Figure 5", "Figure 8"}) EXPECT_THAT(page, HasSubstr(name));
  EXPECT_THAT(page, HasSubstr("base &amp; &lt;more&gt;"));
  EXPECT_EQ(page, bcl_page(bcl_study()));
}

TEST(StudyPage, AnErrorOfRoundingDoesNotStretchTheAxis) {
  Json study = bcl_study();
  study["panels"][0]["points"][0]["estimators"] = estimators(1e-33);
  const std::string page = bcl_page(study);
  expect_parts(page, {"zero up to rounding"}, {"e-33"});
}

TEST(StudyPage, TheoremsHaveBothSidesAndTheVerdict) {
  Json study = {{"command", "debias study theorems"}};
  study["statements"] = {{{"statement", "DCL Lemma 1"},
                          {"claim", "L_Biased >= ..."},
                          {"setting", "ten classes"},
                          {"left", 1.5},
                          {"relation", ">="},
                          {"right", 0.25},
                          {"standard_error", 0.125},
                          {"verdict", "holds"}},
                         {{"statement", "MDB Theorem 2.1"},
                          {"claim", "a < b & c"},
                          {"setting", "N = 1000"},
                          {"left", 1.968},
                          {"relation", "<="},
                          {"right", 0.888},
                          {"standard_error", 0},
                          {"verdict", "fails: counterexample"}},
                         {{"statement", "DCL Theorem 5"},
                          {"claim", "an order"},
                          {"setting", ""},
                          {"left", nullptr},
                          {"relation", "<="},
                          {"right", nullptr},
                          {"standard_error", 0},
                          {"verdict", "states an order only"}}};
  const std::string page = theorems_page(study);
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_THAT(page,
              HasSubstr("<strong>fails: counterexample</strong></td><td class=\"n\">1.968</td><td>&lt;=</td><td class=\"n\">0.888</td>"));
  expect_parts(page, {"<td class=\"n\">1.5<span class=\"small below\">± 0.125</span></td>",
                      "states an order only</td><td></td><td></td><td></td>", ">1  MDB Theorem 2.1: left &lt;= right fails</text>"});
  EXPECT_EQ(well_formed(page).count("figure"), 2u);
  EXPECT_EQ(times(page, "<code>debias study theorems --out DIR</code>"), 2u);
}

TEST(StudyPage, EstimatorsAgainstEachParameter) {
  Json study = {{"command", "debias study estimators --embeddings z.npy --labels y.npy"},
                {"rows", 100},
                {"classes", 3},
                {"anchors", 50},
                {"tau_plus", 0.3},
                {"alpha", 0.8},
                {"recommendation", "Take debiased_floor."}};
  for (const char* parameter : {"base", "tau_plus", "alpha", "beta", "negatives"}) {
    for (const double value : {0.5, 1.0}) {
      study["settings"].push_back({{"parameter", parameter}, {"value", value}, {"negatives", 64}, {"estimators", estimators(value)}});
    }
  }
  const std::string page = estimators_page(study);
  EXPECT_EQ(well_formed(page).fault, "");
  EXPECT_EQ(well_formed(page).count("figure"), 12u);
  expect_parts(page, {"<strong>Take debiased_floor.</strong>"}, {"nan"});
}

}  // namespace debias::study_page_test
