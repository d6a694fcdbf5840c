// `debias study` as a process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "debias/core/npy.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"

namespace debias {
namespace study_cli_test {

namespace fs = std::filesystem;

std::vector<std::string> small_study(const std::vector<std::string>& more) {
  return with({"study", "bcl", "--repetitions", "2", "--anchors", "20", "--negatives", "16"}, more);
}

TEST(StudyCli, WritesItsFilesAtOnceAndTheSameFiguresForAnyNumberOfThreads) {
  const TemporaryFolder folder;
  for (const char* threads : {"1", "3"}) {
    const auto result = run_debias(small_study({"--threads", threads, "--json", "--out", folder / threads}));
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_TRUE(nlohmann::json::parse(result.out).contains("repetitions"));
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
  const auto result = run_debias({"study", "estimators", "--embeddings", values, "--labels", labels, "--anchors", "5", "--negatives", "8",
                                  "--repetitions", "2", "--threads", "2", "--json", "--out", folder / "out"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["command"],
            fmt::format("debias study estimators --embeddings '{}/it'\\''s z.npy' --labels {} --repetitions 2 --negatives 8 --anchors 5",
                        folder.path(), labels));
}

TEST(StudyCli, MistakesAreOneLineAndLeaveNothing) {
  const TemporaryFolder folder;
  expect_one_line(run_debias(small_study({"--alpha", "0.4", "--out", folder / "a"})), 2, "alpha");
  expect_one_line(run_debias({"study", "bcl", "--negatives", "1000000000000"}), 2, "negatives: 1000000000000 is out of range");
  expect_one_line(run_debias({"study", "estimators", "--embeddings", folder / "absent.npy", "--labels", folder / "y.npy"}), 3,
                  "absent.npy");
  EXPECT_EQ(folder.entries(), 0u);
  fs::create_directory(folder / "there");
  expect_one_line(run_debias(small_study({"--out", folder / "there"})), 2, "exists already");
}

}  // namespace study_cli_test
}  // namespace debias
