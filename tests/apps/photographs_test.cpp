// `debias train` on folders of photographs: scaled decoding, images that cannot be read, data that change, images of several sizes.
#include "debias/core/config.h"
#include "tests/apps/command.h"

namespace debias::photographs_test {

class Photographs : public InFolder {
 protected:
  // `crop`: options of random_resized_crop.
  explicit Photographs(const std::string& crop) {
    std::ofstream("recipe.yaml") << small_recipe({"seed=2", "views.random_resized_crop=" + crop, "objective=infonce",
                                                  "train={epochs: 2, batch_size: 6, device: cpu, threads: 1, log_every: 1}"});
    for (const std::string group : {"cat", "dog"}) {
      fs::create_directories("data/" + group);
      for (int i = 0; i < 6; ++i) fs::copy_file(whole(), image(group, i));
    }
  }

  static std::string whole() { return golden_folder("images") + "/colour.jpg"; }
  std::string image(const std::string& group, int number) const { return "data/" + group + "/" + std::to_string(number) + ".jpg"; }
  void truncate(const std::string& group, int number) const { fs::resize_file(image(group, number), fs::file_size(whole()) - 40); }
  ProcessResult train(const std::string& name, const Words& more) const {
    return run_debias(with({"train", "recipe.yaml", "output=" + name, "data.train={name: image_folder, root: data}"}, more));
  }
  std::string metrics(const std::string& name) const { return file_text(name + "/metrics.jsonl"); }
};

class DecodeOption : public Photographs {
 protected:
  DecodeOption() : Photographs("{size: 4, scale: [0.6, 1]}") {}
};

TEST_F(DecodeOption, ScaledIsAnotherRunAndTheSameForAnyWorkers) {
  ASSERT_EQ(train("plain", {}).exit, 0);
  ASSERT_EQ(train("exact", {"data.decode=exact"}).exit, 0);
  EXPECT_EQ(metrics("exact"), metrics("plain"));
  for (const std::string workers : {"0", "1", "2"}) {
    const auto result = train("by-" + workers, {"data.decode=scaled", "train.workers=" + workers});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(metrics("by-" + workers), metrics("by-0")) << workers;
  }
  EXPECT_NE(metrics("by-0"), metrics("exact"));
  EXPECT_THAT(file_text("plain/config.yaml"), HasSubstr("decode: exact"));
  EXPECT_THAT(file_text("by-0/config.yaml"), HasSubstr("decode: scaled"));
}

TEST_F(DecodeOption, ATruncatedFileEndsTheRunInTheSameLine) {
  truncate("dog", 3);
  const auto exact = train("exact", {}), scaled = train("scaled", {"data.decode=scaled"});
  EXPECT_EQ(exact.exit, 3);
  EXPECT_EQ(scaled.exit, 3);
  EXPECT_THAT(exact.err, HasSubstr(image("dog", 3) + ": truncated JPEG image"));
  EXPECT_EQ(scaled.err, exact.err);
}

std::vector<Json> epoch_lines(const std::string& metrics) {
  std::vector<Json> lines;
  std::istringstream text(metrics);
  for (std::string line; std::getline(text, line);) {
    if (auto json = Json::parse(line); !json.contains("step")) lines.push_back(std::move(json));
  }
  return lines;
}

class UnreadableImages : public Photographs {
 protected:
  UnreadableImages() : Photographs("{size: 8}") {}
};

TEST_F(UnreadableImages, StopTheRunUnlessAskedOtherwise) {
  truncate("dog", 3);
  for (const Words& words : {Words{}, Words{"data.on_error=stop"}}) {
    const auto result = train("run" + std::to_string(words.size()), words);
    EXPECT_EQ(result.exit, 3);
    EXPECT_THAT(result.err, AllOf(HasSubstr(image("dog", 3)), HasSubstr("truncated JPEG image")));
  }
}

TEST_F(UnreadableImages, AreReplacedCountedAndNamedOnce) {
  truncate("dog", 3);
  const auto result = train("run", {"data.on_error=substitute"});
  ASSERT_EQ(result.exit, 0) << result.err;
  EXPECT_EQ(times("warning: " + image("dog", 3) + ": truncated JPEG image", result.err), 1u) << result.err;
  EXPECT_EQ(times(image("dog", 3), file_text("run/train.log")), 1u);
  const auto lines = epoch_lines(metrics("run"));
  ASSERT_EQ(lines.size(), 2u);
  for (const auto& line : lines) EXPECT_EQ(line.at("substituted"), 1);
  EXPECT_THAT(file_text("run/config.yaml"), HasSubstr("on_error: substitute"));
}

TEST_F(UnreadableImages, AreLeftOutWhereEvaluationsReadTrainingImages) {
  truncate("dog", 3);
  const std::string test = "data.test={name: image_folder, root: evaluated}";
  for (const std::string group : {"cat", "dog"}) {
    fs::create_directories("evaluated/" + group);
    fs::copy_file(whole(), "evaluated/" + group + "/0.jpg");
  }
  const auto result = train("run", {"data.on_error=substitute", test, "evaluate={every: 1, protocols: [knn], knn: {k: 3}}"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto evaluated = done({"eval", "knn,linear_dcl", "run", "linear_dcl.epochs=1", "knn.k=3"});
  EXPECT_THAT(evaluated.err, HasSubstr("knn: 1 of 12 training images cannot be read and are left out"));
  EXPECT_EQ(json_in("run/evaluation/knn.json")["counts"]["train"], 11);
  fs::resize_file("evaluated/cat/0.jpg", 300);
  EXPECT_EQ(run_debias({"eval", "knn", "run", "knn.k=3"}).exit, 3);
}

TEST_F(UnreadableImages, AreSkippedAndNamedByEmbedIfAsked) {
  ASSERT_EQ(train("run", {"train.epochs=1"}).exit, 0);
  done({"export", "run", "--format", "safetensors"});
  truncate("dog", 3);
  const std::string data = "data", z = "z.npy", z_rows = "z.csv";
  std::ofstream("frozen.yaml") << "data: {train: {name: image_folder, root: " << data << "}}\n"
                               << "views: {steps: [resize: {size: [16, 16]}], count: 2}\n"
                               << "encoder: {name: resnet18, width: 8, weights: "
                               << "run/exported/encoder.safetensors"
                               << "}\nobjective: {name: infonce}\ntrain: {epochs: 1, batch_size: 4}\n";
  const std::vector<Words> ways = {{"embed", "run", "--data", "image_folder", "--root", data, "split=train", "--out", z},
                                   {"embed", data, "--encoder", "frozen.yaml", "--out", z}};
  for (const auto& words : ways) {
    fs::remove(z);
    expect_one_line(run_debias(words), 3, image("dog", 3));
    EXPECT_FALSE(fs::exists(z));
    const auto result = done(with(words, {"--on-error", "skip", "--json"}));
    EXPECT_THAT(result.err, HasSubstr("warning: embed: 1 image that cannot be read: no row for dog/3.jpg"));
    const auto json = Json::parse(result.out);
    EXPECT_EQ(json["count"], 11);
    EXPECT_EQ(json["skipped"], Json({"dog/3.jpg"}));
    EXPECT_TRUE(json["notes"].is_array());
    EXPECT_EQ(read_npy(z).shape.at(0), 11);
    const std::string rows = file_text(z_rows);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 12);
    EXPECT_THAT(rows, AllOf(HasSubstr("dog/2.jpg,"), HasSubstr("dog/4.jpg,"), Not(HasSubstr("dog/3.jpg"))));
  }
  const auto again = run_debias(with(ways[1], {"--on-error", "skip", "--json"}));
  EXPECT_TRUE(Json::parse(again.out)["reused"]);
  EXPECT_EQ(Json::parse(again.out)["skipped"], Json({"dog/3.jpg"}));
  EXPECT_EQ(run_debias(ways[1]).exit, 3);  // what was made without an image is no answer to a call that needs it
}

TEST_F(UnreadableImages, GiveTheSameRunForAnyWorkers) {
  for (const int number : {0, 2, 5}) truncate("cat", number);
  std::string expected;
  for (const char* workers : {"0", "1", "3"}) {
    const std::string name = std::string("run") + workers;
    ASSERT_EQ(train(name, {"data.on_error=substitute", std::string("train.workers=") + workers}).exit, 0);
    if (expected.empty()) expected = metrics(name);
    EXPECT_EQ(metrics(name), expected) << workers;
  }
}

TEST_F(UnreadableImages, AndNothingElseEndTheRunWithTheFirstOfThem) {
  for (int i = 0; i < 6; ++i) {
    truncate("cat", i);
    truncate("dog", i);
  }
  const auto result = train("run", {"data.on_error=substitute"});
  expect_one_line(result, 3, image("cat", 0));
  EXPECT_THAT(result.err, HasSubstr("nor can 11 others"));
  EXPECT_FALSE(fs::exists("run"));
}

TEST_F(UnreadableImages, ADryRunShowsTheChoice) {
  truncate("dog", 3);
  EXPECT_THAT(train("run", {"--dry-run", "data.on_error=substitute"}).out, HasSubstr("on_error: substitute"));
  fs::copy_file(whole(), image("dog", 3), fs::copy_options::overwrite_existing);
  EXPECT_THAT(train("run", {"--dry-run"}).out, HasSubstr("on_error: stop"));
}

// Changes that are refused by resume, eval and embed: tests/faults/data.py.
class ChangedData : public Photographs {
 protected:
  ChangedData() : Photographs("{size: 8}") {}
};

TEST_F(ChangedData, ThatIsAcceptedIsRecordedAndIsThenWhatTheRunKnows) {
  fs::copy("data", "test", fs::copy_options::recursive);
  const Words more = {"data.test={name: image_folder, root: test}", "evaluate={every: 2, protocols: [knn], knn: {k: 3}}"};
  ASSERT_EQ(train("run", more).exit, 0);
  fs::rename("run/checkpoints/previous.safetensors", "run/checkpoints/last.safetensors");  // as if stopped before its evaluation
  fs::remove("test/dog/5.jpg");
  expect_one_line(run_debias({"embed", "run", "--out", "e"}), 3, "has changed: dog/5.jpg");
  done({"eval", "knn", "run", "k=3", "data.test.root=test"});  // another test set was asked for
  done({"eval", "knn", "run", "k=3", "--accept-data-change"});
  EXPECT_THAT(file_text("run/evaluation/knn.json"), HasSubstr("accepted_data_changes"));
  done({"embed", "run", "--out", "e", "--accept-data-change"});
  done({"train", "run", "--resume", "--accept-data-change"});
  EXPECT_THAT(file_text("run/train.log"), HasSubstr("data.test has changed, which is accepted"));
  EXPECT_THAT(done({"checkpoint", "show", "run", "--json"}).out, HasSubstr("dog/5.jpg"));
  done({"eval", "knn", "run", "k=3"});
}

// The CSV has other bytes then, too, which would name nothing.
TEST_F(ChangedData, ARenamedPictureIsNamedAndNotTheCsvThatFollowsIt) {
  const std::string csv = "labels.csv";
  const auto label_all = [&] {
    std::ofstream file(csv);
    file << "path,label\n";
    for (const auto& entry : fs::recursive_directory_iterator("data")) {
      if (!entry.is_regular_file()) continue;
      const fs::path path = entry.path().lexically_relative("data");
      file << path.string() << "," << path.parent_path().string() << "\n";
    }
  };
  label_all();
  ASSERT_EQ(train("labelled", {"data.train.labels=" + csv}).exit, 0);
  fs::rename("labelled/checkpoints/previous.safetensors", "labelled/checkpoints/last.safetensors");
  fs::rename(image("cat", 2), "data/cat/renamed.jpg");
  label_all();
  const ProcessResult result = run_debias({"train", "labelled", "--resume"});
  EXPECT_EQ(result.exit, 3);
  const std::string message = result.err.substr(result.err.rfind("debias: "));  // behind a line on the columns that are read
  expect_parts(message, {"has changed: cat/2.jpg is missing; cat/renamed.jpg is new"}, {"CSV"});
}

class SeveralSizes : public Photographs {
 protected:
  SeveralSizes() : Photographs("{size: 16}") {
    const Words sizes = {"[20, 60]", "[44, 25]", "[30, 31]"};
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::string picture = std::to_string(i) + ".png";
      done({"views", "apply", "--image", whole(), "--out", picture, "resize: {size: " + sizes[i] + "}"});
    }
    for (const std::string group : {"cat", "dog"}) {
      for (int i = 0; i < 6; ++i) {
        fs::remove(image(group, i));
        fs::copy_file(std::to_string(i % 3) + ".png", fs::path(image(group, i)).replace_extension("png"));
      }
    }
    fs::copy("data", "test", fs::copy_options::recursive);
  }

  ProcessResult evaluated(const std::string& name, Words more) const {
    more.push_back("data.test={name: image_folder, root: test}");
    more.push_back("evaluate={protocols: [knn, linear], knn: {k: 3}, linear: {epochs: 1}}");
    return train(name, more);
  }
};

TEST_F(SeveralSizes, AreEvaluatedAtTheSizeThatTheNetworkSaw) {
  const ProcessResult dry = evaluated("dry", {"--dry-run", "--json"});
  ASSERT_EQ(dry.exit, 0) << dry.err;
  const auto expected = Json::parse(R"({"steps": [{"resize": {"size": 16}}, {"center_crop": {"size": 16}}]})");
  EXPECT_EQ(Json::parse(dry.out)["config"]["views"]["eval"], expected);
  EXPECT_FALSE(fs::exists("dry"));

  const ProcessResult trained = evaluated("run", {});
  ASSERT_EQ(trained.exit, 0) << trained.err;
  EXPECT_EQ(Json(read_yaml_file("run/config.yaml").find("views")->find("eval")->to_json()), expected);
  EXPECT_EQ(times("\"test.knn_acc1\"", metrics("run")), 2u);
  done({"eval", "linear_supcon", "run", "epochs=1"});
  done({"embed", "run", "--out", "e"});
}

TEST_F(SeveralSizes, AFaultIsFoundBeforeAnyStepAndTheCureIsTakenByEveryVerb) {
  for (const Words& words : {Words{}, Words{"--dry-run"}}) {
    const ProcessResult refused = evaluated("run", with({"views.eval=none"}, words));
    EXPECT_EQ(refused.exit, 3);
    EXPECT_THAT(refused.err, HasSubstr("data.train cannot be evaluated with the current views.eval"));
    EXPECT_FALSE(fs::exists("run"));
  }
  ASSERT_EQ(train("run", {"data.test={name: image_folder, root: test}", "views.eval=none"}).exit, 0);
  const std::string cure = "views.eval={resize: {size: 20}, center_crop: {size: 16}}";
  for (const char* verb : {"eval", "embed"}) {
    const bool evaluates = std::string(verb) == "eval";
    Words words = evaluates ? Words{"eval", "knn", "run", "knn.k=3"} : Words{"embed", "run", "--out", "e"};
    EXPECT_EQ(run_debias(words).exit, 3) << verb;
    words.push_back(cure);
    done(words);
  }
}

// Training images of one size need no view of their own; those that are evaluated may differ.
class OneSizeToTrainOn : public Photographs {
 protected:
  OneSizeToTrainOn() : Photographs("{size: 16}") {
    fs::copy("data", "same", fs::copy_options::recursive);
    fs::copy("data", "several", fs::copy_options::recursive);
    const std::string picture = "several/dog/3.png";
    done({"views", "apply", "--image", whole(), "--out", picture, "resize: {size: [20, 60]}"});
    fs::remove("several/dog/3.jpg");
  }
  std::string split(const std::string& name, const std::string& folder) const {
    return "data." + name + "={name: image_folder, root: " + folder + "}";
  }
  void expect_refused(const std::string& which, const Words& splits) const {
    for (const bool dry : {false, true}) {
      auto words = with({"views.eval=none", "evaluate={protocols: [knn], knn: {k: 3}}"}, splits);
      if (dry) words.emplace_back("--dry-run");
      const ProcessResult refused = train("run", words);
      EXPECT_EQ(refused.exit, 3) << which;
      EXPECT_THAT(refused.err, HasSubstr(which + " cannot be evaluated with the current views.eval"));
      EXPECT_FALSE(fs::exists("run")) << which;
    }
  }
};

TEST_F(OneSizeToTrainOn, AFaultOfAnySplitThatIsEvaluatedIsFoundBeforeTraining) {
  expect_refused("data.test", {split("test", "several")});
  expect_refused("data.valid", {split("valid", "several"), split("test", "same")});
}

}  // namespace debias::photographs_test
