#include "debias/data/folder_survey.h"
#include "debias/data/dataset_registry.h"
#include "debias/data/group_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/data/settled_pixels.h"
#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace folder_survey_test {

using namespace fixture;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FolderSurveyOf : public testing::Test {
 protected:
  void add(const std::string& path, int width = 4) { write(folder_ / ("in/" + path), encode_png(solid(3, width, 1, 2, 3))); }
  void damage(const std::string& path) { write(folder_ / ("in/" + path), "no picture"); }
  void add_many(const std::string& folder, int count) {
    for (int i = 0; i < count; ++i) add(folder + "/" + std::to_string(100 + i) + ".png", 4 + i % 3);
  }
  // Labels are the folders; of each class every tenth picture has the other class's bias label.
  std::string labels(int count) {
    std::string csv = "path,label,bias\n";
    for (int i = 0; i < count; ++i) {
      const std::string file = "/" + std::to_string(100 + i) + ".png";
      csv += "cat" + file + ",cat," + (i % 10 == 0 ? "blue" : "red") + "\n";
      csv += "dog" + file + ",dog," + (i % 10 == 0 ? "red" : "blue") + "\n";
    }
    write(folder_ / "labels.csv", csv);
    return folder_ / "labels.csv";
  }
  FolderSurvey survey(const std::string& csv = "") const {
    return survey_folder(folder_ / "in", csv.empty() ? Config() : Config::string(csv), Progress::silent());
  }
  static std::string text(const Config& section, const std::string& key) {
    const Config* value = section.find(key);
    return value == nullptr ? "" : value->text();
  }
  TemporaryFolder folder_;
};

TEST_F(FolderSurveyOf, EvaluatesTheTestFolderByTheNamesOfTraining) {
  add_many("train/cat", 3);
  add_many("train/dog", 3);
  add_many("test/dog", 2);
  const FolderSurvey found = survey();
  EXPECT_EQ(text(found.evaluated, "split"), "test");
  EXPECT_EQ(found.hold_out, 0);
  EXPECT_THAT(found.evaluated_check->class_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(found.evaluated_check->per_class, ElementsAre(0, 2));
  EXPECT_TRUE(found.has_labels());
  EXPECT_FALSE(found.has_biases());
}

TEST_F(FolderSurveyOf, ProposesThePixelsThatAreAskedFor) {
  add_many("train/cat", 3);
  add_many("train/dog", 3);
  add_many("test/dog", 2);
  const FolderSurvey found = survey_folder(folder_ / "in", {}, Progress::silent(), pixel_options({"transparency=black"}, "init"));
  EXPECT_EQ(text(found.train, "transparency"), "black");
  EXPECT_EQ(text(found.evaluated, "transparency"), "black");
  EXPECT_EQ(text(survey().train, "transparency"), "");
}

TEST_F(FolderSurveyOf, NamesAClassOfWhichNoFileCanBeRead) {
  add_many("cat", 5);
  add_many("dog", 5);
  damage("eel/1.png");
  damage("eel/2.png");
  EXPECT_THAT(survey().remarks, ElementsAre(HasSubstr("class 'eel': none of its 2 files can be read")));
}

TEST_F(FolderSurveyOf, HoldsOutAFifthWithoutATestFolder) {
  add_many("cat", 10);
  add_many("dog", 10);
  const FolderSurvey found = survey();
  EXPECT_EQ(found.hold_out, 4);
  EXPECT_EQ(text(found.evaluated, "split"), "held_out");
  EXPECT_EQ(read_data(found.evaluated).make_images()->size(), 4);
  EXPECT_EQ(read_data(found.train).make_images()->size(), 16);
}

TEST_F(FolderSurveyOf, HoldsOutMoreWhereFewPicturesGoAgainstTheBias) {
  add_many("cat", 30);
  add_many("dog", 30);
  const FolderSurvey found = survey(labels(30));
  EXPECT_TRUE(found.has_biases());
  EXPECT_EQ(GroupCounts(found.train_check.bias_table).conflicting(), 6);
  EXPECT_EQ(found.hold_out, 24);  // 30 / 6 is more than the largest share, 0.4
}

TEST_F(FolderSurveyOf, AFolderWithAnotherNameForTrainCanHoldOut) {
  add_many("Training/cat", 10);
  add_many("Training/dog", 10);
  const FolderSurvey found = survey();
  EXPECT_EQ(read_data(found.evaluated).make_images()->size(), 4);
  EXPECT_EQ(read_data(found.train).make_images()->size(), 16);
  EXPECT_THAT(read_data(found.train).make_images()->info().class_names, ElementsAre("cat", "dog"));
}

TEST_F(FolderSurveyOf, ATestFolderWithoutLabelsEvaluatesNothing) {
  add_many("train/cat", 10);
  add_many("train/dog", 10);
  add_many("test", 5);
  const FolderSurvey found = survey();
  EXPECT_EQ(found.hold_out, 4);
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("test has no labels")));
}

TEST_F(FolderSurveyOf, HoldsOutNoDamagedFile) {
  add_many("cat", 10);
  add_many("dog", 10);
  for (const char* file : {"cat/100.png", "cat/104.png", "dog/103.png"}) damage(file);
  const FolderSurvey found = survey();
  EXPECT_EQ(found.train_check.bad_files.size(), 3u);
  EXPECT_THAT(found.evaluated_bad, IsEmpty());
  EXPECT_THAT(check_data(*read_data(found.evaluated).make_images()).bad_files, IsEmpty());
}

TEST_F(FolderSurveyOf, DamagedFilesThatWouldBeEvaluatedAreNamed) {
  add_many("train/cat", 2);
  add_many("train/dog", 2);
  add_many("test/cat", 2);
  damage("test/cat/101.png");
  const FolderSurvey found = survey();
  ASSERT_EQ(found.evaluated_bad.size(), 1u);
  EXPECT_THAT(found.evaluated_bad[0].path, HasSubstr("test/cat/101.png"));
}

TEST_F(FolderSurveyOf, HoldsOutWholeGroupsAndSaysHowManyThereAre) {
  add_many("cat", 12);
  add_many("dog", 12);
  std::string csv = "path,patient\n";
  for (const std::string label : {"cat", "dog"}) {
    for (int i = 0; i < 12; ++i) csv += fmt::format("{}/{}.png,{}{}\n", label, 100 + i, label, i / 3);
  }
  write(folder_ / "labels.csv", csv);
  const Config labels = parse_yaml(fmt::format("{{file: {}, group: patient}}", folder_ / "labels.csv"), "labels");
  const FolderSurvey found = survey_folder(folder_ / "in", labels, Progress::silent());
  EXPECT_EQ(found.hold_out, 5);
  EXPECT_EQ(found.groups, 8);
  EXPECT_EQ(found.held_out, 6);  // one group of three of each class
  EXPECT_EQ(read_data(found.evaluated).make_images()->size(), 6);
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("24 training images are 8 groups (column patient)")));
}

TEST_F(FolderSurveyOf, SaysThatNamesMayNameWhatImagesAreOf) {
  for (const char* name : {"pat{}{:02}/{}.png", "{}{:02}_{}.png"}) {
    std::filesystem::remove_all(folder_ / "in");
    for (const std::string label : {"cat", "dog"}) {
      for (int i = 0; i < 40; ++i) add(label + "/" + fmt::format(fmt::runtime(name), label, i / 4, i), 4 + i % 3);
    }
    EXPECT_THAT(survey().remarks, Contains(AllOf(HasSubstr("80 images have 20 values of their "), HasSubstr("cat00' is the first"))))
        << name;
  }
  std::filesystem::remove_all(folder_ / "in");
  add_many("cat", 40);
  add_many("dog", 40);
  EXPECT_THAT(survey().remarks, Not(Contains(HasSubstr("values of their"))));
}

TEST_F(FolderSurveyOf, ProposesAColumnThatNamesWhatImagesAreOf) {
  add_many("cat", 40);
  add_many("dog", 40);
  std::string csv = "path,label,patient,weekday\n";
  for (const std::string label : {"cat", "dog"}) {
    for (int i = 0; i < 40; ++i) csv += fmt::format("{0}/{1}.png,{0},{0}{2},{3}\n", label, 100 + i, i / 4, i % 5);
  }
  write(folder_ / "labels.csv", csv);
  const FolderSurvey found = survey(folder_ / "labels.csv");
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("column patient has 20 values that repeat")));
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("add --group patient")));
  EXPECT_THAT(found.train_check.columns.likely_bias, ElementsAre("weekday"));
}

TEST_F(FolderSurveyOf, ATestFolderOfOtherBiasLabelsProceeds) {
  add_many("train/cat", 6);
  add_many("train/dog", 6);
  add_many("test/cat", 4);
  add_many("test/dog", 4);
  std::string csv = "path,label,bias\n";
  for (const std::string split : {"train", "test"}) {
    for (const std::string label : {"cat", "dog"}) {
      for (int i = 0; i < (split == "train" ? 6 : 4); ++i)
        csv += fmt::format("{}/{}/{}.png,{},{}\n", split, label, 100 + i, label,
                           split == "train" || i == 0 ? (i % 2 == 0 ? "a" : "b") : "new");
    }
  }
  write(folder_ / "labels.csv", csv);
  const FolderSurvey found = survey(folder_ / "labels.csv");
  EXPECT_TRUE(found.has_unknown_biases);
  EXPECT_EQ(found.evaluated_check->count, 8);
  EXPECT_THAT(found.evaluated_check->bias_names, ElementsAre("a", "b", "unknown"));
  EXPECT_THAT(found.evaluated_check->bias_table[1], ElementsAre(1, 0, 3));
  EXPECT_THAT(found.remarks,
              ElementsAre(HasSubstr("6 of 8 images are a group of unknown bias: 1 bias label ('new') that training did not know")));
}

TEST_F(FolderSurveyOf, RefusesLabelsOfOneClass) {
  add_many("cat", 6);
  EXPECT_FALSE(survey().has_labels()) << "one class folder is read as no classes";
  for (const std::string label : {"cat", "1"}) {
    std::string csv = "path,label\n";
    for (int i = 0; i < 6; ++i) csv += "cat/" + std::to_string(100 + i) + ".png," + (i == 0 ? "NA" : label) + "\n";
    write(folder_ / "one.csv", csv);
    EXPECT_THAT(data_error_of([&] { survey(folder_ / "one.csv"); }),
                HasSubstr("one.csv: all 5 labelled training images are of class '" + label + "', and training needs two classes"));
  }
}

TEST_F(FolderSurveyOf, NamesTheWordsThatAreReadAsUnknown) {
  add_many("cat", 5);
  add_many("dog", 5);
  std::string csv = "path,label,bias\n";
  for (int i = 0; i < 5; ++i) {
    for (const std::string kind : {"cat", "dog"})
      csv += kind + "/" + std::to_string(100 + i) + ".png," + kind + (i == 0 ? ",nan\n" : ",red\n");
  }
  write(folder_ / "words.csv", csv);
  EXPECT_THAT(survey(folder_ / "words.csv").remarks, ElementsAre(HasSubstr("column 'bias': 2 fields such as 'nan' are read as unknown")));
}

TEST_F(FolderSurveyOf, RefusesUnknownClassesAndWhatCannotBeRead) {
  add_many("train/cat", 2);
  add_many("train/dog", 2);
  add_many("test/cow", 2);
  EXPECT_THAT(data_error_of([&] { survey(); }), HasSubstr("cow"));
  EXPECT_THAT(data_error_of([&] { survey(labels(2)); }), HasSubstr("labels.csv"));
  damage("alone/1.png");
  EXPECT_THAT(data_error_of([&] { survey_folder(folder_ / "in/alone", {}, Progress::silent()); }), HasSubstr("none of its 1 images"));
}

}  // namespace folder_survey_test
}  // namespace debias
