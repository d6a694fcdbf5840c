// Reports of runs without bias labels, and of terms that took no part.
#include "debias/report/run_column.h"
#include "debias/report/sections/missing_parts.h"
#include "tests/report/reports.h"

namespace debias::unknown_bias_test {

class UnknownBias : public Reports {
 protected:
  // Replaces text of the run's recipe, as often as it is there.
  void edit_recipe(const std::string& name, const std::string& from, const std::string& to) {
    std::string recipe = fixture_recipe({}, name);
    ASSERT_NE(recipe.find(from), std::string::npos);
    for (size_t at = recipe.find(from); at != std::string::npos; at = recipe.find(from, at + to.size()))
      recipe.replace(at, from.size(), to);
    write_text(name + "/config.yaml", recipe);
  }
};

TEST_F(UnknownBias, IsExplainedWhereAccuracyByGroupWouldBe) {
  write_run("run");
  edit_recipe("run", ", correlation", ", other");
  const std::string none = "run: no bias labels, so no accuracy by group.", advice = "debias eval groups RUN --labels FILE.csv";
  const std::string page = html({"run"});
  expect_parts(page.substr(page.find("Groups</h2>")), {none, advice, "debias audit FOLDER"});
  expect_parts(text({"run"}), {none, advice}, {"debias eval groups run,"});  // which would fail
  EXPECT_EQ(missing_part(read({"run"}), Part::kGroups).words, "");
  EXPECT_EQ(run_report_json(read({"run"}))["verdict"]["shortcut"][0]["command"], "debias eval groups run --labels FILE.csv");
}

TEST_F(UnknownBias, IsNotSpokenOfWhereTheDataHaveBiasValues) {
  write_run("run");
  EXPECT_THAT(text({"run"}), Not(HasSubstr("no accuracy by group")));
  EXPECT_EQ(missing_part(read({"run"}), Part::kGroups).commands, "debias eval groups run");
}

TEST_F(UnknownBias, ATermOfWeight0IsNotNamed) {
  write_run("run");
  const auto words = [&](const std::string& weight) {
    edit_recipe("run", "temperature: 0.5, weight: 1}", "temperature: 0.5, weight: 1}\n  - {name: fairkl, weight: " + weight + "}");
    const auto runs = read({"run"});
    return column_words(run_columns(runs).front());
  };
  EXPECT_THAT(words("0.5"), HasSubstr("objective debiased_negatives + fairkl, "));
  for (const char* nothing : {"0", "0.0"}) EXPECT_THAT(words(nothing), HasSubstr("objective debiased_negatives, "));
}

TEST_F(UnknownBias, OverCorrectionIsCalledSoOnThePageInTextAndInJson) {
  write_biased_run("run", {.aligned = 0.5, .conflicting = 0.85, .images = 2000});
  EXPECT_THAT(html({"run"}), AllOf(HasSubstr("<li class=\"over_corrected\"><strong>run: strong over-correction.</strong>"),
                                   Not(HasSubstr("no sign that"))));
  EXPECT_THAT(text({"run"}), AllOf(StartsWith("Strong over-correction: conflicting images 85 %, aligned ones 50 % right"),
                                   HasSubstr("\nrun: strong over-correction. ")));
  const auto verdict = run_report_json(read({"run"}))["verdict"]["shortcut"][0];
  EXPECT_EQ(verdict["finding"], "over_corrected");
  EXPECT_EQ(verdict["size"], "strong");
  EXPECT_LT(verdict["high"].get<double>(), 0);
  EXPECT_EQ(verdict["over"], "images");
  EXPECT_EQ(verdict["worst_group"]["accuracy"], 0.5);
  EXPECT_NE(verdict["command"], "");
}

}  // namespace debias::unknown_bias_test
