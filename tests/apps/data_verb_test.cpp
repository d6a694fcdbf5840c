// `debias data` as a process: what it prints, writes and refuses.
#include "tests/apps/command.h"

namespace debias::data_verb_test {

// By value: where `words` can be changed, std::data would be chosen before a reference to what cannot.
ProcessResult data(Words words) { return run_debias(with({"data"}, words)); }

class DataVerb : public InFolder {
 protected:
  static Words glyphs(const std::string& verb, const Words& more) {
    return with({verb, "glyphs", "size=16", "train_count=40", "test_count=20"}, more);
  }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(name).parent_path());
    std::ofstream(name, std::ios::binary) << text;
  }
  // MNIST's four files with `train` and `test` images, whose first pixel alone is ink.
  void put_mnist(int train, int test) const {
    for (const auto& [prefix, count] : {std::pair{std::string("train"), train}, std::pair{std::string("t10k"), test}}) {
      const auto word = [](int value) { return std::string{'\0', '\0', static_cast<char>(value >> 8), static_cast<char>(value)}; };
      std::string images = word(0x803) + word(count) + word(28) + word(28), labels = word(0x801) + word(count);
      for (int i = 0; i < count; ++i) {
        images.append(1, '\x55').append(783, '\0');
        labels += static_cast<char>(i % 10);
      }
      put("mnist/" + prefix + "-images-idx3-ubyte", images);
      put("mnist/" + prefix + "-labels-idx1-ubyte", labels);
    }
  }
};

void expect_error(const ProcessResult& result, int exit, const std::string& text) {
  expect_one_line(result, exit, text);
  EXPECT_THAT(result.err, StartsWith("debias: "));
}

TEST_F(DataVerb, ListsEveryDataSetWithItsOptions) {
  const ProcessResult text = data({"list"});
  EXPECT_EQ(text.exit, 0);
  const json list = json::parse(data({"list", "--json"}).out).at("datasets");
  Words names;
  for (const auto& entry : list) {
    names.push_back(entry.at("name"));
    EXPECT_THAT(text.out, HasSubstr(names.back() + " "));
    EXPECT_FALSE(entry.at("options").empty());
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"glyphs", "mnist", "biased_mnist", "cifar10", "cifar100", "image_folder"}));
}

TEST_F(DataVerb, ChecksWithTheAgreedKeys) {
  const ProcessResult result = data(glyphs("check", {"correlation=0.5", "split=test", "--json"}));
  ASSERT_EQ(result.exit, 0) << result.err;
  const json check = json::parse(result.out);
  Words keys;
  for (const auto& item : check.items()) keys.push_back(item.key());
  EXPECT_THAT(keys, testing::UnorderedElementsAre("name", "split", "count", "shape", "classes", "per_class", "mean", "std", "bias_table",
                                                  "bad_files", "notes"));
  EXPECT_EQ(check["name"], "glyphs");
  EXPECT_EQ(check["split"], "test");
  EXPECT_EQ(check["count"], 20);
  EXPECT_EQ(check["shape"], json({16, 16, 3}));
  EXPECT_EQ(check["per_class"], json(std::vector<int>(10, 2)));
  EXPECT_EQ(check["mean"].size(), 3u);
  int aligned = 0, total = 0;
  for (size_t label = 0; label < 10; ++label) {
    aligned += check["bias_table"][label][label].get<int>();
    for (const auto& cell : check["bias_table"][label]) total += cell.get<int>();
  }
  EXPECT_EQ(aligned, 10);
  EXPECT_EQ(total, 20);
  const ProcessResult text = data(glyphs("check", {"split=test"}));
  EXPECT_THAT(text.out, AllOf(HasSubstr("glyphs, split test: 20 images of 16x16x3"), HasSubstr("label x bias")));
}

TEST_F(DataVerb, ABadFileIsListedAndExits3) {
  ASSERT_EQ(data(glyphs("make", {"--out", "made", "correlation=1"})).exit, 0);
  std::string victim;
  for (const auto& entry : fs::recursive_directory_iterator("made/align")) {
    if (entry.is_regular_file()) victim = entry.path().string();
  }
  fs::resize_file(victim, fs::file_size(victim) / 2);
  const ProcessResult result = data({"check", "glyphs", "--root", "made", "--json"});
  expect_error(result, 3, victim);
  const json check = json::parse(result.out);
  EXPECT_EQ(check["count"], 39);
  ASSERT_EQ(check["bad_files"].size(), 1u);
  EXPECT_EQ(check["bad_files"][0]["path"], victim);
  EXPECT_FALSE(check["bad_files"][0]["reason"].get<std::string>().empty());
}

TEST_F(DataVerb, AFolderThatCannotBeOpenedGivesTheSameJson) {
  put("cat/notes.txt", "no image");
  for (const std::string name : {"mnist", "biased_mnist", "cifar10", "image_folder"}) {
    const ProcessResult result = data({"check", name, "--root", folder_.path(), "--json"});
    expect_error(result, 3, folder_.path());
    const json check = json::parse(result.out);
    EXPECT_EQ(check["name"], name);
    EXPECT_EQ(check["count"], 0);
    EXPECT_EQ(check["bad_files"].size(), 1u);
  }
}

TEST_F(DataVerb, ExportsPixelsLabelsAndBiases) {
  const std::string x = "x.npy", y = "y.npy", b = "b.npy";
  const ProcessResult result = data(glyphs("export", {"correlation=1", "--limit", "7", "--out", x, "--labels", y, "--bias", b}));
  ASSERT_EQ(result.exit, 0) << result.err;
  const NpyArray pixels = read_npy(x), labels = read_npy(y), biases = read_npy(b);
  EXPECT_EQ(pixels.dtype, DType::kUInt8);
  EXPECT_THAT(pixels.shape, ElementsAre(7, 16, 16, 3));
  EXPECT_EQ(labels.dtype, DType::kInt64);
  EXPECT_THAT(labels.shape, ElementsAre(7));
  EXPECT_EQ(file_text(y), file_text(b));  // all aligned
}

TEST_F(DataVerb, MakesAFolderThatExportsTheSameBytes) {
  put_mnist(100, 50);
  const std::string mnist = "mnist", made = "made";
  const ProcessResult result =
      data({"make", "biased_mnist", "--root", mnist, "--out", made, "correlation=0.9", "seed=5", "hold_out=20", "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const json counts = json::parse(result.out);
  EXPECT_EQ(counts["train"], json({{"aligned", 70}, {"conflicting", 10}}));  // floor(8 * 0.9) = 7 of each class
  EXPECT_EQ(counts["valid"], json({{"aligned", 0}, {"conflicting", 20}}));   // floor(2 * 0.1)
  EXPECT_EQ(counts["test"], json({{"aligned", 0}, {"conflicting", 50}}));
  for (const std::string split : {"train", "test"}) {
    const std::string share = split == "train" ? "correlation=0.9" : "correlation=0.1";
    const Words outs = {"--out", "x.npy", "--labels", "y.npy", "--bias", "b.npy"};
    ASSERT_EQ(data(with({"export", "biased_mnist", "--root", mnist, "seed=5", "hold_out=20", share, "split=" + split}, outs)).exit, 0);
    const std::string expected = file_text("x.npy") + file_text("y.npy") + file_text("b.npy");
    ASSERT_EQ(data(with({"export", "biased_mnist", "--root", made, "split=" + split}, outs)).exit, 0);
    EXPECT_EQ(file_text("x.npy") + file_text("y.npy") + file_text("b.npy"), expected) << split;
  }
  EXPECT_EQ(folder_.entries(), 5u);  // nothing beside these
}

}  // namespace debias::data_verb_test
