// Images of several sizes: evaluation follows the training views, and what cannot be evaluated is found before training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "debias/core/config.h"
#include "tests/apps/photographs.h"

namespace debias {
namespace views_by_size_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SeveralSizes : public Photographs {
 protected:
  SeveralSizes() : Photographs("{size: 16}") {
    const std::vector<std::string> sizes = {"[20, 60]", "[44, 25]", "[30, 31]"};
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::string picture = folder_ / std::to_string(i) + ".png";
      EXPECT_EQ(run_debias({"views", "apply", "--image", whole(), "--out", picture, "resize: {size: " + sizes[i] + "}"}).exit, 0);
    }
    for (const char* group : {"cat", "dog"}) {
      for (int i = 0; i < 6; ++i) {
        fs::remove(image(group, i));
        fs::copy_file(folder_ / std::to_string(i % 3) + ".png", fs::path(image(group, i)).replace_extension("png"));
      }
    }
    fs::copy(folder_ / "data", folder_ / "test", fs::copy_options::recursive);
  }

  ProcessResult evaluated(const std::string& name, std::vector<std::string> more) const {
    more.push_back("data.test={name: image_folder, root: " + (folder_ / "test") + "}");
    more.push_back("evaluate={protocols: [knn, linear], knn: {k: 3}, linear: {epochs: 1}}");
    return train(name, more);
  }
};

TEST_F(SeveralSizes, AreEvaluatedAtTheSizeThatTheNetworkSaw) {
  const ProcessResult dry = evaluated("dry", {"--dry-run", "--json"});
  ASSERT_EQ(dry.exit, 0) << dry.err;
  const auto expected = nlohmann::json::parse(R"({"steps": [{"resize": {"size": 16}}, {"center_crop": {"size": 16}}]})");
  EXPECT_EQ(nlohmann::json::parse(dry.out)["config"]["views"]["eval"], expected);
  EXPECT_FALSE(fs::exists(folder_ / "dry"));

  const ProcessResult trained = evaluated("run", {});
  ASSERT_EQ(trained.exit, 0) << trained.err;
  EXPECT_EQ(nlohmann::json(read_yaml_file(folder_ / "run/config.yaml").find("views")->find("eval")->to_json()), expected);
  EXPECT_EQ(times("\"test.knn_acc1\"", metrics("run")), 2u);
  EXPECT_EQ(run_debias({"eval", "linear_supcon", folder_ / "run", "epochs=1"}).exit, 0);
  EXPECT_EQ(run_debias({"embed", folder_ / "run", "--out", folder_ / "e"}).exit, 0);
}

TEST_F(SeveralSizes, AFaultIsFoundBeforeAnyStepAndTheCureIsTakenByEveryVerb) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, std::vector<std::string>{"--dry-run"}}) {
    const ProcessResult refused = evaluated("run", with({"views.eval=none"}, words));
    EXPECT_EQ(refused.exit, 3);
    EXPECT_THAT(refused.err, HasSubstr("data.train cannot be evaluated with the current views.eval"));
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  }
  ASSERT_EQ(train("run", {"data.test={name: image_folder, root: " + (folder_ / "test") + "}", "views.eval=none"}).exit, 0);
  const std::string cure = "views.eval={resize: {size: 20}, center_crop: {size: 16}}";
  for (const char* verb : {"eval", "embed"}) {
    const bool evaluates = std::string(verb) == "eval";
    std::vector<std::string> words = evaluates ? std::vector<std::string>{"eval", "knn", folder_ / "run", "knn.k=3"}
                                               : std::vector<std::string>{"embed", folder_ / "run", "--out", folder_ / "e"};
    EXPECT_EQ(run_debias(words).exit, 3) << verb;
    words.push_back(cure);
    EXPECT_EQ(run_debias(words).exit, 0) << verb;
  }
}

// Training images of one size need no view of their own; those that are evaluated may differ.
class OneSizeToTrainOn : public Photographs {
 protected:
  OneSizeToTrainOn() : Photographs("{size: 16}") {
    fs::copy(folder_ / "data", folder_ / "same", fs::copy_options::recursive);
    fs::copy(folder_ / "data", folder_ / "several", fs::copy_options::recursive);
    const std::string picture = folder_ / "several/dog/3.png";
    EXPECT_EQ(run_debias({"views", "apply", "--image", whole(), "--out", picture, "resize: {size: [20, 60]}"}).exit, 0);
    fs::remove(folder_ / "several/dog/3.jpg");
  }
  std::string split(const std::string& name, const std::string& folder) const {
    return "data." + name + "={name: image_folder, root: " + (folder_ / folder) + "}";
  }
  void expect_refused(const std::string& which, const std::vector<std::string>& splits) const {
    for (const bool dry : {false, true}) {
      auto words = with({"views.eval=none", "evaluate={protocols: [knn], knn: {k: 3}}"}, splits);
      if (dry) words.emplace_back("--dry-run");
      const ProcessResult refused = train("run", words);
      EXPECT_EQ(refused.exit, 3) << which;
      EXPECT_THAT(refused.err, HasSubstr(which + " cannot be evaluated with the current views.eval"));
      EXPECT_FALSE(fs::exists(folder_ / "run")) << which;
    }
  }
};

TEST_F(OneSizeToTrainOn, AFaultOfAnySplitThatIsEvaluatedIsFoundBeforeTraining) {
  expect_refused("data.test", {split("test", "several")});
  expect_refused("data.valid", {split("valid", "several"), split("test", "same")});
}

}  // namespace views_by_size_test
}  // namespace debias
