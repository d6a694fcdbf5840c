#include "debias/features/feature_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/features/common_offset.h"
#include "tests/features/table_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace feature_table_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Table : public testing::Test {
 protected:
  Table() { write_ramp(folder_ / "z.npy", 3); }
  void write(const std::string& name, const std::string& text) { write_text(folder_ / name, text); }
  FeatureTable open(const std::string& csv = "") {
    return open_feature_table(FeatureTableFiles{.vectors = folder_ / "z.npy", .csv = csv.empty() ? "" : folder_ / csv});
  }
  TemporaryFolder folder_;
};

TEST(FeatureVectorsOfATable, ThatLieFarFromZeroAreSaidTo) {
  const TemporaryFolder folder;
  for (const float offset : {0.0f, 20.0f, 1e4f}) {
    const float values[] = {offset + 3, offset, offset - 3, offset, offset, offset + 4, offset, offset - 4};  // spread: sqrt(12.5)
    write_npy(folder / "z.npy", DType::kFloat32, {4, 2}, values);
    write_text(folder / "z.csv", "label\n0\n1\n0\n1\n");
    const CommonOffset found = common_offset(FeatureVectors::open(folder / "z.npy"));
    EXPECT_NEAR(found.norm, std::sqrt(2.0) * offset, 1e-3);
    EXPECT_NEAR(found.spread, std::sqrt(12.5), 1e-3);
    const FeatureTable table = open_feature_table(FeatureTableFiles{.vectors = folder / "z.npy"});
    const auto said = HasSubstr("the vectors lie 1.4e+04 from 0 and 3.5 from their mean: in float32");
    EXPECT_EQ(testing::Value(table.remarks, testing::Contains(said)), offset == 1e4f);
  }
}

TEST(FeatureVectorsOfATable, ThatAreZerosOrRepeatsAreCounted) {
  const TemporaryFolder folder;
  std::vector<float> values = ramp_vectors(12);
  for (const size_t row : {3, 7}) values[2 * row] = values[2 * row + 1] = 0;
  for (const size_t row : {5, 11}) values[2 * row] = values[2], values[2 * row + 1] = values[3];
  write_npy(folder / "z.npy", DType::kFloat32, {12, 2}, values.data());
  std::string csv = "path,label\n";
  for (int i = 0; i < 12; ++i) csv += fmt::format("r{},{}\n", i, i % 2);
  write_text(folder / "z.csv", csv);
  const FeatureTable table = open_feature_table(FeatureTableFiles{.vectors = folder / "z.npy"});
  EXPECT_THAT(table.remarks, testing::Contains(testing::HasSubstr("2 of 12 vectors are of zeros, the first in row 3 ('r3')")));
  EXPECT_THAT(table.remarks,
              testing::Contains(testing::HasSubstr("2 of 12 vectors repeat an earlier one exactly, the first in row 5 ('r5') "
                                                   "that of row 1 ('r1'): ")));
}

TEST_F(Table, RowsWithoutNamesBesideTheVectorsAreInTheirOrder) {
  write("c.csv", "path,label,split\nb,1,train\na,0,test\nc,1,train\n");
  const FeatureTable table = open("c.csv");
  EXPECT_THAT(table.rows.labels, ElementsAre(1, 0, 1));
  EXPECT_THAT(table.of_split(TableSplit::kTrain), ElementsAre(0, 2));
  EXPECT_THAT(table.of_split(TableSplit::kValid), IsEmpty());
  EXPECT_THAT(table.remarks, ElementsAre(HasSubstr("are taken in the order of the vectors, which have no such names")));
  write("z.csv", "path,label\nb,1\na,0\nc,1\n");
  EXPECT_THAT(open().remarks, IsEmpty());
}

TEST_F(Table, RowsAreJoinedByNamesBesideTheVectors) {
  write("z.csv", "filenames,labels\nb,0\nc,0\na,0\n");
  write("c.csv", "path,label,bias\na,ant,red\nx,bee,red\nb,bee,blue\nc,cow,red\n");
  const FeatureTable table = open("c.csv");
  EXPECT_THAT(table.rows.names, ElementsAre("b", "c", "a"));
  EXPECT_THAT(table.rows.labels, ElementsAre(1, 2, 0));
  EXPECT_THAT(table.rows.columns[0].values, ElementsAre(0, 1, 1));
  EXPECT_THAT(table.rows.lines, ElementsAre(4, 5, 2));
  EXPECT_THAT(table.remarks, ElementsAre(HasSubstr("3 vectors joined to 4 rows")));
}

TEST_F(Table, SplitsAreThoseBesideTheVectorsWhereTheCsvHasNone) {
  write("z.csv", "path,label,bias,split\nb,0,red,test\nc,0,red,train\na,0,red,valid\n");
  write("c.csv", "path,label,bias\na,ant,red\nb,bee,blue\nc,cow,red\n");
  const FeatureTable table = open("c.csv");
  EXPECT_THAT(table.of_split(TableSplit::kTest), ElementsAre(0));
  EXPECT_THAT(table.of_split(TableSplit::kTrain), ElementsAre(1));
  EXPECT_THAT(table.remarks, ElementsAre(HasSubstr("joined"), HasSubstr("c.csv has no column split; splits are those of")));
  write("c.csv", "path,label,split\na,ant,train\nb,bee,train\nc,cow,train\n");
  EXPECT_THAT(open("c.csv").of_split(TableSplit::kTrain), SizeIs(3));
  write("z.csv", "path,split\nb,held_out\nc,held_out\na,held_out\n");
  write("c.csv", "path,label\na,ant\nb,bee\nc,cow\n");
  EXPECT_THAT(open("c.csv").remarks, SizeIs(1));
}

TEST_F(Table, WhatEmbedWritesIsATableByItself) {
  write("z.csv", "filenames,labels\nb,0\nc,1\na,0\n");
  EXPECT_THAT(open().rows.labels, ElementsAre(0, 1, 0));
  EXPECT_THAT(open("z.csv").rows.biases, IsEmpty());
  write("z.names.csv", "filenames,labels,class,bias,bias_name\nb,0,bee,1,red\nc,1,ant,0,blue\na,0,bee,-1,\n");
  for (const std::string csv : {"", "z.csv", "z.names.csv"}) {
    const FeatureTable table = open(csv);
    EXPECT_THAT(table.rows.classes, ElementsAre("bee", "ant")) << csv;
    ASSERT_THAT(table.rows.biases, SizeIs(1)) << csv;
    EXPECT_THAT(table.rows.columns[0].values, ElementsAre(1, 0, kUnknown)) << csv;
  }
}

TEST_F(Table, NamesThatTheCsvLacksAreNamed) {
  write("z.csv", "filenames,labels\nb,0\nc,0\na,0\n");
  write("c.csv", "path,label\nphotos,0\nb,1\nc/photos,1\n");
  EXPECT_THAT(data_error_of([&] { open("c.csv"); }),
              AllOf(HasSubstr("lacks 2 of 3 names"), HasSubstr("'c' (vector 1), 'a' (vector 2)"), HasSubstr("'photos'")));
}

TEST_F(Table, NamesThatDifferInFormCaseFolderOrEndingAreJoinedAndSaid) {
  write("z.csv", "filenames,labels\nx/b.png,0\nx/caf\xc3\xa9.png,0\nx/a.png,0\n");
  write("c.csv", "path;label\na;ant\nX/B.png;bee\nx/cafe\xcc\x81.png;cow\n");
  const FeatureTable table = open("c.csv");
  EXPECT_THAT(table.rows.labels, ElementsAre(1, 2, 0));
  EXPECT_THAT(table.remarks, ElementsAre(HasSubstr("in Unicode form, blanks or slashes"), HasSubstr("in case"), HasSubstr("in ending"),
                                         HasSubstr("3 vectors joined to 3 rows"), HasSubstr("semicolons separate the fields")));
  write("c.csv", "path,label\na.png,ant\nX/A.PNG,ant\nx/b.png,bee\nx/caf\xc3\xa9.png,cow\n");
  EXPECT_THAT(data_error_of([&] { open("c.csv"); }), HasSubstr("line 2: a.png is the same image as X/A.PNG of line 3"));
}

TEST_F(Table, TheColumnThatHoldsTheNamesIsFound) {
  write("z.csv", "filenames,labels\nx/b.png,0\nx/c.png,0\nx/a.png,0\n");
  for (const std::string title : {"image_id", "file_name", "Bild", ""}) {
    write("c.csv", "id,label,bias," + title + "\n7,ant,red,x/a.png\n8,bee,blue,x/b.png\n9,cow,red,x/c.png\n");
    const FeatureTable table = open("c.csv");
    EXPECT_THAT(table.rows.labels, ElementsAre(1, 2, 0)) << title;
    EXPECT_THAT(table.rows.names, ElementsAre("x/b.png", "x/c.png", "x/a.png")) << title;
    ASSERT_THAT(table.rows.columns, SizeIs(2)) << title;
    EXPECT_EQ(table.rows.columns[0].name, "id");
    EXPECT_THAT(table.remarks, testing::Contains(HasSubstr("names the vectors"))) << title;
  }
}

TEST_F(Table, RowsThatRepeatOthersAreLeftOutOfAJoin) {
  write("z.csv", "filenames,labels\nb,0\nc,0\na,0\n");
  write("c.csv", "path,label\na,ant\nb,bee\na,ant\nc,cow\n");
  const FeatureTable table = open("c.csv");
  EXPECT_THAT(table.rows.labels, ElementsAre(1, 2, 0));
  EXPECT_THAT(table.remarks, testing::Contains("1 row repeats an earlier one and is left out, it is in line 4"));
  write("d.csv", "path,label\na,ant\nb,bee\na,ant\n");
  EXPECT_THAT(data_error_of([&] { open_feature_table(FeatureTableFiles{.vectors = folder_ / "y.npy", .csv = folder_ / "d.csv"}); }),
              HasSubstr("y.npy"));
  write_ramp(folder_ / "y.npy", 3);
  EXPECT_THAT(data_error_of([&] { open_feature_table(FeatureTableFiles{.vectors = folder_ / "y.npy", .csv = folder_ / "d.csv"}); }),
              HasSubstr("line 4: 'a' is given twice, first in line 2"));
}

TEST_F(Table, LabelsOfTwoFilesThatDisagreeAreRefused) {
  write("z.csv", "path,label\nb,bee\nc,cow\na,ant\n");
  write("c.csv", "path,label,other\na,ant,bee\nb,cow,bee\nc,cow,ant\n");
  EXPECT_THAT(data_error_of([&] { open("c.csv"); }), AllOf(HasSubstr("c.csv: 1 of 3 labels are not those of "),
                                                           HasSubstr("the first of 'b': 'cow' and 'bee'"), HasSubstr("--label")));
  const auto chosen =
      open_feature_table(FeatureTableFiles{.vectors = folder_ / "z.npy", .csv = folder_ / "c.csv"}, TableRowOptions{.label = "other"});
  EXPECT_THAT(chosen.rows.labels, ElementsAre(1, 0, 1));
  write("c.csv", "path,label\na,1\nb,0\nc,0\n");
  EXPECT_THAT(open("c.csv").rows.labels, ElementsAre(0, 0, 1));
}

TEST_F(Table, NumbersOfRowsAndVectorsMustAgree) {
  write("c.csv", "label\n0\n1\n");
  EXPECT_THAT(data_error_of([&] { open("c.csv"); }), AllOf(HasSubstr("2 rows for 3 vectors"), HasSubstr("z.npy")));
  write("z.csv", "filenames,labels\nb,0\nc,0\n");
  write("d.csv", "path,label\nb,0\nc,0\n");
  EXPECT_THAT(data_error_of([&] { open("d.csv"); }), HasSubstr("z.csv: 2 rows for 3 vectors"));
}

TEST_F(Table, WithoutACsvTheOptionIsNamed) {
  EXPECT_THAT(usage_error_of([&] { open(); }), HasSubstr("--csv"));
}

TEST_F(Table, AValueThatIsNotFiniteIsFoundOnOpening) {
  const std::vector<float> values = {1, 2, 3, std::numeric_limits<float>::infinity()};
  write_npy(folder_ / "z.npy", DType::kFloat32, {2, 2}, values.data());
  write("c.csv", "label\n0\n1\n");
  EXPECT_THAT(data_error_of([&] { open("c.csv"); }), HasSubstr("row 1 (from 0) has inf in column 1"));
}

}  // namespace feature_table_test
}  // namespace debias
