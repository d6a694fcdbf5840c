// Data that were changed between a run and its resume, its evaluation or its embedding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/apps/expect_complaint.h"
#include "tests/apps/photographs.h"

namespace debias {
namespace changed_data_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ChangedData : public Photographs {
 protected:
  ChangedData() : Photographs("{size: 8}") {
    fs::copy(folder_ / "data", folder_ / "test", fs::copy_options::recursive);
    const ProcessResult run = train(
        "run", {"data.test={name: image_folder, root: " + (folder_ / "test") + "}", "evaluate={every: 2, protocols: [knn], knn: {k: 3}}"});
    EXPECT_EQ(run.exit, 0) << run.err;
    // as if it had been stopped before its evaluation
    fs::rename(folder_ / "run/checkpoints/previous.safetensors", folder_ / "run/checkpoints/last.safetensors");
  }
  std::string test_image(const std::string& group, int number) const {
    return folder_ / "test" + "/" + group + "/" + std::to_string(number) + ".jpg";
  }
  ProcessResult resume(const std::vector<std::string>& more = {}) const {
    return run_debias(with({"train", folder_ / "run", "--resume"}, more));
  }
  ProcessResult eval(const std::vector<std::string>& more = {}) const {
    return run_debias(with({"eval", "knn", folder_ / "run", "k=3"}, more));
  }
  ProcessResult embed(const std::vector<std::string>& more = {}) const {
    return run_debias(with({"embed", folder_ / "run", "--out", folder_ / "e"}, more));
  }
  static void expect_refused(const ProcessResult& result, const std::string& difference) {
    expect_one_line(result, 3, difference);
    EXPECT_THAT(result.err, HasSubstr("has changed: "));
    EXPECT_THAT(result.err, HasSubstr("--accept-data-change"));
  }
};

TEST_F(ChangedData, OfTheTestSetIsRefusedByResumeEvalAndEmbedAndTakenWhereAsked) {
  fs::remove(test_image("dog", 5));
  expect_refused(resume(), "dog/5.jpg");
  expect_refused(eval(), "dog/5.jpg");
  expect_refused(embed(), "dog/5.jpg");
  EXPECT_EQ(eval({"data.test.root=" + (folder_ / "test")}).exit, 0) << "another test set was asked for";
  const ProcessResult evaluated = eval({"--accept-data-change"});
  EXPECT_EQ(evaluated.exit, 0) << evaluated.err;
  EXPECT_THAT(file_text(folder_ / "run/evaluation/knn.json"), HasSubstr("accepted_data_changes"));
  EXPECT_EQ(embed({"--accept-data-change"}).exit, 0);
  const ProcessResult resumed = resume({"--accept-data-change"});
  EXPECT_EQ(resumed.exit, 0) << resumed.err;
  EXPECT_THAT(file_text(folder_ / "run/train.log"), HasSubstr("data.test has changed, which is accepted"));
  EXPECT_THAT(run_debias({"checkpoint", "show", folder_ / "run", "--json"}).out, HasSubstr("dog/5.jpg"));
  EXPECT_EQ(eval().exit, 0) << "what was accepted is now what the run knows";
  truncate("dog", 3);  // of the training set
  expect_refused(eval(), "dog/3.jpg");
}

// The CSV has other bytes then, too, which would name nothing.
TEST_F(ChangedData, ARenamedPictureIsNamedAndNotTheCsvThatFollowsIt) {
  const std::string csv = folder_ / "labels.csv";
  const auto label_all = [&] {
    std::ofstream file(csv);
    file << "path,label\n";
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "data")) {
      if (!entry.is_regular_file()) continue;
      const fs::path path = entry.path().lexically_relative(folder_ / "data");
      file << path.string() << "," << path.parent_path().string() << "\n";
    }
  };
  label_all();
  ASSERT_EQ(train("labelled", {"data.train.labels=" + csv}).exit, 0);
  fs::rename(folder_ / "labelled/checkpoints/previous.safetensors", folder_ / "labelled/checkpoints/last.safetensors");
  fs::rename(image("cat", 2), folder_ / "data/cat/renamed.jpg");
  label_all();
  const ProcessResult result = run_debias({"train", folder_ / "labelled", "--resume"});
  EXPECT_EQ(result.exit, 3);
  const std::string message = result.err.substr(result.err.rfind("debias: "));  // behind a line on the columns that are read
  EXPECT_THAT(message, HasSubstr("has changed: cat/2.jpg is missing; cat/renamed.jpg is new"));
  EXPECT_THAT(message, testing::Not(HasSubstr("CSV")));
}

}  // namespace changed_data_test
}  // namespace debias
