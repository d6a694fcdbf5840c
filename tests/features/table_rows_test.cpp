#include "debias/features/table_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/features/table_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace table_rows_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Rows : public testing::Test {
 protected:
  TableRows read(const std::string& text, const TableRowOptions& options = {}) {
    write_text(folder_ / "c.csv", text);
    return read_table_rows(folder_ / "c.csv", options);
  }
  std::string data_message(const std::string& text, const TableRowOptions& options = {}) {
    return data_error_of([&] { read(text, options); });
  }
  std::string usage_message(const std::string& text, const TableRowOptions& options = {}) {
    return usage_error_of([&] { read(text, options); });
  }
  TemporaryFolder folder_;
};

TEST_F(Rows, EachColumnHasItsRole) {
  const TableRows rows = read("path,label,bias,split,camera\na.png,dog,red,train,x\n./b.png, cat ,,test,y\nc.png,dog,blue,valid,\n");
  EXPECT_THAT(rows.names, ElementsAre("a.png", "b.png", "c.png"));
  EXPECT_THAT(rows.classes, ElementsAre("cat", "dog"));
  EXPECT_THAT(rows.labels, ElementsAre(1, 0, 1));
  EXPECT_THAT(rows.splits, ElementsAre(TableSplit::kTrain, TableSplit::kTest, TableSplit::kValid));
  ASSERT_THAT(rows.columns, SizeIs(2));
  EXPECT_THAT(rows.biases, ElementsAre(0u));
  EXPECT_THAT(rows.columns[0].names, ElementsAre("blue", "red"));
  EXPECT_THAT(rows.columns[0].values, ElementsAre(1, kUnknown, 0));
  EXPECT_EQ(rows.columns[1].name, "camera");
  EXPECT_THAT(rows.columns[1].values, ElementsAre(0, 1, kUnknown));
  EXPECT_THAT(rows.lines, ElementsAre(2, 3, 4));
}

TEST_F(Rows, WithoutASplitAllRowsAreOfTrainAndWithoutABiasThereIsNone) {
  const TableRows rows = read("label\n1\n0\n");
  EXPECT_THAT(rows.splits, ElementsAre(TableSplit::kTrain, TableSplit::kTrain));
  EXPECT_THAT(rows.names, IsEmpty());
  EXPECT_THAT(rows.biases, IsEmpty());
}

TEST_F(Rows, IntegersAreOrderedAsNumbersAndMinusOneIsUnknown) {
  const TableRows rows = read("label,bias\n10,2\n9,-1\n10,11\n");
  EXPECT_THAT(rows.classes, ElementsAre("9", "10"));
  EXPECT_THAT(rows.columns[0].names, ElementsAre("2", "11"));
  EXPECT_THAT(rows.columns[0].values, ElementsAre(0, kUnknown, 1));
}

TEST_F(Rows, IntegersThatAreNotAsTheyArePrintedAreNames) {
  const TableRows rows =
      read("label,bias,age\n01,3,030\n1,03,4\n2,-1,5\n", TableRowOptions{.biases = {{"bias", "age"}}, .numeric = {"age"}});
  EXPECT_THAT(rows.classes, ElementsAre("01", "1", "2"));
  EXPECT_THAT(rows.columns[0].names, ElementsAre("03", "3"));
  EXPECT_THAT(rows.columns[0].values, ElementsAre(1, 0, kUnknown));
  EXPECT_THAT(rows.columns[1].numbers, ElementsAre(30, 4, 5));
}

TEST_F(Rows, LabelAndBiasColumnsCanBeNamed) {
  const TableRows rows = read("id,species,water,age\n1,a,x,3.5\n2,b,y,\n",
                              TableRowOptions{.label = "species", .biases = {{"age", "water"}}, .numeric = {"age"}});
  EXPECT_EQ(rows.name_column, "id");
  EXPECT_THAT(rows.classes, ElementsAre("a", "b"));
  EXPECT_THAT(rows.biases, ElementsAre(1u, 0u));
  ASSERT_TRUE(rows.columns[1].numeric);
  EXPECT_EQ(rows.columns[1].numbers[0], 3.5);
  EXPECT_TRUE(std::isnan(rows.columns[1].numbers[1]));
}

TEST_F(Rows, OfEmbedHaveTheGroupsOfItsLastColumn) {
  const TableRows rows = read("filenames,labels,class,bias,bias_name,group\na,1,ant,-1,,p7\nb,0,zebra,-1,,p7\nc,1,ant,-1,,\n");
  EXPECT_THAT(rows.labels, ElementsAre(1, 0, 1));
  ASSERT_EQ(rows.groups.size(), 1u);
  EXPECT_EQ(rows.columns.at(rows.groups[0]).name, "group");
  EXPECT_THAT(rows.columns.at(rows.groups[0]).values, ElementsAre(0, 0, kUnknown));
}

TEST_F(Rows, WhatEmbedWritesHasClassesInTheOrderOfTheirNumbers) {
  const TableRows rows = read("filenames,labels,class,bias,bias_name\na,1,ant,0,red\nb,0,zebra,-1,\nc,1,ant,1,blue\n");
  EXPECT_THAT(rows.classes, ElementsAre("zebra", "ant"));
  EXPECT_THAT(rows.labels, ElementsAre(1, 0, 1));
  EXPECT_THAT(rows.columns[0].names, ElementsAre("red", "blue"));
  EXPECT_THAT(rows.columns[0].values, ElementsAre(0, kUnknown, 1));
  const TableRows plain = read("filenames,labels\n'=1+1.png,1\nb,0\n");
  EXPECT_THAT(plain.names, ElementsAre("=1+1.png", "b"));
  EXPECT_THAT(plain.labels, ElementsAre(1, 0));
}

TEST_F(Rows, RowsWithoutALabelAreNamedByLine) {
  EXPECT_THAT(data_message("label,bias\nx,1\n,1\n,2\ny,1\n,3\n"), AllOf(HasSubstr("3 of 5 rows"), HasSubstr("lines 3, 4, 6)")));
  EXPECT_THAT(data_message("filenames,labels\na,-1\nb,0\n"), HasSubstr("line 2"));
  EXPECT_THAT(data_message("label\n0\n1\n-1\n"),
              HasSubstr("1 of 3 rows have no label in column 'label' (lines 4): '-1' is read as unknown; fill it"));
  EXPECT_THAT(data_message("label\nx\nnan\n\"\"\nNone\nnan\ny\n"), HasSubstr("): 'nan', 'None' are read as unknown; fill it"));
  EXPECT_THAT(data_message("label,bias\nx,1\n,1\n"), HasSubstr("(lines 3); fill it"));
}

TEST_F(Rows, NamesMustBeThereAndDiffer) {
  EXPECT_THAT(data_message("path,label\na,0\nb,0\n./a,1\n"), AllOf(HasSubstr("line 4: 'a' is given twice"), HasSubstr("line 2")));
  EXPECT_THAT(data_message("path,label\na,0\n,0\n"), HasSubstr("line 3: no path"));
}

TEST_F(Rows, AnUnknownSplitIsRejectedWithTheNearest) {
  EXPECT_THAT(data_message("label,split\na,train\nb,vaild\n"), AllOf(HasSubstr("line 3: unknown split 'vaild'"), HasSubstr("'valid'")));
  EXPECT_THAT(data_message("label,split\na,\n"), HasSubstr("line 2: unknown split ''"));
}

TEST_F(Rows, ColumnsThatAreAskedForMustBeThere) {
  EXPECT_THAT(usage_message("path,labl\na,0\n"), AllOf(HasSubstr("no column 'label'"), HasSubstr("did you mean 'labl'")));
  EXPECT_THAT(usage_message("label,colour\na,0\n", TableRowOptions{.biases = {{"color"}}}), HasSubstr("did you mean 'colour'"));
  EXPECT_THAT(usage_message("label\na\n", TableRowOptions{.numeric = {"age"}}), HasSubstr("no column 'age' for --numeric"));
  EXPECT_THAT(usage_message("label\na\n", TableRowOptions{.biases = {{"label"}}}), HasSubstr("cannot be the bias"));
  EXPECT_THAT(usage_message("label,split\na,train\n", TableRowOptions{.biases = {{"split"}}}), HasSubstr("role of its own"));
  EXPECT_THAT(usage_message("label,b\na,0\n", TableRowOptions{.biases = {{"b", "b"}}}), HasSubstr("twice"));
  EXPECT_THAT(data_message("label,b,b\na,0,0\n"), HasSubstr("'b' is given twice"));
}

TEST_F(Rows, OnlyBiasColumnsCanBeNumeric) {
  const std::string csv = "label,bias,age,ages\na,x,3,1\n";
  const std::string why = "--numeric age: it is not a bias column, and only those are used; add it to --bias, or leave it out";
  EXPECT_THAT(usage_message(csv, TableRowOptions{.numeric = {"age"}}), EndsWith(why + "; known: bias"));
  EXPECT_THAT(usage_message(csv, TableRowOptions{.biases = {{"ages"}}, .numeric = {"age"}}), EndsWith(why + "; did you mean 'ages'?"));
  EXPECT_THAT(usage_message("label,age\na,3\n", TableRowOptions{.numeric = {"age"}}), EndsWith(why));
  EXPECT_TRUE(read(csv, TableRowOptions{.biases = {{"age", "bias"}}, .numeric = {"age"}}).columns[1].numeric);
}

TEST_F(Rows, AColumnOfSignsThatIsNoBiasHasTwoNames) {
  const TableRows rows = read("label,bias,smiling\na,0,1\nb,1,-1\na,1,\n");
  EXPECT_EQ(rows.columns[1].names, (std::vector<std::string>{"-1", "1"}));
  EXPECT_EQ(rows.columns[1].values, (std::vector<int64_t>{1, 0, kUnknown}));
}

TEST_F(Rows, WordsOfMissingValuesAreUnknownAndSaid) {
  const TableRows rows = read("label,bias\na,red\nb,nan\na,NA\nb,none\n");
  EXPECT_EQ(rows.columns[0].names, (std::vector<std::string>{"none", "red"}));
  EXPECT_EQ(rows.columns[0].values, (std::vector<int64_t>{1, kUnknown, kUnknown, 0}));
  EXPECT_EQ(rows.remarks, (std::vector<std::string>{
                              "column 'bias': 2 fields such as 'nan' are read as unknown",
                              "column 'bias': none is read as bias label none (1 field); where it means unknown, leave the field empty"}));
}

TEST_F(Rows, WhatIsReadOtherwiseThanItIsWrittenIsSaid) {
  const TableRows rows = read("label,bias,age,\n1.0,3.5,1,\n2,255,2,\n,,,\n1,2,3,\n", TableRowOptions{.biases = {{"bias"}}});
  EXPECT_THAT(rows.classes, ElementsAre("1", "2"));
  EXPECT_THAT(rows.labels, ElementsAre(0, 1, 0));
  EXPECT_THAT(rows.remarks, ElementsAre("1 row without values is left out, the first in line 4",
                                        "1 column without a title and values is left out", "column 'label': 1 field, '1.0', is read as '1'",
                                        "column 'bias': 1 field, '3.5', is read as a name, not as a number"));
  EXPECT_THAT(read("label,bias\na,0\nb,255\n").remarks, ElementsAre(HasSubstr("255 is read as bias label 255 (1 field)")));
  EXPECT_THAT(read("label\n-100\n3\n").remarks, ElementsAre(HasSubstr("-100 is read as class -100 (1 field)")));
}

TEST_F(Rows, NumericFieldsAndSignsAreChecked) {
  const TableRowOptions age{.numeric = {"age"}};
  EXPECT_THAT(data_message("label,age\na,3\nb,old\n", age), HasSubstr("line 3: numeric column 'age': 'old'"));
  EXPECT_THAT(data_message("label,age\na,inf\n", age), HasSubstr("line 2"));
  const TableRowOptions smiling{.biases = {{"smiling"}}};
  EXPECT_THAT(data_message("label,smiling\na,1\nb,-1\n", smiling), HasSubstr("line 3: column 'smiling' has only -1 and 1"));
  EXPECT_THAT(data_message("label,bias\n"), HasSubstr("no rows"));
  EXPECT_THAT(data_message("label,bias\ra,0\rb,1\r"), HasSubstr("its lines end with CR alone"));
}

}  // namespace table_rows_test
}  // namespace debias
