// `data.*.seed: run` as processes: one run, a resumed one, a sweep over seeds, several ranks, and an evaluation afterwards.
#include "tests/apps/command.h"

namespace debias::data_seed_cli_test {

class DataSeed : public InFolder {
 protected:
  DataSeed() {
    std::ofstream("drawn.yaml") << small_recipe(
        {"data={train: {name: glyphs, size: 16, train_count: 96, correlation: 0.5, seed: run}, test: {name: glyphs, size: 16, test_count: "
         "40, "
         "split: test, correlation: 0.5, seed: run}}",
         "objective=infonce", "train.epochs=1", "train.batch_size=32", "evaluate={every: 1, protocols: [knn], knn: {k: 5}}"});
  }
  ProcessResult train(const std::string& run, const Words& more = {}) const {
    return run_debias(with({"train", "drawn.yaml", "output=" + run}, more));
  }
  json sets(const std::string& run) const { return json_in(run + "/data/sets.json"); }
  std::string weights(const std::string& run) const { return tensor_bytes(run + "/checkpoints/last.safetensors"); }
};

TEST_F(DataSeed, OfTheRunTrainsAsItsNumberAndStaysInTheRecipe) {
  ASSERT_EQ(train("follows").exit, 0);
  ASSERT_EQ(train("number", {"data.train.seed=3", "data.test.seed=3"}).exit, 0);
  ASSERT_EQ(train("other", {"data.train.seed=4", "data.test.seed=4"}).exit, 0);
  EXPECT_EQ(weights("follows"), weights("number"));
  EXPECT_EQ(file_text("follows/metrics.jsonl"), file_text("number/metrics.jsonl"));
  EXPECT_NE(weights("follows"), weights("other"));
  EXPECT_THAT(file_text("follows/config.yaml"), HasSubstr("seed: run"));
}

TEST_F(DataSeed, OfAResumedRunIsTheSame) {
  ASSERT_EQ(train("run").exit, 0);
  const ProcessResult again = train("run", {"--resume"});
  EXPECT_EQ(again.exit, 0) << again.err;
  expect_one_line(train("run", {"--resume", "data.train.seed=4"}), 2, "data.train.seed");
  expect_one_line(train("run", {"--resume", "seed=4"}), 2, "seed");
}

TEST_F(DataSeed, OfASweepDrawsDataForEachSeed) {
  std::ofstream("sweep.yaml") << "base: drawn.yaml\nseeds: [1, 2]\nmetric: test.knn_acc1\noutput: out\n";
  done({"sweep", "sweep.yaml"});
  for (const char* split : {"train", "test"}) EXPECT_NE(sets("out/seed-1")[split], sets("out/seed-2")[split]) << split;
  done({"sweep", "sweep.yaml", "--check"});
}

TEST_F(DataSeed, OfSeveralRanksIsOneForAll) {
  ASSERT_EQ(train("alone").exit, 0);
  const ProcessResult result = train("ranks", {"--ranks", "2"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(sets("ranks")["train"], sets("alone")["train"]);
}

TEST_F(DataSeed, OfAnEvaluationIsThatOfTheRun) {
  ASSERT_EQ(train("run").exit, 0);
  const ProcessResult result = done({"eval", "knn", "run", "k=5", "--json"});
  const std::string line = file_text("run/metrics.jsonl");
  const json last = json::parse(line.substr(line.rfind('\n', line.size() - 2) + 1));
  EXPECT_EQ(json::parse(result.out)["protocols"]["knn"]["metrics"]["test.knn_acc1"], last["test.knn_acc1"]);
}

}  // namespace debias::data_seed_cli_test
