#include "debias/report/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/report/reading_program.h"
#include "tests/report/run_fixture.h"
#include "tests/support/refusals.h"

namespace debias {
namespace run_record_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ReadingProgram kProgram = reading_program();

std::string fault(const std::string& path) {
  return data_error_of([&] { read_run(path, kProgram); });
}

TEST(RunRecord, ReadsWhatTrainingAndEvaluationLeft) {
  const TemporaryFolder folder;
  write_whole_run(folder / "run");
  const RunRecord run = read_run(folder / "run", kProgram);
  EXPECT_EQ(run.label, "run");
  EXPECT_EQ(run.recipe.name, "fixture");
  EXPECT_EQ(run.seed(), "1");
  EXPECT_EQ(run.of_environment("libtorch"), "2.11.0");
  EXPECT_EQ(run.of_environment("cpu_threads"), "2");
  EXPECT_TRUE(run.finished());
  EXPECT_THAT(run.notes, IsEmpty());
  EXPECT_THAT(run.history.by_epoch.at("train_loss").y, ElementsAre(4.75, 4.5, 4.25, 4.0));
  EXPECT_THAT(run.history.by_step.at("loss").x, ElementsAre(10, 20, 30, 40, 50, 60, 70, 80));
  EXPECT_EQ(run.history.last_of_epochs("test.knn_acc1"), 0.54);
  EXPECT_TRUE(std::isnan(run.history.last_of_epochs("loss")));
  ASSERT_EQ(run.evaluations.size(), 4u);
  const EvaluationRecord* groups = run.evaluation("groups");
  ASSERT_NE(groups, nullptr);
  EXPECT_TRUE(std::isnan(*groups->metric("test.equalized_odds_difference")));
  EXPECT_EQ(groups->metric("test.nothing"), nullptr);
  EXPECT_EQ(groups->intervals.at("test.acc1"), std::pair(0.45, 0.55));
  EXPECT_TRUE(std::isnan(groups->groups.at("test").accuracy[1][0]));
  EXPECT_EQ(groups->groups.at("test").count[0][1], 2);
  EXPECT_EQ(run.evaluation("tsne")->maps.at("test").points.size(), 60u);
  EXPECT_EQ(run.evaluation("knn")->neighbours.at("test")[1].nearest[2].id, 301);
  EXPECT_EQ(run.evaluation("knn", "mnist"), nullptr);
}

TEST(RunRecord, AnotherDataSetsResultsStandByThemselves) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  write_neighbours(folder / "run", 1);
  std::filesystem::rename(folder / "run/evaluation/knn.json", folder / "run/evaluation/knn-mnist.json");
  const RunRecord run = read_run(folder / "run", kProgram);
  EXPECT_EQ(run.evaluation("knn"), nullptr);
  EXPECT_NE(run.evaluation("knn", "mnist"), nullptr);
}

TEST(RunRecord, AnUnfinishedRunIsReadAsFarAsItGot) {
  const TemporaryFolder folder;
  write_run(folder / "run", {.epochs = 4, .epochs_done = 2});
  std::ofstream(folder / "run/metrics.jsonl", std::ios::app) << R"({"epoch": 3, "step": 50, "lo)";  // being written
  const RunRecord run = read_run(folder / "run", kProgram);
  EXPECT_FALSE(run.finished());
  EXPECT_EQ(run.recipe.epochs, 4);
  EXPECT_EQ(run.epochs_done, 2);
  EXPECT_THAT(run.notes, ElementsAre("line 7 of metrics.jsonl is incomplete and left out: it is being written, or was cut"));
  std::filesystem::remove(folder / "run/metrics.jsonl");
  EXPECT_EQ(read_run(folder / "run", kProgram).epochs_done, 0);
}

TEST(RunRecord, ARunOfAnotherVersionIsReadAndSaysSo) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  write_text(folder / "run/evaluation/future.json",
             R"({"protocol": "future", "metrics": {"test.new_acc": 0.5}, "unheard": [1, {"of": 2}]})");
  const RunRecord run = read_run(folder / "run", reading_program("9.9.9"));
  EXPECT_THAT(run.notes, ElementsAre("made by debias 0.1.0, read by 9.9.9: what has another form there is left out"));
  EXPECT_EQ(*run.evaluation("future")->metric("test.new_acc"), 0.5);
  std::filesystem::remove(folder / "run/environment.json");
  EXPECT_THAT(read_run(folder / "run", kProgram).notes[0], HasSubstr("the versions that the run was made with are not known"));
}

TEST(RunRecord, SaysWhenAnEarlierEpochWasEvaluated) {
  const TemporaryFolder folder;
  write_run(folder / "run", {.epochs = 4, .epochs_done = 4});
  write_groups(folder / "run", {.epochs_done = 3});
  EXPECT_THAT(read_run(folder / "run", kProgram).notes, ElementsAre("groups.json evaluated epoch 3, training has reached epoch 4"));
}

TEST(RunRecord, SaysNothingOfTheEpochOfAnUntrainedEncoder) {
  const TemporaryFolder folder;
  write_run(folder / "run", {.epochs = 4, .epochs_done = 4});
  write_text(folder / "run/evaluation/sentences-untrained.json",
             R"({"protocol": "sentences", "metrics": {"mr_acc": 0.6}, "options": {"untrained": true}, "epoch": 0})");
  EXPECT_TRUE(read_run(folder / "run", kProgram).notes.empty());
}

TEST(RunRecord, RefusesWhatIsNoRunFolder) {
  const TemporaryFolder folder;
  EXPECT_EQ(fault(folder / "nowhere"),
            "opening '" + (folder / "nowhere") + "': no such run folder; give one that debias train has written");
  write_text(folder / "file", "x");
  EXPECT_THAT(fault(folder / "file"), HasSubstr("it is a text file, and a run folder is needed; a recipe is trained first"));
  EXPECT_THAT(fault(folder.path()), HasSubstr("not a run folder (no config.yaml)"));
}

TEST(RunRecord, DamageNamesTheFile) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const auto damaged = [&](const std::string& name, const std::string& text) {
    write_whole_run(run);
    write_text(run + "/" + name, text);
    const std::string message = fault(run);
    std::filesystem::remove_all(run);
    EXPECT_THAT(message, HasSubstr(run + "/" + name));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  };
  EXPECT_THAT(damaged("evaluation/groups.json", R"({"protocol": "groups", "metr)"), HasSubstr("damaged JSON at byte"));
  EXPECT_THAT(damaged("evaluation/groups.json", ""), HasSubstr("damaged JSON"));
  EXPECT_THAT(damaged("evaluation/groups.json", "[1, 2]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(damaged("evaluation/groups.json", R"({"metrics": {"test.acc1": "high"}})"), HasSubstr("not of the expected form"));
  EXPECT_THAT(damaged("evaluation/groups.json", R"({"metrics": 5})"), HasSubstr("not of the expected form"));
  EXPECT_THAT(damaged("evaluation/groups.json", R"({"intervals": {"test.acc1": [0.1]}})"), HasSubstr("not of the expected form"));
  EXPECT_THAT(damaged("evaluation/groups.json",
                      R"({"groups": {"test": {"labels": ["a"], "biases": ["b"], "count": [[1, 2]], "accuracy": [[0.5]]}}})"),
              HasSubstr("group tables"));
  EXPECT_THAT(damaged("evaluation/tsne.json", R"({"map": {"test": {"points": [[0, 1]], "labels": [1, 2]}}})"),
              HasSubstr("1 points, 2 labels"));
  EXPECT_THAT(damaged("evaluation/knn.json", R"({"neighbours": {"test": [{"query": "../../../secret", "nearest": []}]}})"),
              HasSubstr("not of the expected form"));
  EXPECT_THAT(damaged("environment.json", "{"), HasSubstr("damaged JSON"));
  EXPECT_THAT(damaged("metrics.jsonl", "{\"epoch\": 1, \"train_loss\": 2}\n{\"epoch\": \n"), HasSubstr("metrics.jsonl:2"));
  EXPECT_THAT(damaged("metrics.jsonl", "{\"train_loss\": 2}\n"), HasSubstr("metrics.jsonl:1"));
  EXPECT_THAT(damaged("config.yaml", "a: [1\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(damaged("config.yaml", "just words\n"), HasSubstr("expected a recipe"));
}

TEST(RunRecord, LabelsAreAsShortAsTheyCanBe) {
  const TemporaryFolder folder;
  for (const char* name : {"a/seed-1", "a/seed-2", "b/seed-1"}) write_run(folder / name);
  const auto two = read_runs({folder / "a/seed-1", folder / "a/seed-2/"}, kProgram);
  EXPECT_EQ(two[0].label, "seed-1");
  EXPECT_EQ(two[1].label, "seed-2");
  const auto three = read_runs({folder / "a/seed-1", folder / "a/seed-2", folder / "b/seed-1"}, kProgram);
  EXPECT_EQ(three[0].label, "a/seed-1");
  EXPECT_EQ(three[2].label, "b/seed-1");
}

TEST(RunRecord, OneFolderTwiceIsRefused) {
  const TemporaryFolder folder;
  write_run(folder / "run");
  EXPECT_THAT(usage_error_of([&] { read_runs({folder / "run", folder / "run/."}, kProgram); }), HasSubstr("is given twice"));
}

}  // namespace run_record_test
}  // namespace debias
