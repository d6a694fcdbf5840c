// `data.*.seed: run` as processes: one run, a resumed one, a sweep over seeds, several ranks, and an evaluation afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"
#include "tests/apps/tensor_bytes.h"

namespace debias {
namespace data_seed_cli_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kDrawn = R"(
name: drawn
seed: 3
data:
  train: {name: glyphs, size: 16, train_count: 96, correlation: 0.5, seed: run}
  test: {name: glyphs, size: 16, test_count: 40, split: test, correlation: 0.5, seed: run}
views: {preset: sim32, count: 2, random_resized_crop: {size: 16}}
encoder: {name: resnet18, width: 8}
head: {name: simclr, hidden_dim: 8, output_dim: 4}
objective: infonce
train: {epochs: 1, batch_size: 32, device: cpu, threads: 1}
evaluate: {every: 1, protocols: [knn], knn: {k: 5}}
)";

class DataSeed : public testing::Test {
 protected:
  DataSeed() { std::ofstream(folder_ / "drawn.yaml") << kDrawn; }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  ProcessResult train(const std::string& run, const std::vector<std::string>& more = {}) const {
    return run_debias(with({"train", path("drawn.yaml"), "output=" + path(run)}, more));
  }
  json sets(const std::string& run) const { return json::parse(file_text(path(run) + "/data/sets.json")); }
  std::string weights(const std::string& run) const { return tensor_bytes(path(run) + "/checkpoints/last.safetensors"); }
  TemporaryFolder folder_;
};

TEST_F(DataSeed, OfTheRunTrainsAsItsNumberAndStaysInTheRecipe) {
  ASSERT_EQ(train("follows").exit, 0);
  ASSERT_EQ(train("number", {"data.train.seed=3", "data.test.seed=3"}).exit, 0);
  ASSERT_EQ(train("other", {"data.train.seed=4", "data.test.seed=4"}).exit, 0);
  EXPECT_EQ(weights("follows"), weights("number"));
  EXPECT_EQ(file_text(path("follows") + "/metrics.jsonl"), file_text(path("number") + "/metrics.jsonl"));
  EXPECT_NE(weights("follows"), weights("other"));
  EXPECT_THAT(file_text(path("follows") + "/config.yaml"), HasSubstr("seed: run"));
}

TEST_F(DataSeed, OfAResumedRunIsTheSame) {
  ASSERT_EQ(train("run").exit, 0);
  const ProcessResult again = train("run", {"--resume"});
  EXPECT_EQ(again.exit, 0) << again.err;
  expect_one_line(train("run", {"--resume", "data.train.seed=4"}), 2, "data.train.seed");
  expect_one_line(train("run", {"--resume", "seed=4"}), 2, "seed");
}

TEST_F(DataSeed, OfASweepDrawsDataForEachSeed) {
  std::ofstream(folder_ / "sweep.yaml") << "base: drawn.yaml\nseeds: [1, 2]\nmetric: test.knn_acc1\noutput: " << path("out") << "\n";
  const ProcessResult result = run_debias({"sweep", path("sweep.yaml")});
  ASSERT_EQ(result.exit, 0) << result.err;
  for (const char* split : {"train", "test"}) EXPECT_NE(sets("out/seed-1")[split], sets("out/seed-2")[split]) << split;
  EXPECT_EQ(run_debias({"sweep", path("sweep.yaml"), "--check"}).exit, 0);
}

TEST_F(DataSeed, OfSeveralRanksIsOneForAll) {
  ASSERT_EQ(train("alone").exit, 0);
  const ProcessResult result = train("ranks", {"--ranks", "2"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(sets("ranks")["train"], sets("alone")["train"]);
}

TEST_F(DataSeed, OfAnEvaluationIsThatOfTheRun) {
  ASSERT_EQ(train("run").exit, 0);
  const ProcessResult result = run_debias({"eval", "knn", path("run"), "k=5", "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const std::string line = file_text(path("run") + "/metrics.jsonl");
  const json last = json::parse(line.substr(line.rfind('\n', line.size() - 2) + 1));
  EXPECT_EQ(json::parse(result.out)["protocols"]["knn"]["metrics"]["test.knn_acc1"], last["test.knn_acc1"]);
}

TEST_F(DataSeed, ThatIsNoneIsRefusedBeforeAnythingIsWritten) {
  expect_one_line(train("bad", {"data.train.seed=runs"}), 2, "found 'runs'; did you mean 'run'?");
  EXPECT_FALSE(fs::exists(path("bad")));
  expect_one_line(run_debias({"data", "check", "glyphs", "seed=run"}), 2, "seed");
}

}  // namespace data_seed_cli_test
}  // namespace debias
