// `debias pairs` as a process, over a table of features with images and over a run.
#include "debias/core/philox.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/geometry.h"
#include "tests/apps/command.h"

namespace debias::pairs_cli_test {

// 200 images of four classes with vectors in clusters; train images 0 and 1 are one image flipped, test image 0 is train image 5.
class PairsCommand : public InFolder {
 protected:
  static constexpr int64_t kTrain = 160, kTest = 40, kWidth = 12;

  PairsCommand() {
    Random draw({.seed = 8});
    fs::create_directories("img");
    std::ofstream csv("z.csv");
    csv << "path,label,split\n";
    std::vector<std::vector<float>> rows;
    std::vector<Image> images;
    for (int64_t i = 0; i < kTrain + kTest; ++i) {
      std::vector<float> row;
      for (int64_t d = 0; d < kWidth; ++d) row.push_back(static_cast<float>((d % 4 == i % 4 ? 3 : 0) + draw.normal()));
      Image small{9, 9, 3, std::vector<uint8_t>(243)};
      for (uint8_t& value : small.pixels) value = static_cast<uint8_t>(draw.below(256));
      images.push_back(resized(small, 48, 48));
      if (i == 1) {
        images.back() = images.front();
        mirror_horizontally(images.back());
        row = rows[0];
      }
      if (i == kTrain) {
        images.back() = images[5];
        row = rows[5];
      }
      row[0] += 0.01f * static_cast<float>(draw.normal());
      rows.push_back(row);
      const std::string name = "img/" + std::to_string(i) + ".jpg";
      const auto bytes = encode_jpeg(images.back(), 60);
      std::ofstream(name, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
      csv << name << ",c" << (i == 1 ? 0 : i == kTrain ? 1 : i % 4) << "," << (i < kTrain ? "train" : "test") << "\n";
    }
    std::vector<float> values;
    for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
    write_npy("z.npy", DType::kFloat32, {kTrain + kTest, kWidth}, values.data());
  }

  Words words(const Words& more = {}) const { return with({"pairs", "--embeddings", "z.npy"}, more); }
};

TEST_F(PairsCommand, WritesATableAPageAndJson) {
  const Json json =
      json_of(run_debias(words({"--top", "100", "--leaks", "train:test", "--out", "pairs.csv", "--html", "pairs.html", "--json"})));
  EXPECT_EQ(json["rows"], kTrain);
  EXPECT_TRUE(json["copies_confirmed_on_pixels"].get<bool>());
  EXPECT_GT(json["same_label_share"]["false_negative"], 0.9);
  std::vector<Json> of_kind[3];
  for (const Json& pair : json["pairs"])
    of_kind[pair["kind"] == "false_negative" ? 0 : pair["kind"] == "duplicate" ? 1 : 2].push_back(pair);
  EXPECT_EQ(of_kind[0].size(), 100u);
  ASSERT_EQ(of_kind[1].size(), 1u);
  EXPECT_EQ(of_kind[1][0]["a"], "img/0.jpg");
  EXPECT_EQ(of_kind[1][0]["b"], "img/1.jpg");
  ASSERT_EQ(of_kind[2].size(), 1u);
  EXPECT_EQ(of_kind[2][0]["a"], "img/5.jpg");
  EXPECT_EQ(of_kind[2][0]["b"], "img/160.jpg");
  EXPECT_TRUE(of_kind[2][0]["gradient"].is_null());
  EXPECT_EQ(json["leaks"]["leaked"], 1);
  EXPECT_EQ(json["leaks"]["rows"], kTest);
  ASSERT_TRUE(json["leaks"]["accuracy"].is_number());
  ASSERT_TRUE(json["leaks"]["accuracy_without"].is_number());
  EXPECT_LE(json["leaks"]["accuracy_without"], json["leaks"]["accuracy"]);
  const std::string csv = file_text("pairs.csv"), html = file_text("pairs.html");
  EXPECT_THAT(csv, StartsWith("a,b,similarity,false_negative,gradient,same_label,kind\n"));
  EXPECT_EQ(times("\n", csv), 103u);
  expect_parts(html, {"data:image/", "<strong>2 images are one image</strong>", "1 of 40 rows of test leak from train"}, {"http"});
}

TEST_F(PairsCommand, PrintsTheVerdictFirstInFifteenLinesAndAllOnRequest) {
  const std::string text = done(words({"--leaks", "train:test"})).out, all = done(words({"--leaks", "train:test", "-v"})).out;
  EXPECT_THAT(text, StartsWith("1 of 40 rows of test leak from train; 2 of 200 rows are copies; 500 pairs to check\n"));
  EXPECT_LE(times("\n", text), 15u);
  EXPECT_THAT(text, HasSubstr("note: 2 images are one image, the first of them 'img/0.jpg' (in all 4 rows show 2 images): keep one"));
  EXPECT_THAT(all, StartsWith(text.substr(0, text.find('\n'))));
  EXPECT_GT(times("\n", all), 500u);
}

// What groups.csv holds is read back as it is.
TEST_F(PairsCommand, WritesGroupsThatATableTakes) {
  const Json found = json_of(run_debias(words({"--leaks", "train:test", "--groups-out", "groups.csv", "--json"})));
  EXPECT_EQ(found["groups"], kTrain + kTest - 2);
  EXPECT_EQ(found["groups_from"], "near-copies");
  EXPECT_THAT(file_text("groups.csv"), StartsWith("path,group,split\nimg/0.jpg,0,train\nimg/1.jpg,0,train\n"));
  const Json again = json_of(run_debias(words({"--leaks", "train:test", "--csv", "groups.csv", "--label", "none", "--json"})));
  EXPECT_EQ(again["groups"], kTrain + kTest - 2);
  EXPECT_EQ(again["groups_from"], "column group");
}

TEST_F(PairsCommand, OfARunTakesItsPriorAndTheSimilaritiesOfTwoViews) {
  std::string answers = "a,b,answer,kind\n";
  for (int i = 0; i < 60; ++i) answers += "x" + std::to_string(i) + ",y," + (i < 15 ? "same" : "different") + ",random\n";
  std::ofstream("answers.csv") << answers;
  std::ofstream("small.yaml") << kSmallRecipe;
  done({"train", "small.yaml", "output=run", "data.test={name: glyphs, size: 16, split: test, test_count: 40}",
        "objective.tau_plus={from: marks, file: 'answers.csv'}"});
  const Json json = json_of(run_debias({"pairs", "run", "--top", "20", "--leaks", "train:test", "--json"}));
  EXPECT_EQ(json["posterior"], "views");
  EXPECT_EQ(json["tau_plus"], 0.25);
  EXPECT_EQ(json["rows"], 96);
  EXPECT_EQ(json["leaks"]["rows"], 40);
  EXPECT_TRUE(json["copies_confirmed_on_pixels"].get<bool>());
}

TEST_F(PairsCommand, DrawsARandomSampleForThePrior) {
  done(words({"--sample", "60", "--out", "sample.csv"}));
  std::string csv = file_text("sample.csv");
  EXPECT_EQ(times(",random\n", csv), 60u);
  std::string answers = "a,b,answer,kind\n";
  for (int i = 0; i < 60; ++i) answers += "x" + std::to_string(i) + ",y," + (i < 15 ? "same" : "different") + ",random\n";
  std::ofstream("answers.csv") << answers;
  const ProcessResult prior = done({"prior", "--marks", "answers.csv", "--json"});
  EXPECT_EQ(Json::parse(prior.out)["tau_plus"], 0.25);
  EXPECT_LT(Json::parse(prior.out)["low"], 0.25);
}

TEST_F(PairsCommand, RanksBySimilarityUnlessAskedForTheGradient) {
  const auto ranked = [&](const Words& more) {
    const ProcessResult result = done(words(with({"--top", "100", "--temperature", "1", "--json"}, more)));
    return Json::parse(result.out);
  };
  const auto falls = [](const Json& found) {
    double last = 2;
    for (const Json& pair : found["pairs"]) {
      if (pair["kind"] != "false_negative") continue;
      if (pair["similarity"].get<double>() > last) return false;
      last = pair["similarity"];
    }
    return true;
  };
  const Json usual = ranked({}), by_gradient = ranked({"--rank", "gradient"});
  EXPECT_EQ(usual["rank"], "similarity");
  EXPECT_EQ(by_gradient["rank"], "gradient");
  EXPECT_TRUE(falls(usual));
  EXPECT_FALSE(falls(by_gradient));
}

TEST_F(PairsCommand, NeedsNoCsvAndSaysWhatItThenCannotDo) {
  fs::remove("z.csv");
  const ProcessResult result = done(words({"--top", "5", "--json"}));
  EXPECT_THAT(result.err, HasSubstr("not all splits have readable images"));
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["rows"], kTrain + kTest);
  EXPECT_TRUE(json["pairs"][0]["same_label"].is_null());
}

}  // namespace debias::pairs_cli_test
