#include "debias/data/builders/data_make.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "debias/data/builders/atomic_folder.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace data_make_test {

using namespace fixture;
using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

class DataMake : public testing::Test {
 protected:
  DataMake() { write_mnist(folder_ / "mnist", 200, 100); }
  std::string section(const std::string& name) const {
    if (name == "glyphs") return "name: glyphs, size: 16, classes: 4, train_count: 80, test_count: 40";
    return "name: biased_mnist, palette: bahng, root: " + (folder_ / "mnist");
  }
  static MadeCounts build(const std::string& yaml, const std::string& out) { return make_data_folder(parse_yaml(yaml, "r.yaml"), out); }
  std::vector<std::string> left() const {  // names in the folder
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename().string());
    return names;
  }
  TemporaryFolder folder_;
};

void expect_same(const Dataset& made, const Dataset& source) {
  ASSERT_EQ(made.size(), source.size());
  EXPECT_EQ(made.info().class_names, source.info().class_names);
  EXPECT_EQ(made.info().bias_names, source.info().bias_names);
  EXPECT_EQ(made.info().mean, source.info().mean);
  EXPECT_EQ(made.info().height, source.info().height);
  for (int64_t i = 0; i < source.size(); ++i) {
    const Sample a = made.get(i), b = source.get(i);
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.label, b.label);
    EXPECT_EQ(a.bias, b.bias);
    EXPECT_EQ(a.image.pixels, b.image.pixels) << i;
  }
}

TEST_F(DataMake, WhatIsReadBackIsWhatWasMade) {
  for (const std::string name : {"biased_mnist", "glyphs"}) {
    const std::string source = section(name) + ", seed: 3, hold_out: 40";
    const std::string out = folder_ / ("made/" + name);
    const MadeCounts counts = build("{" + source + ", correlation: 0.75}", out + "/");
    ASSERT_EQ(counts.parts.size(), 3u);
    const std::string made = "{name: " + name + ", root: " + out + ", split: ";
    expect_same(*make(made + "train}"), *make("{" + source + ", correlation: 0.75}"));
    expect_same(*make(made + "valid}"), *make("{" + source + ", split: held_out, correlation: 0.1}"));
    expect_same(*make(made + "test}"), *make("{" + source + ", split: test, correlation: 0.1}"));
    EXPECT_EQ(make(made + "train, hold_out: 30}")->size(), counts.parts[0].aligned + counts.parts[0].conflicting - 30);
    EXPECT_EQ(make(made + "valid}")->info().split, "valid");
  }
}

TEST_F(DataMake, SortsTrainingImagesByWhetherTheyAgree) {
  const MadeCounts counts = build("{" + section("biased_mnist") + ", correlation: 0.9}", folder_ / "made");
  ASSERT_EQ(counts.parts.size(), 2u);
  EXPECT_EQ(counts.parts[0].split, "train");
  EXPECT_EQ(counts.parts[0].aligned, 180);
  EXPECT_EQ(counts.parts[0].conflicting, 20);
  EXPECT_EQ(counts.parts[1].aligned, 10);
  EXPECT_FALSE(fs::exists(folder_ / "made/valid"));
  const auto files = [&](const std::string& part) {
    int count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / ("made/" + part))) count += entry.is_regular_file() ? 1 : 0;
    return count;
  };
  EXPECT_EQ(files("align"), 180);
  EXPECT_EQ(files("conflict"), 20);
  EXPECT_EQ(files("test"), 100);
  const auto data = make("{name: biased_mnist, root: " + (folder_ / "made") + "}");
  for (int64_t i = 0; i < data->size(); ++i) {
    const std::string first = data->label(i) == data->bias(i) ? "align" : "conflict";
    EXPECT_EQ(data->source(i), fmt::format("{}/{}/{}_{}_{}.png", first, data->label(i), data->id(i), data->label(i), data->bias(i)));
  }
}

TEST_F(DataMake, RefusesAnOutputThatExistsOrLiesInTheData) {
  const std::string source = "{" + section("biased_mnist") + "}";
  EXPECT_THAT(usage_error_of([&] { build(source, folder_.path()); }), HasSubstr("exists already"));
  EXPECT_THAT(usage_error_of([&] { build(source, folder_ / "mnist/made"); }), HasSubstr("inside the data folder"));
  EXPECT_THAT(usage_error_of([&] { build(source, folder_ / "x/../mnist/made"); }), HasSubstr("inside the data folder"));
  fs::create_symlink("nowhere", folder_ / "link");
  EXPECT_THAT(usage_error_of([&] { build(source, folder_ / "link"); }), HasSubstr("exists already"));
  EXPECT_THAT(usage_error_of([&] { build(source, ""); }), HasSubstr("no output folder"));
}

TEST_F(DataMake, RefusesWhatCannotBeMade) {
  const std::string out = folder_ / "made";
  EXPECT_THAT(usage_error_of([&] { build("{name: biased_minst}", out); }), HasSubstr("did you mean 'biased_mnist'"));
  EXPECT_THAT(usage_error_of([&] { build("{" + section("glyphs") + ", split: test}", out); }), HasSubstr("leave out split"));
  EXPECT_THAT(usage_error_of([&] { build("{" + section("glyphs") + ", root: x}", out); }), HasSubstr("leave out root"));
  EXPECT_THAT(usage_error_of([&] { build("{" + section("glyphs") + ", corelation: 1}", out); }), HasSubstr("correlation"));
  build("{" + section("glyphs") + "}", out);
  EXPECT_THAT(usage_error_of([&] { build("{name: biased_mnist, root: " + out + "}", folder_ / "b"); }), HasSubstr("generated data set"));
}

TEST_F(DataMake, AFailureLeavesNothing) {
  write(folder_ / "mnist/t10k-labels-idx1-ubyte", idx({100}, Bytes(100, 11)));  // found before anything is written
  EXPECT_THAT(data_error_of([&] { build("{" + section("biased_mnist") + "}", folder_ / "made"); }), HasSubstr("t10k-labels"));
  EXPECT_THAT(left(), testing::UnorderedElementsAre("mnist"));
}

class Unreadable : public Dataset {  // fails half way
 public:
  Unreadable() { info_.class_names = info_.bias_names = {"a", "b"}; }
  const DatasetInfo& info() const override { return info_; }
  int64_t size() const override { return 500; }
  Sample get(int64_t index) const override {
    if (index == 300) throw data_error("image 300 is bad");
    return {solid(2, 2, 1, 2, 3), index, 0, 1};
  }
  int64_t label(int64_t) const override { return 0; }
  int64_t bias(int64_t) const override { return 1; }
  std::string source(int64_t) const override { return "x"; }

 private:
  DatasetInfo info_;
};

TEST_F(DataMake, AnImageThatCannotBeReadLeavesNothing) {
  const auto images = std::make_shared<Unreadable>();
  EXPECT_THAT(data_error_of([&] { write_made_folder(folder_ / "made", {images, images, nullptr}, {}); }), HasSubstr("image 300"));
  EXPECT_THAT(left(), testing::UnorderedElementsAre("mnist"));
}

TEST_F(DataMake, AFolderThatAppearsMeanwhileIsNotReplaced) {
  AtomicFolder folder(folder_ / "made");
  fs::create_directory(folder_ / "made");
  EXPECT_THAT(usage_error_of([&] { folder.commit(); }), HasSubstr("exists already"));
}

TEST_F(DataMake, AFolderIsReplacedAsAWholeWhereThatIsAskedFor) {
  const std::string out = folder_ / "made";
  write(out + "/old.txt", "old");
  {
    AtomicFolder folder(out, AtomicFolder::Present::kReplace);
    write(folder.building() + "/new.txt", "new");
    EXPECT_TRUE(fs::exists(out + "/old.txt"));
  }
  EXPECT_TRUE(fs::exists(out + "/old.txt")) << "nothing was committed";
  {
    AtomicFolder folder(out, AtomicFolder::Present::kReplace);
    write(folder.building() + "/new.txt", "new");
    folder.commit();
  }
  EXPECT_TRUE(fs::exists(out + "/new.txt"));
  EXPECT_FALSE(fs::exists(out + "/old.txt"));
  EXPECT_THAT(left(), testing::UnorderedElementsAre("mnist", "made"));
  write(folder_ / "file", "a file");
  EXPECT_THAT(usage_error_of([&] { AtomicFolder(folder_ / "file", AtomicFolder::Present::kReplace); }), HasSubstr("is not a folder"));
}

TEST_F(DataMake, WhatAKilledProcessLeftIsRemovedByTheNextOfTheSameTarget) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t other = fork();
  if (other == 0) {
    AtomicFolder folder(folder_ / "made");
    write(folder.building() + "/align/0/1_0_0.png", "an image");
    const bool notified = ::write(ready[1], "!", 1) == 1;
    pause();
    _exit(notified ? 0 : 1);
  }
  char sign = 0;
  ASSERT_EQ(read(ready[0], &sign, 1), 1);
  close(ready[0]);
  close(ready[1]);
  { const AtomicFolder beside(folder_ / "made"); }
  EXPECT_EQ(left().size(), 2u) << "the folder of a process that lives is left alone";
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  for (const char* name : {"made.tmp-notes/x", "made.tmp-1/x", "made.tmp-1-2", "other.tmp-1-2/x"}) write(folder_ / name, "mine");
  fs::create_directory_symlink("mnist", folder_ / "made.tmp-3-4");
  AtomicFolder folder(folder_ / "made");
  const std::string own = fs::path(folder.building()).filename().string();
  EXPECT_THAT(left(),
              testing::UnorderedElementsAre("mnist", own, "made.tmp-notes", "made.tmp-1", "made.tmp-1-2", "other.tmp-1-2", "made.tmp-3-4"));
  EXPECT_TRUE(fs::exists(folder_ / "mnist/train-images-idx3-ubyte"));
}

TEST_F(DataMake, TellsADamagedFolder) {
  const std::string out = folder_ / "made";
  build("{" + section("glyphs") + "}", out);
  const std::string made = "{name: glyphs, root: " + out + "}";
  EXPECT_THAT(data_error_of([&] { make("{name: biased_mnist, root: " + out + "}"); }),
              HasSubstr("has data set 'glyphs', not 'biased_mnist'"));
  for (const std::string text : {"", "{", "[]", "{\"name\": 3}", "{\"name\": \"glyphs\"}", "{\"name\": \"glyphs\", \"shape\": [1]}",
                                 "{\"name\": \"glyphs\", \"shape\": [4294967312, 16, 3], \"classes\": [], \"biases\": []}",
                                 "{\"name\": \"glyphs\", \"shape\": [1e300, 16, 3], \"classes\": [], \"biases\": []}"}) {
    write(out + "/about.json", text);
    EXPECT_THAT(data_error_of([&] { make(made); }), HasSubstr("about.json")) << text;
  }
  fs::remove(out + "/about.json");
  EXPECT_EQ(make(made)->size(), 80);  // the names then are those of the ten glyphs
  EXPECT_EQ(make(made)->info().class_names.size(), 10u);
}

}  // namespace data_make_test
}  // namespace debias
