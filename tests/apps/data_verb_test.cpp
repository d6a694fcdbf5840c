// `debias data` as a process: what it prints, writes and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

#include "debias/core/npy.h"
#include "tests/apps/expect_complaint.h"
#include "tests/apps/process.h"

namespace debias {
namespace data_verb_test {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// By value: where `words` can be changed, std::data would be chosen before a reference to what cannot.
ProcessResult data(std::vector<std::string> words) { return run_debias(with({"data"}, words)); }

class DataVerb : public testing::Test {
 protected:
  static std::vector<std::string> glyphs(const std::string& verb, const std::vector<std::string>& more) {
    return with({verb, "glyphs", "size=16", "train_count=40", "test_count=20"}, more);
  }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename().string());
    return names;
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
  TemporaryFolder folder_;
};

void expect_error(const ProcessResult& result, int exit, const std::string& text) {
  expect_one_line(result, exit, text);
  EXPECT_THAT(result.err, testing::StartsWith("debias: "));
}

TEST_F(DataVerb, ListsEveryDataSetWithItsOptions) {
  const ProcessResult text = data({"list"});
  EXPECT_EQ(text.exit, 0);
  const json list = json::parse(data({"list", "--json"}).out).at("datasets");
  std::vector<std::string> names;
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
  std::vector<std::string> keys;
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
  ASSERT_EQ(data(glyphs("make", {"--out", folder_ / "made", "correlation=1"})).exit, 0);
  std::string victim;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "made/align")) {
    if (entry.is_regular_file()) victim = entry.path().string();
  }
  fs::resize_file(victim, fs::file_size(victim) / 2);
  const ProcessResult result = data({"check", "glyphs", "--root", folder_ / "made", "--json"});
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
  expect_error(data({"check", "mnist", "--root", folder_.path()}), 3, "train-images-idx3-ubyte");
}

TEST_F(DataVerb, RefusesWrongOptions) {
  expect_error(data({"check", "glyhps"}), 2, "did you mean 'glyphs'");
  expect_error(data({"check", "glyphs", "split=tset"}), 2, "did you mean 'test'");
  expect_error(data({"check", "glyphs", "corelation=0.5"}), 2, "did you mean 'correlation'");
  expect_error(data({"check", "glyphs", "correlation=1.5"}), 2, "[0, 1]");
  expect_error(data({"check", "mnist"}), 2, "no root is given");
  expect_error(data({"check"}), 2, "NAME");
  expect_error(data({"check", "glyphs", "--jsno"}), 2, "did you mean '--json'");
  EXPECT_EQ(data({}).exit, 2);
}

TEST_F(DataVerb, ExportsPixelsLabelsAndBiases) {
  const std::string x = folder_ / "x.npy", y = folder_ / "y.npy", b = folder_ / "b.npy";
  const ProcessResult result = data(glyphs("export", {"correlation=1", "--limit", "7", "--out", x, "--labels", y, "--bias", b}));
  ASSERT_EQ(result.exit, 0) << result.err;
  const NpyArray pixels = read_npy(x), labels = read_npy(y), biases = read_npy(b);
  EXPECT_EQ(pixels.dtype, DType::kUInt8);
  EXPECT_THAT(pixels.shape, ElementsAre(7, 16, 16, 3));
  EXPECT_EQ(labels.dtype, DType::kInt64);
  EXPECT_THAT(labels.shape, ElementsAre(7));
  EXPECT_EQ(file_text(y), file_text(b));  // all aligned
  expect_error(data({"export", "image_folder", "--root", folder_.path(), "--out", folder_ / "z.npy"}), 2, "inside the data folder");
  EXPECT_FALSE(fs::exists(folder_ / "z.npy"));
}

TEST_F(DataVerb, ExportNamesTheOptionThatWouldWriteIntoTheData) {
  put("photos/cat/1.txt", "x");
  const std::string root = folder_ / "photos", inside = root + "/cat/x.npy";
  for (const std::string& option : {std::string("--out"), std::string("--labels"), std::string("--bias")}) {
    std::vector<std::string> words = {"export", "image_folder", "--root", root};
    for (const std::string name : {"out", "labels", "bias"}) {
      words.insert(words.end(), {"--" + name, "--" + name == option ? inside : folder_ / (name + ".npy")});
    }
    expect_error(data(words), 2,
                 option + " '" + inside + "' is inside the data folder '" + root + "'; nothing is written there: choose another " + option);
  }
  EXPECT_THAT(left(), ElementsAre("photos"));
}

TEST_F(DataVerb, MakesAFolderThatExportsTheSameBytes) {
  put_mnist(100, 50);
  const std::string mnist = folder_ / "mnist", made = folder_ / "made";
  const ProcessResult result =
      data({"make", "biased_mnist", "--root", mnist, "--out", made, "correlation=0.9", "seed=5", "hold_out=20", "--json"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const json counts = json::parse(result.out);
  EXPECT_EQ(counts["train"], json({{"aligned", 70}, {"conflicting", 10}}));  // floor(8 * 0.9) = 7 of each class
  EXPECT_EQ(counts["valid"], json({{"aligned", 0}, {"conflicting", 20}}));   // floor(2 * 0.1)
  EXPECT_EQ(counts["test"], json({{"aligned", 0}, {"conflicting", 50}}));
  for (const std::string split : {"train", "test"}) {
    const std::string share = split == "train" ? "correlation=0.9" : "correlation=0.1";
    const std::vector<std::string> outs = {"--out", folder_ / "x.npy", "--labels", folder_ / "y.npy", "--bias", folder_ / "b.npy"};
    ASSERT_EQ(data(with({"export", "biased_mnist", "--root", mnist, "seed=5", "hold_out=20", share, "split=" + split}, outs)).exit, 0);
    const std::string expected = file_text(folder_ / "x.npy") + file_text(folder_ / "y.npy") + file_text(folder_ / "b.npy");
    ASSERT_EQ(data(with({"export", "biased_mnist", "--root", made, "split=" + split}, outs)).exit, 0);
    EXPECT_EQ(file_text(folder_ / "x.npy") + file_text(folder_ / "y.npy") + file_text(folder_ / "b.npy"), expected) << split;
  }
  for (const std::string name : {"x.npy", "y.npy", "b.npy"}) fs::remove(folder_ / name);
  EXPECT_THAT(left(), testing::UnorderedElementsAre("mnist", "made"));
}

TEST_F(DataVerb, MakeRefusesAndLeavesNothing) {
  put_mnist(20, 10);
  const std::string mnist = folder_ / "mnist", made = folder_ / "made";
  expect_error(data({"make", "biased_mnist", "--root", mnist, "--out", mnist}), 2, "inside the data folder");
  expect_error(data({"make", "biased_mnist", "--root", mnist, "--out", mnist + "/made"}), 2, "inside the data folder");
  expect_error(data({"make", "biased_mnist", "--root", mnist, "--out", made, "correlation=2"}), 2, "[0, 1]");
  expect_error(data({"make", "mnist", "--root", mnist, "--out", made}), 2, "mnist");
  expect_error(data({"make", "biased_mnist", "--root", folder_ / "nowhere", "--out", made}), 3, "no such folder");
  expect_error(data({"make", "biased_mnist", "--root", mnist}), 2, "--out");
  fs::resize_file(mnist + "/t10k-images-idx3-ubyte", 100);
  expect_error(data({"make", "biased_mnist", "--root", mnist, "--out", made}), 3, "truncated");
  EXPECT_THAT(left(), ElementsAre("mnist"));
  fs::create_directory(made);
  expect_error(data({"make", "biased_mnist", "--root", mnist, "--out", made}), 2, "exists already");
  EXPECT_TRUE(fs::is_empty(made));
}

}  // namespace data_verb_test
}  // namespace debias
