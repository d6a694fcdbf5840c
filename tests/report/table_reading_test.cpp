// Which numbers of a run a table takes: of which epoch, by which protocol, of which runs.
#include "debias/report/tables/table_reading.h"
#include "tests/report/seed_table_fixture.h"

namespace debias::table_reading_test {

class TableReadings : public SeedTables {};

TEST_F(TableReadings, TakeAnEpochByItsNumber) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5});
  const SeedTable found = table(at_epoch({TableEpoch::kNumber, 1}));
  EXPECT_EQ(found.epoch, "epoch 1");
  EXPECT_DOUBLE_EQ(found.rows[0].values[0], 0.6);
  EXPECT_THAT(refusal(at_epoch({TableEpoch::kNumber, 3})),
              HasSubstr("no run has 'test.acc1' at epoch 3; epochs that have it: 1, 2; give one with --epoch"));
  add({.variant = "b", .size = "", .seed = "1", .accuracy = 0.7});
  fs::remove("sweep/sweep.json");
  write_text("sweep/" + plan_.runs[1].name() + "/metrics.jsonl", "{\"epoch\":1,\"train_loss\":1}\n{\"epoch\":2,\"test.acc1\":0.7}\n");
  const SeedTable partly = table(at_epoch({TableEpoch::kNumber, 1}));
  EXPECT_TRUE(partly.rows[1].values.empty());
  EXPECT_THAT(partly.notes, ElementsAre("1 of 2 runs have no number at epoch 1 and are left out"));
}

TEST_F(TableReadings, NameTheEpochsThatWereEvaluatedAfterwards) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5});
  evaluate_sentences(plan_.runs[0], "", R"({"mode": "full", "untrained": false})", 0.7);
  SeedTableOptions of_first = of_metrics({"mr_acc", "test.knn_acc1"});
  of_first.epoch = {TableEpoch::kNumber, 1};
  EXPECT_THAT(refusal(of_first), HasSubstr("no run has 'mr_acc, test.knn_acc1' at epoch 1; epochs that have it: 2"));
}

TEST_F(TableReadings, TakeTheEpochThatHeldOutImagesChoseAndSaySo) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5, .more = "evaluate: {select: valid.acc1}\n"});
  const SeedTable chosen = table();
  EXPECT_EQ(chosen.epoch, "epoch chosen by valid.acc1");
  EXPECT_DOUBLE_EQ(chosen.rows[0].values[0], 0.6);  // the first epoch has the highest valid.acc1
  EXPECT_DOUBLE_EQ(table(at_epoch({TableEpoch::kLast})).rows[0].values[0], 0.5);
  add({.variant = "b", .size = "", .seed = "1", .accuracy = 0.5});
  fs::remove("sweep/sweep.json");
  EXPECT_EQ(table().epoch, "last epoch");
  EXPECT_THAT(refusal(at_epoch({TableEpoch::kSelected})), HasSubstr("has no `evaluate.select` on valid"));
}

TEST_F(TableReadings, DoNotTakeTheEpochThatOlderProgramsChoseByTheLargestLoss) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5, .more = "evaluate: {select: valid.mean_classifier_loss}\n"});
  EXPECT_EQ(table().epoch, "last epoch");
  EXPECT_THAT(refusal(at_epoch({TableEpoch::kSelected})), HasSubstr("on valid of which more is better"));
}

TEST_F(TableReadings, LeaveUnfinishedRunsOutAndSaySo) {
  two_settings();
  add({.variant = "b", .size = "", .seed = "4", .accuracy = 0.9, .epochs_done = 1});
  const SeedTable found = table();
  EXPECT_EQ(found.rows[1].values.size(), 3u);
  EXPECT_THAT(found.notes, ElementsAre("1 of 7 runs have not come to their end and are left out"));
}

TEST_F(TableReadings, OfAMetricThatNoRunHasNameTheNearest) {
  two_settings();
  EXPECT_THAT(refusal(of_metrics({"test.acc2"})), HasSubstr("no run has 'test.acc2' at its last epoch; did you mean 'test.acc1'?"));
  EXPECT_EQ(table(of_metrics({"test.acc2", "test.acc1"})).rows[0].metric, "test.acc1");
}

TEST_F(TableReadings, OfSentenceTasksTakeTheKindOfEvaluationThatMoreRunsHave) {
  two_settings();
  const SeedTableOptions mr = of_metrics({"mr_acc"});
  for (const auto& run : plan_.runs) {
    evaluate_sentences(run, "-untrained", R"({"mode": "full", "untrained": true})", 0.1);
    evaluate_sentences(run, "-with", R"({"mode": "full", "untrained": false, "with": ["other"]})", 0.2);
    evaluate_sentences(run, "-expanded", R"({"mode": "full", "untrained": false, "expand": "glove.txt"})", 0.3);
  }
  EXPECT_THAT(refusal(mr), HasSubstr("no run has 'mr_acc'"));
  for (const auto& run : plan_.runs) evaluate_sentences(run, "-cheap", R"({"mode": "cheap", "untrained": false})", 0.6);
  const SeedTable cheap = table(mr);
  EXPECT_THAT(cheap.rows[1].values, ElementsAre(0.6, 0.6, 0.6));
  EXPECT_THAT(cheap.notes, ElementsAre(HasSubstr("evaluated with --cheap")));
  const auto evaluate_whole = [&](const SweepRun& run) { evaluate_sentences(run, "", R"({"mode": "full", "untrained": false})", 0.7); };
  const auto forget_cheap = [&](const SweepRun& run) { fs::remove("sweep/" + run.name() + "/evaluation/sentences-cheap.json"); };
  for (size_t i = 0; i < 2; ++i) evaluate_whole(plan_.runs[i]);
  EXPECT_THAT(table(mr).rows[0].values, ElementsAre(0.6, 0.6, 0.6));  // all have these
  EXPECT_THAT(table(mr).notes, ElementsAre(HasSubstr("evaluated with --cheap")));
  for (size_t i = 0; i < 2; ++i) forget_cheap(plan_.runs[i]);
  EXPECT_THAT(table(mr).rows[0].values, ElementsAre(0.6));
  EXPECT_THAT(table(mr).notes, ElementsAre(HasSubstr("evaluated with --cheap"),
                                           HasSubstr("2 of 6 runs were evaluated by the whole protocol alone and are left out")));
  evaluate_whole(plan_.runs[2]);
  forget_cheap(plan_.runs[2]);  // three of either kind
  EXPECT_THAT(table(mr).rows[0].values, ElementsAre(0.7, 0.7, 0.7));
  EXPECT_TRUE(table(mr).rows[1].values.empty());
  EXPECT_THAT(table(mr).notes, ElementsAre(HasSubstr("3 of 6 runs were evaluated with --cheap alone and are left out")));
  for (const auto& run : plan_.runs) evaluate_whole(run);
  EXPECT_THAT(table(mr).rows[1].values, ElementsAre(0.7, 0.7, 0.7));
  EXPECT_TRUE(table(mr).notes.empty());
}

TEST_F(TableReadings, OfSentenceTasksAreNotLedAstrayByAnotherMetric) {
  two_settings();
  for (const auto& run : plan_.runs) {
    evaluate_sentences(run, "-cheap", R"({"mode": "cheap", "untrained": false})", 0.6);
    write_text(fmt::format("{}/{}/evaluation/neighbours.json", "sweep", run.name()),
               R"({"protocol": "neighbours", "metrics": {"test.neighbour_acc": 0.1}, "options": {}, "epoch": 2})");
  }
  const SeedTable found = table(of_metrics({"mr_acc", "test.neighbour_acc"}));
  EXPECT_EQ(found.rows[0].metric, "mr_acc");
  EXPECT_THAT(found.rows[1].values, ElementsAre(0.6, 0.6, 0.6));
  EXPECT_THAT(found.notes, ElementsAre(EndsWith("not by ten folds")));
}

TEST_F(TableReadings, OfSentenceTasksAtAnEpochCountARunThatIsLeftOutOnce) {
  two_settings();
  for (size_t i = 0; i < 5; ++i) {
    evaluate_sentences(plan_.runs[i], i < 3 ? "-cheap" : "", i < 3 ? R"({"mode": "cheap", "untrained": false})" : R"({"mode": "full"})",
                       0.6);
  }
  SeedTableOptions second = of_metrics({"mr_acc"});
  second.epoch = {TableEpoch::kNumber, 2};
  EXPECT_THAT(table(second).notes,
              ElementsAre(HasSubstr("evaluated with --cheap"), HasSubstr("2 of 6 runs were evaluated by the whole protocol alone"),
                          "1 of 6 runs have no number at epoch 2 and are left out"));
}

TEST_F(TableReadings, OfSentenceTasksRefuseRunsThatWereEvaluatedOnDifferentTexts) {
  two_settings();
  const auto evaluate = [&](const SweepRun& run, const std::string& digests) {
    write_text(fmt::format("{}/{}/evaluation/sentences.json", "sweep", run.name()),
               fmt::format(R"({{"protocol": "sentences", "metrics": {{"mr_acc": 0.7, "cr_acc": 0.8}}, "epoch": 2, )"
                           R"("options": {{"mode": "full", "untrained": false{}}}}})",
                           digests));
  };
  for (const auto& run : plan_.runs) evaluate(run, R"(, "digest": {"mr": "aaaa", "cr": "cccc"})");
  EXPECT_THAT(table(of_metrics({"mr_acc"})).rows[1].values, ElementsAre(0.7, 0.7, 0.7));
  evaluate(plan_.runs.back(), R"(, "digest": {"mr": "bbbb", "cr": "cccc"})");
  EXPECT_THAT(
      refusal(of_metrics({"mr_acc"})),
      AllOf(HasSubstr("table: runs evaluated on different texts: those of 'mr' have the digest aaaa in '"), HasSubstr("and bbbb in '")));
  EXPECT_THAT(table(of_metrics({"cr_acc"})).rows[1].values, ElementsAre(0.8, 0.8, 0.8));
  evaluate(plan_.runs.back(), "");  // of an older version
  EXPECT_THAT(table(of_metrics({"mr_acc"})).rows[1].values, ElementsAre(0.7, 0.7, 0.7));
}

}  // namespace debias::table_reading_test
