// From a folder without bias labels to pseudo values, and bias labels added to a run afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/apps/named_pictures.h"
#include "tests/apps/process.h"

namespace debias {
namespace unknown_bias_cli_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

// Glyphs in class folders, whose background goes with the class. `photos.csv` knows the colours; the run, which sees single pixels, does
// not know them.
class UnknownBias : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pictures_ = std::make_unique<NamedPictures>();
    pictures_->folder("photos", {"ape", "bee", "cat", "dog"}, "train");
    std::ofstream(path("bias.yaml")) << "seed: 1\ndata:\n  train: {name: image_folder, root: " << path("photos") << ", hold_out: 30}\n"
                                     << "  test: {split: held_out}\n"
                                     << "views: {preset: none, count: 1}\n"
                                     << "encoder: {name: simple_convnet, kernel: 1, stem_stride: 2, stride: 2}\n"
                                     << "objective: generalized_cross_entropy\n"
                                     << "classifier: {name: linear, gradient: flow, normalize: false}\n"
                                     << "optimizer: {name: adam, learning_rate: 3e-3}\n"
                                     << "train: {epochs: 12, batch_size: 15, device: cpu, threads: 1}\n"
                                     << "evaluate: {every: 12, protocols: [groups]}\n";
    trained_ = run_debias({"train", path("bias.yaml"), "output=" + path("run")});
  }
  static void TearDownTestSuite() { pictures_.reset(); }

  static std::string path(const std::string& name) { return *pictures_ / name; }
  static ProcessResult embed(const std::vector<std::string>& words) { return run_debias(with({"embed", path("run")}, words)); }
  static ProcessResult eval(const std::vector<std::string>& words) { return run_debias(with({"eval", "groups", path("run")}, words)); }
  void expect_refused(const ProcessResult& result, int exit, const std::string& text) const {
    EXPECT_EQ(result.exit, exit) << result.err;
    EXPECT_THAT(result.err, HasSubstr(text));
  }

  static inline std::unique_ptr<NamedPictures> pictures_;
  static inline ProcessResult trained_;
};

TEST_F(UnknownBias, TrainingSaysBeforehandThatGroupsNeedBiasValuesAndGoesOn) {
  EXPECT_EQ(trained_.exit, 0) << trained_.err;
  EXPECT_THAT(trained_.err, HasSubstr("debias eval groups RUN --labels FILE.csv"));
  const ProcessResult planned = run_debias({"train", path("bias.yaml"), "--dry-run", "output=" + path("planned")});
  EXPECT_EQ(planned.exit, 0);
  EXPECT_THAT(planned.err, HasSubstr("not evaluated by groups"));
}

TEST_F(UnknownBias, PseudoValuesFitInit) {
  const ProcessResult result = embed({"--bias-values", path("found.csv"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["rows"].get<size_t>() + 1, times("\n", file_text(path("found.csv"))));
  EXPECT_EQ(json["values"].size(), 4u);
  EXPECT_GT(json["aligned_share"], 0.7);
  EXPECT_EQ(json["next"][0], "debias init " + path("photos") + " --labels " + path("found.csv"));
  const ProcessResult made =
      run_debias({"init", path("photos"), "--labels", path("found.csv"), "--minutes", "0.02", "--out", path("r.yaml")});
  EXPECT_EQ(made.exit, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("goal: bias"), HasSubstr("confidence is not"), Not(HasSubstr("to use it"))));
}

TEST_F(UnknownBias, ANumberOfValuesMayBeAskedFor) {
  const auto json = nlohmann::json::parse(embed({"--bias-values", path("two.csv"), "--values", "2", "--json"}).out);
  EXPECT_EQ(json["values"].size(), 2u);
  EXPECT_EQ(json["images"][0].get<int>() + json["images"][1].get<int>(), json["rows"].get<int>() - 30);
  expect_refused(embed({"--bias-values", path("no.csv"), "--out", path("no.npy")}), 2, "leave out --out");
  expect_refused(embed({"--values", "3", "--out", path("no.npy")}), 2, "--bias-values OUT.csv");
  expect_refused(embed({}), 2, "no output is given");
  EXPECT_FALSE(fs::exists(path("no.csv")));
}

TEST_F(UnknownBias, AColumnNeedsItsFile) {
  expect_refused(eval({"labels.bias=colour"}), 2, "add --labels FILE.csv");
  expect_refused(eval({"--labels", path("photos.csv"), "labels.bias=bais"}), 3, "did you mean 'bias'?");
}

}  // namespace unknown_bias_cli_test
}  // namespace debias
