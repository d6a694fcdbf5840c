// What may not be averaged or compared: other data, other settings, other evaluations.
#include "debias/report/tables/table_likeness.h"
#include "tests/report/seed_table_fixture.h"

namespace debias::table_likeness_test {

class TableLikeness : public SeedTables {
 protected:
  // A second seed of what is there.
  void add_seed(const std::string& more, const std::string& seed = "2") {
    add({.variant = "a", .size = "", .seed = seed, .accuracy = 0.6, .more = more});
  }
  void two_seeds(const std::string& first, const std::string& second) {
    add_seed(first, "1");
    add_seed(second);
  }
};

TEST_F(TableLikeness, SeedsOfARowHaveOneSetting) {
  two_seeds("optimizer: {learning_rate: 0.1}\n", "optimizer: {learning_rate: 0.2}\n");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("table: the runs of 'a' are not alike but for their seed: optimizer.learning_rate is 0.1 in '"),
                               HasSubstr("a/seed-1' and 0.2 in '"), HasSubstr("make a table of each")));
}

using RecipePair = std::pair<std::string, std::string>;  // lines of two recipes
class TableLikenessOf : public TableLikeness, public testing::WithParamInterface<RecipePair> {};

TEST_P(TableLikenessOf, OptionsThatAreInNoNumberMayDiffer) {
  two_seeds(GetParam().first, GetParam().second);
  EXPECT_EQ(table().rows.at(0).values.size(), 2u);
}
INSTANTIATE_TEST_SUITE_P(, TableLikenessOf,
                         testing::Values(RecipePair{"output: here\n", "output: there\n"},
                                         RecipePair{"evaluate: {every: 1, protocols: [knn], on_error: stop}\n",
                                                    "evaluate: {every: 2, protocols: [knn, groups], on_error: continue}\n"},
                                         RecipePair{"optimizer: {name: adam, eps: 1e-3}\n", "optimizer: {name: adam, eps: 0.001}\n"}));

TEST_F(TableLikeness, RecipesOfAnOlderVersionMayLackWhatASectionHasGained) {
  two_seeds("optimizer: {name: adam}\n", "optimizer: {name: adam, gained: 0}\n");
  EXPECT_THAT(refusal(), HasSubstr("optimizer.gained is not there in '"));  // of one version it is an option that one of them was given
  write_text("sweep/" + plan_.runs[0].name() + "/environment.json", R"({"debias": "0.0.9"})");
  EXPECT_EQ(table().rows.at(0).values.size(), 2u);
}

TEST_F(TableLikeness, ASectionMoreIsAnotherSettingInAnyVersion) {
  two_seeds("", "method: {name: moco}\n");
  write_text("sweep/" + plan_.runs[0].name() + "/environment.json", R"({"debias": "0.0.9"})");
  EXPECT_THAT(refusal(), HasSubstr("method.name is not there in '"));
}

TEST_F(TableLikeness, WhatOtherProtocolsWereAskedForMayDiffer) {
  two_seeds("", "evaluate: {geometry: {samples: 7}, knn: {examples: 3}}\n");
  EXPECT_THAT(refusal(), HasSubstr("evaluate.geometry.samples"));  // nothing tells that it does not measure that metric
  for (const size_t run : {0, 1}) evaluate(run, "geometry", "{}", "test.rankme", 3);
  EXPECT_EQ(table().rows.at(0).values.size(), 2u);
}

TEST_F(TableLikeness, RunsWereEvaluatedOnTheDataOfTheirOwnOrOnTheSameOthers) {
  two_seeds("", "");
  const auto evaluate_on = [&](size_t run, const std::string& correlation) {
    write_text(fmt::format("{}/{}/evaluation/knn.json", "sweep", plan_.runs[run].name()),
               R"({"protocol": "knn", "metrics": {"test.knn_acc1": 0.5}, "epoch": 2, "data": {"test": {"name": "glyphs", "correlation": )" +
                   correlation + "}}}");
  };
  evaluate_on(0, "0.1");
  evaluate_on(1, "0.9");
  EXPECT_THAT(refusal(of_metrics({"test.knn_acc1"})), HasSubstr("debias eval has evaluated the run's own in '"));
  evaluate_on(0, "0.9");
  EXPECT_EQ(table(of_metrics({"test.knn_acc1"})).rows.at(0).values.size(), 2u);
}

TEST_F(TableLikeness, WhichBiasValuesAreAlignedIsOfTheEvaluation) {
  two_seeds("", "");
  const auto evaluate_with = [&](size_t run, const std::string& bias) {
    write_text(fmt::format("{}/{}/evaluation/groups.json", "sweep", plan_.runs[run].name()),
               R"({"protocol": "groups", "metrics": {"test.conflicting_acc": 0.5}, "epoch": 2, "aligned": {"cat": [")" + bias + "\"]}}");
  };
  evaluate_with(0, "red");
  evaluate_with(1, "blue");
  EXPECT_THAT(refusal(of_metrics({"test.conflicting_acc"})), HasSubstr("which bias labels belong to which class is given by"));
  evaluate_with(1, "red");
  EXPECT_EQ(table(of_metrics({"test.conflicting_acc"})).rows.at(0).values.size(), 2u);
}

TEST_F(TableLikeness, SeedsOfARowWereEvaluatedByTheSameOptionsOfTheProtocol) {
  two_seeds("", "evaluate: {knn: {k: 3}}\n");
  EXPECT_THAT(refusal(), HasSubstr("evaluate.knn.k is not there in '"));
  evaluate(0, "groups", R"({"bootstrap": 0, "seed": 1})", "test.acc1", 0.6);
  EXPECT_THAT(refusal(), HasSubstr("evaluate.knn.k"));  // of the other nothing tells by what it was evaluated
  evaluate(1, "groups", R"({"bootstrap": 100, "seed": 2})", "test.acc1", 0.6);
  EXPECT_EQ(table().rows.at(0).values.size(), 2u);  // by a protocol that does not read that option
  evaluate(1, "groups", R"({"bootstrap": 100})", "test.acc1", 0.7);
  EXPECT_THAT(refusal(), HasSubstr("evaluate.knn.k"));  // another evaluation than that of training, whose number is shown
}

TEST_F(TableLikeness, WhatWasEvaluatedAfterwardsHasTheSameOptionsToo) {
  two_seeds("", "");
  evaluate(0, "knn", R"({"k": 13, "seed": 1})", "test.knn_acc1", 0.5);
  evaluate(1, "knn", R"({"k": 1, "seed": 2})", "test.knn_acc1", 0.6);
  EXPECT_THAT(refusal(of_metrics({"test.knn_acc1"})), AllOf(HasSubstr("knn k is 13 in '"), HasSubstr("and 1 in '")));
  EXPECT_EQ(table(of_metrics({"test.acc1", "test.knn_acc1"})).rows.at(0).metric, "test.acc1");  // the others are not shown
  evaluate(1, "knn", R"({"k": 13, "examples": 40, "gained": true})", "test.knn_acc1", 0.6);
  EXPECT_DOUBLE_EQ(table(of_metrics({"test.knn_acc1"})).rows.at(0).interval.mean, 0.55);
}

TEST_F(TableLikeness, SeedsOfARowWereEvaluatedWithTheSameRecipe) {
  two_seeds("views: {preset: sim32, eval: {preset: none}}\nevaluate: {unknown_classes: refuse, knn: {k: 13}}\n",
            "views: {preset: sim32, eval: {preset: none}}\nevaluate: {unknown_classes: refuse, knn: {k: 13}}\n");
  const auto evaluate_with = [&](size_t run, const std::string& protocol, const std::string& changes) {
    const std::string predictions = protocol == "groups" ? R"(, "predictions": "knn")" : "";
    evaluate(run, protocol, "{}", "test.knn_acc1", 0.5, predictions + R"(, "recipe_changes": )" + changes);
  };
  const auto refused = [&] { return refusal(of_metrics({"test.knn_acc1"})); };
  evaluate_with(0, "knn", "{}");
  evaluate_with(1, "knn", R"({"views.eval.preset": "in_std"})");
  EXPECT_THAT(refused(), AllOf(HasSubstr("views.eval.preset is none in '"), HasSubstr("and in_std in '")));
  evaluate_with(1, "knn", R"({"views.eval.preset": null})");
  EXPECT_THAT(refused(), HasSubstr("and not there in '"));
  evaluate_with(1, "knn", R"({"evaluate.unknown_classes": "ignore"})");
  EXPECT_THAT(refused(), HasSubstr("evaluate.unknown_classes is refuse in '"));
  evaluate_with(0, "knn", R"({"evaluate.unknown_classes": "ignore"})");
  EXPECT_EQ(table(of_metrics({"test.knn_acc1"})).rows.at(0).values.size(), 2u);
  for (const size_t run : {0, 1}) fs::remove("sweep/" + plan_.runs[run].name() + "/evaluation/knn.json");
  evaluate_with(0, "groups", "{}");
  evaluate_with(1, "groups", R"({"evaluate.knn.k": "1"})");  // of the predictions
  EXPECT_THAT(refused(), AllOf(HasSubstr("evaluate.knn.k is 13 in '"), HasSubstr("and 1 in '")));
}

TEST_F(TableLikeness, OwnOptionsOfAnEvaluationAreReadInItsFile) {
  two_seeds("evaluate: {linear_supcon: {epochs: 30}, groups: {min_count: 1}}\n", "evaluate: {linear_supcon: {epochs: 2}}\n");
  const auto predictions_of = [](const std::string& protocol) { return protocol == "groups" ? "knn" : "linear"; };
  const auto evaluate_with = [&](size_t run, const std::string& protocol, const std::string& options) {
    evaluate(run, protocol, options, "test.acc1", 0.5, fmt::format(R"(, "predictions": "{}")", predictions_of(protocol)));
  };
  for (const char* protocol : {"linear_supcon", "groups"}) {
    for (const size_t run : {0, 1}) {
      write_text("sweep/" + plan_.runs[run].name() + "/metrics.jsonl", "{\"epoch\": 2, \"train_loss\": 1}\n");
      evaluate_with(run, protocol, R"({"epochs": 30})");
    }
    evaluate(1, protocol, R"({"epochs": 30})", "test.acc1", 0.5,
             fmt::format(R"(, "predictions": "{}", "recipe_changes": {{"evaluate.{}.epochs": "30"}})", predictions_of(protocol), protocol));
    EXPECT_EQ(table().rows.at(0).values.size(), 2u) << protocol;
    evaluate_with(1, protocol, R"({"epochs": 7})");
    EXPECT_THAT(refusal(), HasSubstr(std::string(protocol) + " epochs is 30 in '"));
    for (const size_t run : {0, 1}) {
      fs::remove(fmt::format("{}/{}/evaluation/{}.json", "sweep", plan_.runs[run].name(), protocol));
    }
  }
}

TEST_F(TableLikeness, WhatNeighboursAreSoughtInIsOfTheData) {
  two_seeds("", "");
  for (const size_t run : {0, 1}) evaluate(run, "knn", "{}", "test.knn_acc1", 0.5);
  EXPECT_EQ(table(of_metrics({"test.knn_acc1"})).rows.at(0).values.size(), 2u);
  evaluate(1, "knn", "{}", "test.knn_acc1", 0.5, R"(, "data": {"train": {"name": "mnist"}})");
  EXPECT_THAT(refusal(of_metrics({"test.knn_acc1"})), HasSubstr("debias eval has evaluated the run's own in '"));
  evaluate(1, "knn", "{}", "test.knn_acc1", 0.5, R"(, "accepted_data_changes": ["test: 1 file"])");
  EXPECT_THAT(refusal(of_metrics({"test.knn_acc1"})), HasSubstr("and changed since training: test: 1 file in '"));
}

TEST_F(TableLikeness, WhatTrainingNotedAndWhatWasEvaluatedAfterwardsHaveTheSameOptions) {
  two_seeds("evaluate: {knn: {k: 13}}\n", "evaluate: {knn: {k: 13}}\n");
  write_text("sweep/" + plan_.runs[0].name() + "/metrics.jsonl", "{\"epoch\": 2, \"test.knn_acc1\": 0.4}\n");
  evaluate(1, "knn", R"({"k": 1})", "test.knn_acc1", 0.6, R"(, "recipe_changes": {"evaluate.knn.k": "1"})");
  EXPECT_THAT(refusal(of_metrics({"test.knn_acc1"})), HasSubstr("evaluate.knn.k is 13 in '"));
  evaluate(1, "knn", R"({"k": 13})", "test.knn_acc1", 0.6);
  EXPECT_DOUBLE_EQ(table(of_metrics({"test.knn_acc1"})).rows.at(0).interval.mean, 0.5);
}

TEST_F(TableLikeness, FindingsOfSentenceTasksAreNoOptions) {
  two_seeds("", "");
  for (const size_t run : {0, 1}) {
    evaluate(run, "sentences", fmt::format(R"({{"mode": "full", "untrained": false, "C": {{"mr": [{}]}}}})", run), "mr_acc", 0.7);
  }
  EXPECT_EQ(table(of_metrics({"mr_acc"})).rows.at(0).values.size(), 2u);
}

TEST_F(TableLikeness, WhatChoseTheEpochIsOfTheSetting) {
  two_seeds("evaluate: {select: valid.acc1, every: 1}\n", "evaluate: {select: valid.acc1, every: 2}\n");
  EXPECT_THAT(refusal(), HasSubstr("evaluate.every is 1 in '"));
  EXPECT_EQ(table(at_epoch({TableEpoch::kLast})).rows.at(0).values.size(), 2u);
}

TEST_F(TableLikeness, SeedsOfARowWereTrainedOnTheSameImages) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5, .train_images = "x", .test_images = "t"});
  add({.variant = "a", .size = "", .seed = "2", .accuracy = 0.5, .train_images = "y", .test_images = "t"});
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("the samples, labels or bias labels of data.train are not the same in '"), HasSubstr("(9 of them)")));
}

TEST_F(TableLikeness, DataAreComparedWithTheFirstRunThatTellsThem) {
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5});  // of an older version
  add({.variant = "a", .size = "", .seed = "2", .accuracy = 0.5, .train_images = "x", .test_images = "t"});
  EXPECT_EQ(table().rows.at(0).values.size(), 2u);
  add({.variant = "a", .size = "", .seed = "3", .accuracy = 0.5, .train_images = "y", .test_images = "t"});
  fs::remove("sweep/sweep.json");
  EXPECT_THAT(refusal(), HasSubstr("of data.train are not the same in '"));
}

TEST_F(TableLikeness, AllRowsWereEvaluatedOnTheSameImagesWhereverTheyLie) {
  const std::string here = "{name: image_folder, root: here}", there = "{name: image_folder, root: /there}";
  add({.variant = "a", .size = "", .seed = "1", .accuracy = 0.5, .test = here, .train_images = "x", .test_images = "t"});
  add({.variant = "b", .size = "", .seed = "1", .accuracy = 0.5, .test = there, .train_images = "y", .test_images = "t"});
  EXPECT_EQ(table().rows.size(), 2u);
  add({.variant = "c", .size = "", .seed = "1", .accuracy = 0.5, .test = here, .train_images = "x", .test_images = "u"});
  fs::remove("sweep/sweep.json");
  EXPECT_THAT(refusal(), HasSubstr("of data.test are not the same in '"));
}

TEST_F(TableLikeness, RunFoldersThatWereTrainedOnOtherDataAreCompared) {
  write_run("one", {.objective = "infonce"});
  write_run("two");
  const auto notes = [&] { return seed_table(read_compared_runs({"one", "two"}, reading_program()), of_metrics({"test.knn_acc1"})).notes; };
  EXPECT_THAT(notes(), IsEmpty());
  write_text("one/data/sets.json", R"({"train": {"images": "x"}})");
  write_text("two/data/sets.json", R"({"train": {"images": "y"}})");
  EXPECT_THAT(notes(), ElementsAre(HasSubstr("trained on other data: the samples, labels or bias labels of data.train are not the same")));
}

TEST_F(TableLikeness, RunsThatWentOnOnChangedDataAreCounted) {
  write_run("one");
  write_text("one/data/sets.json", R"({"accepted": ["data.train: a.png is new"]})");
  EXPECT_THAT(seed_table(read_compared_runs({"one"}, reading_program()), of_metrics({"test.knn_acc1"})).notes,
              ElementsAre("1 of 1 runs resumed on data that had changed (--accept-data-change)"));
}

}  // namespace debias::table_likeness_test
