#include "debias/features/feature_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    return open_feature_table(FeatureTableFiles().vectors(folder_ / "z.npy").csv(csv.empty() ? "" : folder_ / csv));
  }
  TemporaryFolder folder_;
};

TEST_F(Table, RowsWithoutNamesBesideTheVectorsAreInTheirOrder) {
  write("c.csv", "path,label,split\nb,1,train\na,0,test\nc,1,train\n");
  const FeatureTable table = open("c.csv");
  EXPECT_THAT(table.rows.labels, ElementsAre(1, 0, 1));
  EXPECT_THAT(table.of_split(TableSplit::kTrain), ElementsAre(0, 2));
  EXPECT_THAT(table.of_split(TableSplit::kValid), IsEmpty());
  EXPECT_THAT(table.remarks, IsEmpty());
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
  write("c.csv", "path,label\nphotos/a,0\nb,1\nphotos/c,1\n");
  EXPECT_THAT(data_error_of([&] { open("c.csv"); }),
              AllOf(HasSubstr("lacks 2 of 3 names"), HasSubstr("'c' (vector 1), 'a' (vector 2)"), HasSubstr("'photos/a'")));
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
