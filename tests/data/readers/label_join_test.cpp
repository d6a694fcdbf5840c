#include "debias/data/readers/label_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "debias/data/name_table.h"
#include "debias/data/readers/image_folder.h"
#include "tests/data/readers/image_tree.h"
#include "tests/support/refusals.h"

namespace debias {
namespace label_join_test {

using namespace fixture;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

// A folder of images and CSV files.
class LabelJoin : public ImageTree {
 protected:
  std::unique_ptr<Dataset> open(const std::string& csv, const std::string& split = "train") {
    return make_image_folder(ImageFolderOptions{.root = folder_.path(), .split = split, .labels = LabelColumns{.file = folder_ / csv}});
  }
  std::unique_ptr<Dataset> open_with(const std::string& text, const std::string& split = "train") {
    write(folder_ / "l.csv", text);
    return open("l.csv", split);
  }
  std::string message(const std::string& text, const std::string& split = "train") {
    return data_error_of([&] { open_with(text, split); });
  }
};

TEST_F(LabelJoin, ACsvReplacesLabelsAndGivesBiases) {
  add("x/1.png");
  add("x/2.png");
  const auto data = open_with("path,label,bias\r\nx/2.png,5,1\r\nx/1.png,,0\r\n");
  EXPECT_THAT(labels(*data), ElementsAre(kUnknown, 5));
  EXPECT_THAT(biases(*data), ElementsAre(0, 1));
  EXPECT_EQ(data->get(1).bias, 1);
  EXPECT_EQ(data->info().class_names.size(), 6u);
  EXPECT_THAT(data->info().bias_names, ElementsAre("0", "1"));
  EXPECT_THAT(data->info().remarks, ElementsAre(HasSubstr("l.csv: column label is read as integers, 0 to 5, 1 unknown"),
                                                HasSubstr("bias is read as integers, 0 to 1")));
}

TEST_F(LabelJoin, ACsvOfBiasesKeepsTheFoldersLabels) {
  add("train/x/1.png");
  add("train/y/2.png");
  add("test/x/3.png");
  const auto data = open_with("bias,path\nwater,train/x/1.png\nland,y/2.png\nsky,test/x/3.png\n");
  EXPECT_THAT(labels(*data), ElementsAre(0, 1));
  EXPECT_THAT(biases(*data), ElementsAre(1, 0));
  EXPECT_THAT(data->info().bias_names, ElementsAre("land", "water"));  // sky is of another split
  EXPECT_THAT(data->info().remarks, ElementsAre(HasSubstr("column bias is read as 2 names (land, water)")));
}

TEST_F(LabelJoin, PathsMayBeginAtTheRootTheSplitTheCsvOrTheTop) {
  add("train/x/1.png");
  add("train/x/2.png");
  add("train/y/3.png");
  const std::string top = fs::absolute(folder_.path()).string();
  open_with("path,label\ntrain/x/1.png,a\n./x//2.png,b\n" + top + "/train/y/3.png,c\n");
  write(folder_ / "tables/l.csv", "path,label\n../train/x/1.png,a\n../train/x/2.png,b\n../train/../train/y/3.png,c\n");
  EXPECT_THAT(labels(*open("tables/l.csv")), ElementsAre(0, 1, 2));
  write(folder_ / "train/x/l.csv", "path,label\n1.png,a\n2.png,b\n../y/3.png,c\n");
  EXPECT_THAT(labels(*open("train/x/l.csv")), ElementsAre(0, 1, 2));
}

TEST_F(LabelJoin, PathsWithoutLinksServeALinkedRoot) {
  add("photos/x/1.png");
  const std::string top = fs::canonical(folder_.path()).string();
  fs::create_directory_symlink(top + "/photos", folder_ / "linked");
  write(folder_ / "l.csv", "path,label\n" + top + "/photos/x/1.png,a\n");
  const auto columns = LabelColumns{.file = folder_ / "l.csv"};
  EXPECT_THAT(labels(*make_image_folder(ImageFolderOptions{.root = folder_ / "linked", .labels = columns})), ElementsAre(0));
}

TEST_F(LabelJoin, ShowsWhatWasComparedWhereARowIsMissing) {
  add("train/x/1.png");
  add("train/x/2.png");
  EXPECT_THAT(message("path,label\ntrain/x/1.png,0\nz/2.png,0\n"),
              AllOf(HasSubstr("l.csv: has no row for the image train/x/2.png (1 image in all)"),
                    HasSubstr("looked for 'train/x/2.png', 'x/2.png', '" + folder_.path()), HasSubstr("its line 3 has 'z/2.png'")));
  EXPECT_THAT(message("path,label\ny/3.png,0\n"), AllOf(HasSubstr("(2 images in all)"), HasSubstr("its line 2 has 'y/3.png'")));
  EXPECT_THAT(message("path,label\n"), HasSubstr("it has no row at all"));
  EXPECT_THAT(message("path,label\nx/1.png,0\nx/2.png,0\nx/3.png,1\n"), HasSubstr("line 4: no image x/3.png in"));
  EXPECT_THAT(message("path,label\nx/1.png,0\nx/2.png,0\ntrain/x/2.png,1\n"),
              HasSubstr("line 4: train/x/2.png is the same image as x/2.png of line 3"));
}

TEST_F(LabelJoin, LeavesOutImagesThatHaveNoRowAndCannotBeRead) {
  for (const char* image : {"1.png", "2.png", "3.png", "4.png"}) add(image);
  write(folder_ / "2.png", "no image");
  fs::resize_file(folder_ / "4.png", 30);
  const auto data = open_with("path,label\n1.png,cat\n3.png,dog\n");
  EXPECT_THAT(sources(*data), ElementsAre("1.png", "3.png"));
  EXPECT_THAT(labels(*data), ElementsAre(0, 1));
  EXPECT_THAT(data->info().remarks,
              Contains(AllOf(HasSubstr("l.csv: 2 images have no row and cannot be read: left out (first: 2.png: is not an image"))));
  EXPECT_THAT(message("path,label\n1.png,cat\n"), HasSubstr("has no row for the image 3.png (3 images in all)"));
  EXPECT_THAT(labels(*open_with("path,label\n1.png,cat\n2.png,dog\n3.png,dog\n")), ElementsAre(0, 1, 1)) << "a row keeps 2.png";
}

TEST_F(LabelJoin, SaysOnceThatNumbersDoNotBeginAt0) {
  add("1.png");
  add("2.png");
  EXPECT_THAT(open_with("path,label,bias\n1.png,1,0\n2.png,10,3\n")->info().remarks,
              ElementsAre(testing::EndsWith("column label is read as integers, 0 to 10; the numbers begin at 1: no image is of label 0"),
                          testing::EndsWith("column bias is read as integers, 0 to 3")));
  EXPECT_THAT(open_with("path,label\n1.png,3\n2.png,\n")->info().remarks,
              ElementsAre(testing::EndsWith("integers, 0 to 3, 1 unknown; the numbers begin at 3: no image is of label 0 to 2")));
  EXPECT_THAT(open_with("path,label\n1.png,cat\n2.png,\n")->info().remarks, ElementsAre(testing::EndsWith("1 name (cat), 1 unknown")));
  EXPECT_THAT(open_with("path,label\n1.png,\n2.png,\n")->info().remarks, ElementsAre(testing::EndsWith("nothing, 2 unknown")));
}

TEST_F(LabelJoin, LabelsThatContradictTheClassFoldersAreCounted) {
  for (const char* image : {"cat/1.png", "cat/2.png", "dog/1.png", "dog/2.png"}) add(image);
  const auto swapped = open_with("path,label\ncat/1.png,Cat\ncat/2.png,dog\ndog/1.png,cat\ndog/2.png,dog\n");
  EXPECT_THAT(swapped->info().remarks, Contains(HasSubstr("column label: 2 of 4 labels contradict the class folder of the image, such as "
                                                          "'dog' for cat/2.png; labels count, not folders")));
  const auto others = open_with("path,label\ncat/1.png,ape\ncat/2.png,bee\ndog/1.png,ape\ndog/2.png,bee\n");
  EXPECT_THAT(others->info().remarks, testing::Not(Contains(HasSubstr("contradict"))));
}

TEST(LabelsBesideFolders, NumbersThatFollowTheFoldersButForAFewAreCounted) {
  std::vector<std::string> folders, labels, images;
  for (int i = 0; i < 40; ++i) {
    folders.emplace_back(i < 20 ? "cat" : "dog");
    labels.emplace_back(i < 20 ? "0" : "1");
    images.push_back(folders.back() + "/" + std::to_string(i));
  }
  EXPECT_EQ(note_on_folders("y", folders, labels, images), "");
  labels[25] = "0";
  EXPECT_THAT(note_on_folders("y", folders, labels, images),
              HasSubstr("column y: 1 of 40 labels contradicts the class folder of the image, such as '0' for dog/25"));
  labels[25] = "";
  EXPECT_EQ(note_on_folders("y", folders, labels, images), "");
}

TEST_F(LabelJoin, WordsForMissingValuesAreARemarkOfTheirColumn) {
  for (const char* image : {"1.png", "2.png", "3.png"}) add(image);
  const auto data = open_with("path,label\n1.png,cat\n2.png,nan\n3.png,NA\n");
  EXPECT_THAT(labels(*data), ElementsAre(0, kUnknown, kUnknown));
  EXPECT_THAT(data->info().remarks, ElementsAre(testing::EndsWith("1 name (cat), 2 unknown"),
                                                testing::EndsWith("l.csv: column 'label': 2 fields such as 'nan' are read as unknown")));
  EXPECT_EQ(data->info().columns.remarks, std::vector<std::string>{data->info().remarks[1]});
  EXPECT_TRUE(data->info().columns.has_labels);
}

TEST_F(LabelJoin, ClassFoldersWithNamesLikeMissingValuesAndNumbersAreClasses) {
  for (const char* image : {"01/a.png", "1/a.png", "nan/a.png", "none/a.png"}) add(image);
  const auto folders = make_image_folder(ImageFolderOptions{.root = folder_.path()});
  EXPECT_THAT(folders->info().class_names, ElementsAre("01", "1", "nan", "none"));
  const auto data = open_with("path,label\n01/a.png,01\n1/a.png,1\nnan/a.png,02\nnone/a.png,\n");
  EXPECT_THAT(data->info().class_names, ElementsAre("01", "02", "1"));
  EXPECT_THAT(labels(*data), ElementsAre(0, 2, 1, kUnknown));
}

TEST_F(LabelJoin, ANameThatIsNotUtf8IsWrittenWithEscapes) {
  add("train/x/k\xe4se.png");
  add("train/x/milk.png");
  add("test/x/\xfc.png");
  const auto data = open_with("path,label\ntrain/x/k\\xe4se.png,b\nx/milk.png,a\ntest/x/\\xfc.png,a\n");
  EXPECT_THAT(labels(*data), ElementsAre(1, 0));
  EXPECT_THAT(message("path,label\nx/milk.png,a\n"), HasSubstr("looked for 'train/x/k\\xe4se.png', 'x/k\\xe4se.png'"));
}

TEST_F(LabelJoin, ReportsTheColumnsThatAreNotRead) {
  std::string csv = "path,label,colour,id\n";
  for (int i = 0; i < 8; ++i) {
    add("x/" + std::to_string(i) + ".png");
    csv +=
        "x/" + std::to_string(i) + ".png," + (i % 2 == 0 ? "cat" : "dog") + "," + (i < 4 ? "red" : "blue") + "," + std::to_string(i) + "\n";
  }
  const auto data = open_with(csv);
  const ColumnUse& columns = data->info().columns;
  EXPECT_EQ(columns.file, folder_ / "l.csv");
  EXPECT_THAT(columns.read, ElementsAre("path", "label"));
  EXPECT_THAT(columns.ignored, ElementsAre("colour", "id"));
  EXPECT_THAT(columns.likely_bias, ElementsAre("colour"));
  EXPECT_THAT(data->info().remarks[1], testing::EndsWith("l.csv: columns colour, id are not read"));
  EXPECT_THAT(data->info().remarks[2], testing::EndsWith("to use it, write labels: {file: " + (folder_ / "l.csv") + ", bias: colour}"));
  EXPECT_THAT(data->info().bias_names, IsEmpty());

  const auto named =
      make_image_folder(ImageFolderOptions{.root = folder_.path(), .labels = LabelColumns{.file = folder_ / "l.csv", .bias = "colour"}});
  EXPECT_THAT(named->info().columns.read, ElementsAre("path", "label", "colour"));
  EXPECT_THAT(named->info().columns.likely_bias, IsEmpty());
  const auto none = make_image_folder(
      ImageFolderOptions{.root = folder_.path(), .labels = LabelColumns{.file = folder_ / "l.csv", .bias = std::nullopt}});
  EXPECT_THAT(none->info().columns.likely_bias, IsEmpty());
}

TEST_F(LabelJoin, ARowForAnImageBesideTheClassFoldersIsRefused) {
  add("train/x/1.png");
  add("train/2.png");
  const std::string top = fs::absolute(folder_.path()).string();
  for (const std::string& path : {std::string("train/2.png"), std::string("2.png"), top + "/train/2.png"}) {
    EXPECT_THAT(message("path,label\ntrain/x/1.png,0\n" + path + ",1\n"),
                AllOf(HasSubstr("line 3: the image " + path + " is outside the class folders"), HasSubstr("move it into one of them")));
  }
}

TEST_F(LabelJoin, APathOfImagesInTwoSplitsIsRefusedUnlessTheCsvSaysWhichIsMeant) {
  for (const char* image : {"train/x/0.png", "train/x/1.png", "test/x/0.png"}) add(image);
  EXPECT_THAT(message("path,label\nx/1.png,0\nx/0.png,1\n"),
              HasSubstr("line 3: x/0.png may be train/x/0.png or test/x/0.png; write the name with its folder"));
  EXPECT_THAT(labels(*open_with("path,label\ntrain/x/0.png,1\nx/1.png,0\ntest/x/0.png,2\n")), ElementsAre(1, 0));
  const std::string splits = "path,label,split\nx/0.png,1,train\nx/1.png,0,train\nx/0.png,2,Test\n";
  EXPECT_THAT(labels(*open_with(splits)), ElementsAre(1, 0));
  EXPECT_THAT(labels(*open_with(splits, "test")), ElementsAre(2));
  write(folder_ / "labels_train.csv", "path,label\nx/0.png,1\nx/1.png,0\n");
  EXPECT_THAT(labels(*open("labels_train.csv")), ElementsAre(1, 0));
  write(folder_ / "train/l.csv", "path,label\nx/0.png,1\nx/1.png,0\n");
  EXPECT_THAT(labels(*open("train/l.csv")), ElementsAre(1, 0));
}

TEST_F(LabelJoin, NamesThatDifferInFormCaseFolderOrEndingAreJoinedAndSaid) {
  for (const char* image : {"train/caf\xc3\xa9/0.png", "train/x/1.png", "train/x/2.PNG", "test/x/3.png"}) add(image);
  const auto data = open_with("path,label\ncafe\xcc\x81/0.png,1\n1,0\nX/2.png,1\n3,0\n");
  EXPECT_THAT(labels(*data), ElementsAre(1, 0, 1));
  const auto& remarks = data->info().columns.remarks;
  ASSERT_EQ(remarks.size(), 2u) << testing::PrintToString(remarks);
  EXPECT_THAT(remarks[0], HasSubstr("l.csv: 2 names of rows differ in folder from what they name, such as 'cafe\xcc\x81/0.png' for "
                                    "'train/caf\xc3\xa9/0.png'; they are joined"));
  EXPECT_THAT(remarks[1], HasSubstr("ending from what they name, such as '1' for 'train/x/1.png'"));
  EXPECT_THAT(message("path,label\ncafe\xcc\x81/0.png,1\n1,0\n2,1\n4,0\n"), HasSubstr("line 5: no image 4 in"));
}

TEST_F(LabelJoin, TheColumnThatNamesTheImagesIsFoundAndSaid) {
  for (const char* image : {"x/1.png", "x/2.png", "x/3.png"}) add(image);
  const auto data = open_with("Unnamed: 0;image_id;label\n0;1;cat\n1;2;dog\n2;3;cat\n");
  EXPECT_THAT(labels(*data), ElementsAre(0, 1, 0));
  EXPECT_EQ(data->info().columns.read, (std::vector<std::string>{"image_id", "label"}));
  EXPECT_THAT(data->info().columns.remarks,
              ElementsAre(HasSubstr("semicolons separate the fields"), HasSubstr("column 'Unnamed: 0' numbers the rows and is left out"),
                          HasSubstr("column 'image_id' names the images"), HasSubstr("3 names of rows differ in ending")));
}

TEST_F(LabelJoin, TwoFoldersOfOneNameInTwoUnicodeFormsAreOneClass) {
  for (const char* image :
       {"train/caf\xc3\xa9/0.png", "train/cafe\xcc\x81/1.png", "train/d/2.png", "test/cafe\xcc\x81/3.png", "test/d/4.png"})
    add(image);
  const auto train = make_image_folder(ImageFolderOptions{.root = folder_.path()});
  EXPECT_EQ(train->info().class_names.size(), 2u);
  EXPECT_THAT(labels(*train), ElementsAre(0, 0, 1));
  EXPECT_THAT(train->info().remarks, ElementsAre(HasSubstr("in two Unicode forms; they are one class")));
  const std::shared_ptr<const Dataset> test = make_image_folder(ImageFolderOptions{.root = folder_.path(), .split = "test"});
  const MappedDataset mapped = map_to_table(test, {{"caf\xc3\xa9", "d"}, {}}, UnknownNames::kRefuse);
  EXPECT_THAT(labels(*mapped.dataset), ElementsAre(0, 1));
  EXPECT_THAT(mapped.remarks, ElementsAre(HasSubstr("differs from training's only in blanks or Unicode form: it is the same")));
}

// Train and test by the run's table, which training makes.
class SharedTable : public LabelJoin {
 protected:
  SharedTable() {
    for (const std::string image : {"train/1.png", "train/2.png", "train/3.png", "test/4.png", "test/5.png"}) add(image);
  }
  std::vector<int64_t> test_labels(const std::string& train, const std::string& test) {
    const auto table = name_table(*open_with("path,label\n" + train));
    return labels(*map_to_table(open_with("path,label\n" + test, "test"), table, UnknownNames::kRefuse).dataset);
  }
};

TEST_F(SharedTable, NumbersNamesAsTrainingDidInWhateverOrderTheySort) {
  EXPECT_THAT(test_labels("1.png,cat\n2.png,dog\n3.png,fish\n", "4.png,fish\n5.png,dog\n"), ElementsAre(2, 1));
  EXPECT_THAT(test_labels("1.png,2\n2.png,0\n3.png,1\n", "4.png,1\n5.png,2\n"), ElementsAre(1, 2));
}

TEST_F(SharedTable, RefusesNamesAndNumbersOfTheTestImagesAloneThoughTheCsvIsShared) {
  const std::string names = "train/1.png,cat\ntrain/2.png,dog\ntrain/3.png,dog\ntest/4.png,cat\ntest/5.png,dgo\n";
  EXPECT_THAT(data_error_of([&] { test_labels(names, names); }),
              AllOf(HasSubstr("class 'dgo' is not one that training knew (1 unknown in all); rename it"),
                    testing::EndsWith("; did you mean 'dog'?")));
  const std::string numbers = "train/1.png,0\ntrain/2.png,1\ntrain/3.png,1\ntest/4.png,0\ntest/5.png,7\n";
  EXPECT_THAT(data_error_of([&] { test_labels(numbers, numbers); }), HasSubstr("class '7' is not one that training knew"));
}

TEST_F(SharedTable, RefusesNumbersInOneAndNamesInTheOther) {
  const std::string numbers = "1.png,0\n2.png,1\n3.png,1\n", names = "4.png,cat\n5.png,dog\n";
  EXPECT_THAT(data_error_of([&] { test_labels(numbers, names); }),
              AllOf(HasSubstr("class 'cat' is not one that training knew"), testing::EndsWith("known: 0, 1")));
  EXPECT_THAT(data_error_of([&] { test_labels("1.png,cat\n2.png,dog\n3.png,dog\n", "4.png,0\n5.png,1\n"); }),
              AllOf(HasSubstr("class '0' is not one that training knew"), testing::EndsWith("known: cat, dog")));
}

}  // namespace label_join_test
}  // namespace debias
