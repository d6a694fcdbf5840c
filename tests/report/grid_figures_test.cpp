// Curves of a sweep: over its grid, over numbers that stand for variants, against minutes and over the epochs.
#include "debias/report/sections/comparison_section.h"
#include "tests/report/seed_table_fixture.h"

namespace debias::grid_figures_test {

class GridFigures : public SeedTables {
 protected:
  Figures figures() { return grid_figures(table()); }
  static std::vector<std::string> titles(const Figures& figures) {
    std::vector<std::string> found;
    for (const auto& [chart, caption] : figures) found.push_back(chart.title);
    return found;
  }
  static std::vector<std::string> names(const Chart& chart) {
    std::vector<std::string> found;
    for (const auto& series : chart.series) found.push_back(series.name);
    return found;
  }
};

TEST_F(GridFigures, NeedTwoValuesOfAKeyWhereSomethingIsPublished) {
  for (const char* size : {"16", "32"}) add({.size = size, .seed = "1", .accuracy = 0.5, .published = 0.7});
  const Figures found = figures();
  ASSERT_THAT(titles(found), ElementsAre("test.acc1 over train.batch_size"));
  EXPECT_THAT(names(found[0].first), ElementsAre("ours", "published"));
}

TEST_F(GridFigures, NeedThreeValuesOfAKeyOtherwise) {
  for (const char* size : {"16", "32"}) add({.size = size, .seed = "1", .accuracy = 0.5});
  EXPECT_THAT(titles(figures()), IsEmpty());
}

TEST_F(GridFigures, HaveALineOfEachOfAnAxis) {
  plan_.axes = {{"M", "grouping", {{"one", 1}, {"two-grouping", 2}}}, {"M", "pairs", {{"one", 1}, {"two-pairs", 2}}}};
  for (const char* variant : {"one", "two-grouping", "two-pairs", "none"})
    add({.variant = variant, .seed = "1", .accuracy = *variant == 'o' ? 0.5 : 0.6, .published = *variant == 'n' ? NAN : 0.7});
  const Figures found = figures();
  ASSERT_THAT(titles(found), ElementsAre("test.acc1 over M", "test.acc1 against training time"));
  const Chart& chart = found[0].first;
  EXPECT_EQ(chart.x.label, "M");
  ASSERT_THAT(names(chart), ElementsAre("grouping", "grouping, published", "pairs", "pairs, published"));
  for (const auto& series : chart.series) EXPECT_THAT(series.x, ElementsAre(1, 2)) << series.name;
  EXPECT_THAT(chart.series[0].y, ElementsAre(0.5, 0.6));
  EXPECT_THAT(chart.series[3].y, ElementsAre(0.7, 0.7));
}

TEST_F(GridFigures, TellPointsOfTheGridApartOnAnAxis) {
  plan_.axes = {{"beta", "", {{"hard_2", 2}, {"hard_1", 1}}}};
  for (const char* variant : {"hard_2", "hard_1"}) {
    for (const char* size : {"16", "32"}) add({.variant = variant, .size = size, .seed = "1", .accuracy = 0.5});
  }
  const Figures found = figures();
  ASSERT_EQ(found[0].first.title, "test.acc1 over beta");
  EXPECT_THAT(names(found[0].first), ElementsAre("batch_size 16", "batch_size 32"));
  EXPECT_THAT(found[0].first.series[0].x, ElementsAre(1, 2));
}

TEST_F(GridFigures, TakeTheAxesOfTheSweepsFileWhereItIsGiven) {
  plan_.axes = {{"M", "", {{"a", 1}, {"b", 2}}}};
  two_settings();
  const ComparedRuns recorded = compared();
  EXPECT_EQ(recorded.rows[1].places.at(0).over, "M");
  const std::string file = "sweep.yaml";
  write_text(file, "base: {}\nvariants: {a: {}, b: {}}\naxes: [{over: alpha, variants: {a: 3, b: 4}}]\noutput: sweep\n");
  const ComparedRuns of_file = read_compared_runs({file}, reading_program());
  ASSERT_EQ(of_file.rows[1].places.size(), 1u);
  EXPECT_EQ(of_file.rows[1].places[0].over, "alpha");
  EXPECT_EQ(of_file.rows[1].places[0].number, 4);
}

TEST_F(GridFigures, HavePublishedMinutesBesideOurs) {
  for (const char* variant : {"a", "b"})
    add({.variant = variant, .seed = "1", .accuracy = 0.5, .published = 0.7, .also_published = ", minutes: 122.85"});
  const Figures found = figures();
  ASSERT_THAT(titles(found), ElementsAre("test.acc1 against training time"));
  ASSERT_THAT(names(found[0].first), ElementsAre("a", "a, published", "b", "b, published"));
  EXPECT_THAT(found[0].first.series[0].x, ElementsAre(1));
  EXPECT_THAT(found[0].first.series[1].x, ElementsAre(122.85));
  EXPECT_THAT(found[0].first.series[1].y, ElementsAre(0.7));
}

TEST_F(GridFigures, HaveOurCourseAndNumbersPublishedOfAnEpoch) {
  for (const char* seed : {"1", "2"})
    add({.variant = "a", .seed = seed, .accuracy = *seed == '1' ? 0.5 : 0.7, .published = 0.8, .also_published = ", epoch: 50"});
  const Figures found = figures();
  ASSERT_THAT(titles(found), ElementsAre("test.acc1 over epochs"));
  const Chart& chart = found[0].first;
  ASSERT_THAT(names(chart), ElementsAre("a", "a, published"));
  EXPECT_THAT(chart.series[0].x, ElementsAre(1, 2));
  EXPECT_DOUBLE_EQ(chart.series[0].y[0], 0.7);
  EXPECT_DOUBLE_EQ(chart.series[0].high[1], 0.7);
  EXPECT_THAT(chart.series[1].x, ElementsAre(50));
}

TEST_F(GridFigures, HaveTheEndOfACourseThatWasEvaluatedThereAlone) {
  add({.variant = "a", .seed = "1", .accuracy = 0.5, .published = 0.8, .metric = "test.linear_acc1", .also_published = ", epoch: 50"});
  evaluate(0, "linear", "{}", "test.linear_acc1", 0.6);
  const Figures found = grid_figures(table(of_metrics({"test.linear_acc1"})));
  ASSERT_THAT(titles(found), ElementsAre("test.linear_acc1 over epochs"));
  EXPECT_THAT(found[0].first.series[0].x, ElementsAre(2));
  EXPECT_THAT(found[0].first.series[0].y, ElementsAre(0.6));
}

TEST_F(GridFigures, DrawTheLinesThatAreDistinguishable) {
  for (int variant = 0; variant < 13; ++variant) {
    for (const char* size : {"16", "32"})
      add({.variant = fmt::format("v{}", variant), .size = size, .seed = "1", .accuracy = 0.5, .published = variant == 12 ? 0.7 : NAN});
  }
  const Figures found = figures();
  ASSERT_THAT(titles(found), ElementsAre("test.acc1 over train.batch_size"));
  EXPECT_EQ(found[0].second.source, "12 of 13 lines are drawn.");
  EXPECT_EQ(found[0].first.series.size(), 13u);  // ours of twelve, and the published one
  EXPECT_EQ(found[0].first.series[0].name, "v12");
}

}  // namespace debias::grid_figures_test
