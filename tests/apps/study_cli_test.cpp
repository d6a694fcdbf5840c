// `debias study` as a process.
#include "tests/apps/command.h"

namespace debias::study_cli_test {

Words small_study(const Words& more) { return with({"study", "bcl", "--repetitions", "2", "--anchors", "20", "--negatives", "16"}, more); }

TEST(StudyCli, WritesItsFilesAtOnceAndTheSameFiguresForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  for (const char* threads : {"1", "3"}) {
    const auto result = done(small_study({"--threads", threads, "--json", "--out", folder / threads}));
    EXPECT_TRUE(Json::parse(result.out).contains("repetitions"));
    for (const char* name : {"study.json", "panels.csv", "reference.csv", "figures.html"}) {
      EXPECT_TRUE(fs::exists(folder / (std::string(threads) + "/" + name))) << name;
    }
  }
  EXPECT_EQ(folder.entries(), 2u);
  for (const char* name : {"panels.csv", "study.json", "figures.html"}) {
    EXPECT_EQ(file_text(folder / (std::string("1/") + name)), file_text(folder / (std::string("3/") + name))) << name;
  }
}

TEST(StudyCli, TheCommandOnThePageGivesTheFiguresAgain) {
  const TemporaryFolder folder;
  const std::string values = folder / "it's z.npy", labels = folder / "y.npy";
  std::vector<float> rows;
  std::vector<int64_t> classes;
  for (int i = 0; i < 40; ++i) {
    rows.insert(rows.end(), {static_cast<float>(std::cos(i)), static_cast<float>(std::sin(i))});
    classes.push_back(i % 2);
  }
  write_npy(values, DType::kFloat32, {40, 2}, rows.data());
  write_npy(labels, DType::kInt64, {40}, classes.data());
  const auto result = done({"study", "estimators", "--embeddings", values, "--labels", labels, "--anchors", "5", "--negatives", "8",
                            "--repetitions", "2", "--threads", "2", "--json", "--out", folder / "out"});
  EXPECT_EQ(Json::parse(result.out)["command"],
            fmt::format("debias study estimators --embeddings '{}/it'\\''s z.npy' --labels {} --repetitions 2 --negatives 8 --anchors 5",
                        folder.path(), labels));
}

}  // namespace debias::study_cli_test
