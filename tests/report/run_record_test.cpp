#include "debias/report/run_record.h"
#include "tests/report/reports.h"

namespace debias::run_record_test {

using RunRecords = InFolder;

const ReadingProgram kProgram = reading_program();

std::string fault(const std::string& path) {
  return data_error_of([&] { read_run(path, kProgram); });
}

TEST_F(RunRecords, ReadsWhatTrainingAndEvaluationLeft) {
  write_whole_run("run");
  const RunRecord run = read_run("run", kProgram);
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

TEST_F(RunRecords, AnotherDataSetsResultsStandByThemselves) {
  write_run("run");
  write_neighbours("run", 1);
  fs::rename("run/evaluation/knn.json", "run/evaluation/knn-mnist.json");
  const RunRecord run = read_run("run", kProgram);
  EXPECT_EQ(run.evaluation("knn"), nullptr);
  EXPECT_NE(run.evaluation("knn", "mnist"), nullptr);
}

TEST_F(RunRecords, AnUnfinishedRunIsReadAsFarAsItGot) {
  write_run("run", {.epochs = 4, .epochs_done = 2});
  std::ofstream("run/metrics.jsonl", std::ios::app) << R"({"epoch": 3, "step": 50, "lo)";  // being written
  const RunRecord run = read_run("run", kProgram);
  EXPECT_FALSE(run.finished());
  EXPECT_EQ(run.recipe.epochs, 4);
  EXPECT_EQ(run.epochs_done, 2);
  EXPECT_THAT(run.notes, ElementsAre("line 7 of metrics.jsonl is incomplete and left out: it is being written, or was cut"));
  fs::remove("run/metrics.jsonl");
  EXPECT_EQ(read_run("run", kProgram).epochs_done, 0);
}

TEST_F(RunRecords, ARunOfAnotherVersionIsReadAndSaysSo) {
  write_run("run");
  write_text("run/evaluation/future.json", R"({"protocol": "future", "metrics": {"test.new_acc": 0.5}, "unheard": [1, {"of": 2}]})");
  const RunRecord run = read_run("run", reading_program("9.9.9"));
  EXPECT_THAT(run.notes, ElementsAre("made by debias 0.1.0, read by 9.9.9: what has another form there is left out"));
  EXPECT_EQ(*run.evaluation("future")->metric("test.new_acc"), 0.5);
  fs::remove("run/environment.json");
  EXPECT_THAT(read_run("run", kProgram).notes[0], HasSubstr("the versions that the run was made with are not known"));
}

TEST_F(RunRecords, SaysWhenAnEarlierEpochWasEvaluated) {
  write_run("run", {.epochs = 4, .epochs_done = 4});
  write_groups("run", {.epochs_done = 3});
  EXPECT_THAT(read_run("run", kProgram).notes, ElementsAre("groups.json evaluated epoch 3, training has reached epoch 4"));
}

TEST_F(RunRecords, SaysNothingOfTheEpochOfAnUntrainedEncoder) {
  write_run("run", {.epochs = 4, .epochs_done = 4});
  write_text("run/evaluation/sentences-untrained.json",
             R"({"protocol": "sentences", "metrics": {"mr_acc": 0.6}, "options": {"untrained": true}, "epoch": 0})");
  EXPECT_TRUE(read_run("run", kProgram).notes.empty());
}

TEST_F(RunRecords, RefusesWhatIsNoRunFolder) {
  EXPECT_EQ(fault("/nowhere"), "opening '/nowhere': no such run folder; give one that debias train has written");
  write_text("file", "x");
  EXPECT_THAT(fault("file"), HasSubstr("it is a text file, and a run folder is needed; a recipe is trained first"));
  EXPECT_THAT(fault("."), HasSubstr("not a run folder (no config.yaml)"));
}

TEST_F(RunRecords, DamageNamesTheFile) {
  const std::string run = "run";
  const auto damaged = [&](const std::string& name, const std::string& text) {
    write_whole_run(run);
    write_text(run + "/" + name, text);
    const std::string message = fault(run);
    fs::remove_all(run);
    EXPECT_THAT(message, HasSubstr(run + "/" + name));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
  };
  EXPECT_THAT(damaged("evaluation/groups.json", R"({"protocol": "groups", "metr)"), HasSubstr("damaged JSON at byte"));
  EXPECT_THAT(damaged("evaluation/groups.json", ""), HasSubstr("damaged JSON"));
  damaged("evaluation/groups.json", "{\"epoch\": 1e999}");
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

TEST_F(RunRecords, LabelsAreAsShortAsTheyCanBe) {
  for (const char* name : {"a/seed-1", "a/seed-2", "b/seed-1"}) write_run(name);
  const auto two = read_runs({"a/seed-1", "a/seed-2/"}, kProgram);
  EXPECT_EQ(two[0].label, "seed-1");
  EXPECT_EQ(two[1].label, "seed-2");
  const auto three = read_runs({"a/seed-1", "a/seed-2", "b/seed-1"}, kProgram);
  EXPECT_EQ(three[0].label, "a/seed-1");
  EXPECT_EQ(three[2].label, "b/seed-1");
}

TEST_F(RunRecords, OneFolderTwiceIsRefused) {
  write_run("run");
  EXPECT_THAT(usage_error_of([&] { read_runs({"run", "run/."}, kProgram); }), HasSubstr("is given twice"));
}

TEST(ShortLabels, LeaveOutWhatAllHaveAsLongAsTheyStayDistinct) {
  EXPECT_THAT(short_labels({"ce/data.train.correlation=0.99/seed-1", "end/data.train.correlation=0.995/seed-1"}),
              ElementsAre("ce/correlation=0.99", "end/correlation=0.995"));
  EXPECT_THAT(short_labels({"ce/seed-1", "end/seed-2"}), ElementsAre("ce/seed-1", "end/seed-2"));
  EXPECT_THAT(short_labels({"data.train.seed=1", "data.test.seed=1"}), ElementsAre("data.train.seed=1", "data.test.seed=1"));
  EXPECT_THAT(short_labels({"seed-1", "v1.0"}), ElementsAre("seed-1", "v1.0"));
  EXPECT_THAT(short_labels({}), IsEmpty());
}

}  // namespace debias::run_record_test
