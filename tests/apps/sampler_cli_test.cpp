// Samplers and sources of alpha in recipes, as a user meets them.
#include "tests/apps/command.h"

namespace debias::sampler_cli_test {

class SamplerCommand : public InFolder {
 protected:
  SamplerCommand() {
    std::ofstream("recipe.yaml") << small_recipe({"data.train={name: glyphs, size: 16, classes: 2, correlation: 0.9, train_count: 120}",
                                                  "encoder={name: simple_convnet}", "objective.tau_plus={from: prior}", "train.epochs=2",
                                                  "train.batch_size=24"});
  }
  ProcessResult train(const Words& more) const { return run_debias(with({"train", "recipe.yaml", "output=run"}, more)); }
};

TEST_F(SamplerCommand, ADryRunSaysHowOftenEachGroupIsDrawn) {
  const ProcessResult result = train({"--dry-run", "--json", "sampler={name: weighted, oversample_conflicting: 3}"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const Json drawn = Json::parse(result.out).at("drawn");
  double share = 0, least = 1e9, most = 0;
  for (const Json& group : drawn) {
    share += group.at("share").get<double>();
    least = std::min(least, group.at("times_an_epoch").get<double>());
    most = std::max(most, group.at("times_an_epoch").get<double>());
  }
  EXPECT_NEAR(share, 1, 1e-12);
  EXPECT_NEAR(most / least, 3, 1e-12);
  const std::string text = train({"--dry-run", "sampler=balanced"}).out;
  EXPECT_THAT(text, HasSubstr("# sampler            of each group: images, share of the draws, times an epoch draws each image"));
  EXPECT_THAT(text, HasSubstr(" groups have no sample and cannot be drawn, the first is class '"));  // colours that a class has not
  EXPECT_FALSE(Json::parse(train({"--dry-run", "--json"}).out).contains("drawn"));
  EXPECT_FALSE(fs::exists("run"));
}

TEST_F(SamplerCommand, LabelsOfOnesOwnMustBeWhole) {
  done({"data", "make", "glyphs", "--out", "made", "size=16", "train_count=40", "test_count=10"});
  fs::create_directories("pictures");
  std::ofstream labels("labels.csv");
  labels << "path,label,bias\n";
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator("made")) {
    if (entry.path().extension() != ".png" || count == 12) continue;
    fs::copy_file(entry.path(), fmt::format("pictures/{}.png", count));
    labels << count << ".png," << (count % 2 == 0 ? "cat" : "dog") << "," << (count == 7 ? "" : count % 3 == 0 ? "red" : "blue") << "\n";
    ++count;
  }
  labels.close();
  const std::string data = "data.train={name: image_folder, root: pictures, labels: labels.csv}";
  const Words common = {data, "train.batch_size=4", "objective=infonce", "train.epochs=1"};
  const auto with = [&](const std::string& sampler) {
    Words words = common;
    words.push_back("sampler=" + sampler);
    return train(words);
  };
  const ProcessResult refused = with("balanced");
  EXPECT_EQ(refused.exit, 3);
  EXPECT_THAT(refused.err,
              HasSubstr("sampler 'balanced': 1 of 12 samples of data set 'image_folder' (split train) have no label or no bias label, the "
                        "first is '"));
  EXPECT_EQ(refused.err.rfind("debias: "), refused.err.find("debias: "))
      << refused.err;  // one line of the error, beside the columns' notes
  EXPECT_FALSE(fs::exists("run"));
  const ProcessResult by_class = with("{name: weighted, by: class}");
  EXPECT_EQ(by_class.exit, 0) << by_class.err;
}

}  // namespace debias::sampler_cli_test
