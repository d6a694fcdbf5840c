// From a folder without bias labels to pseudo values, and bias labels added to a run afterwards.
#include "tests/apps/command.h"
#include "tests/apps/named_pictures.h"

namespace debias::unknown_bias_cli_test {

// Glyphs in class folders, whose background goes with the class. `photos.csv` knows the colours; the run, which sees single pixels, does
// not know them.
class UnknownBias : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pictures_ = std::make_unique<NamedPictures>();
    pictures_->folder("photos", {"ape", "bee", "cat", "dog"}, "train");
    std::ofstream(path("bias.yaml")) << small_recipe(
        {"seed=1", "data={train: {name: image_folder, root: " + path("photos") + ", hold_out: 30}, test: {split: held_out}}",
         "views={preset: none, count: 1}", "encoder={name: simple_convnet, kernel: 1, stem_stride: 2, stride: 2}", "head={name: none}",
         "objective=generalized_cross_entropy", "classifier={name: linear, gradient: flow, normalize: false}",
         "optimizer={name: adam, learning_rate: 3e-3}", "schedule=constant", "train={epochs: 12, batch_size: 15, device: cpu, threads: 1}",
         "evaluate={every: 12, protocols: [groups]}"});
    trained_ = run_debias({"train", path("bias.yaml"), "output=" + path("run")});
  }
  static void TearDownTestSuite() { pictures_.reset(); }

  static std::string path(const std::string& name) { return *pictures_ / name; }
  static ProcessResult embed(const Words& words) { return run_debias(with({"embed", path("run")}, words)); }

  static inline std::unique_ptr<NamedPictures> pictures_;
  static inline ProcessResult trained_;
};

TEST_F(UnknownBias, TrainingSaysBeforehandThatGroupsNeedBiasValuesAndGoesOn) {
  EXPECT_EQ(trained_.exit, 0) << trained_.err;
  EXPECT_THAT(trained_.err, HasSubstr("debias eval groups RUN --labels FILE.csv"));
  const ProcessResult planned = done({"train", path("bias.yaml"), "--dry-run", "output=" + path("planned")});
  EXPECT_THAT(planned.err, HasSubstr("not evaluated by groups"));
}

TEST_F(UnknownBias, PseudoValuesFitInit) {
  const ProcessResult result = embed({"--bias-values", path("found.csv"), "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_EQ(json["rows"].get<size_t>() + 1, times("\n", file_text(path("found.csv"))));
  EXPECT_EQ(json["values"].size(), 4u);
  EXPECT_GT(json["aligned_share"], 0.7);
  EXPECT_EQ(json["next"][0], "debias init " + path("photos") + " --labels " + path("found.csv"));
  const ProcessResult made = done({"init", path("photos"), "--labels", path("found.csv"), "--minutes", "0.02", "--out", path("r.yaml")});
  EXPECT_THAT(made.out, AllOf(HasSubstr("goal: bias"), HasSubstr("confidence is not"), Not(HasSubstr("to use it"))));
}

TEST_F(UnknownBias, ANumberOfValuesMayBeAskedFor) {
  const auto json = Json::parse(embed({"--bias-values", path("two.csv"), "--values", "2", "--json"}).out);
  EXPECT_EQ(json["values"].size(), 2u);
  EXPECT_EQ(json["images"][0].get<int>() + json["images"][1].get<int>(), json["rows"].get<int>() - 30);
}

}  // namespace debias::unknown_bias_cli_test
