#include "debias/data/readers/label_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/fixture_files.h"
#include "tests/support/refusals.h"

namespace debias {
namespace label_file_test {

using namespace fixture;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LabelCsv : public testing::Test {
 protected:
  LabelFile read(const std::string& text, LabelColumns columns = {}) {
    write(folder_ / "l.csv", text);
    columns.file = folder_ / "l.csv";
    return read_label_file(columns);
  }
  std::string message(const std::string& text, const LabelColumns& columns = {}) {
    return data_error_of([&] { read(text, columns); });
  }
  // A file of one column of labels.
  static std::string column(const std::vector<std::string>& labels) {
    std::string text = "path,label\n";
    for (size_t i = 0; i < labels.size(); ++i) text += std::to_string(i) + ".png," + labels[i] + "\n";
    return text;
  }
  static std::vector<int64_t> labels(const LabelFile& file) {
    std::vector<int64_t> values;
    for (const LabelRow& row : file.rows) values.push_back(row.label);
    return values;
  }
  TemporaryFolder folder_;
};

TEST_F(LabelCsv, ReadsQuotesAndNames) {
  const LabelFile file = read("\xef\xbb\xbfpath,label\n\"a,\"\"b\"\".png\",dog\n\nc.png,\" cat\"\r\nd.png,");
  ASSERT_EQ(file.rows.size(), 3u);
  EXPECT_EQ(file.rows[0].path, "a,\"b\".png");
  EXPECT_THAT(labels(file), ElementsAre(1, 0, kUnknown));
  EXPECT_EQ(file.rows[2].line, 5);
  EXPECT_EQ(file.label.kind, ColumnKind::kNames);
  EXPECT_THAT(file.label.names, ElementsAre("cat", "dog"));
  EXPECT_EQ(file.bias.kind, ColumnKind::kAbsent);
}

TEST_F(LabelCsv, IntegersAreTheLabelsThemselves) {
  const LabelFile file = read(column({"3", "-1", "", " 0", "2", "3", "1000000"}));
  EXPECT_EQ(file.label.kind, ColumnKind::kIntegers);
  EXPECT_THAT(labels(file), ElementsAre(3, -1, -1, 0, 2, 3, 1000000));
  EXPECT_EQ(file.label.names.size(), 1000001u);
  EXPECT_EQ(file.label.names.back(), "1000000");
}

TEST_F(LabelCsv, IntegersThatAreNotAsTheyArePrintedAreNames) {
  const LabelFile file = read(column({"1", "01", "2", "-1", "nan"}));
  EXPECT_EQ(file.label.kind, ColumnKind::kNames);
  EXPECT_THAT(file.label.names, ElementsAre("01", "1", "2"));
  EXPECT_THAT(labels(file), ElementsAre(1, 0, 2, kUnknown, kUnknown));
  EXPECT_THAT(read(column({"007", "010", "100"})).label.names, ElementsAre("007", "010", "100"));
}

TEST_F(LabelCsv, WordsForMissingValuesAreUnknownAndSaid) {
  const LabelFile names = read("path,label,bias,camera\na,cat,NA,x\nb,nan,red,null\nc,None,,x\n");
  EXPECT_THAT(labels(names), ElementsAre(0, kUnknown, kUnknown));
  EXPECT_THAT(names.label.notes, ElementsAre("column 'label': 2 fields such as 'nan' are read as unknown"));
  EXPECT_THAT(names.bias.notes, ElementsAre("column 'bias': 1 field, 'NA', is read as unknown"));
  EXPECT_THAT(names.others[0].values, ElementsAre("x", "", "x"));
  const LabelFile integers = read(column({"0", "NaN", "2"}));
  EXPECT_EQ(integers.label.kind, ColumnKind::kIntegers);
  EXPECT_THAT(labels(integers), ElementsAre(0, kUnknown, 2));
}

TEST_F(LabelCsv, OneMalformedIntegerRenumbersNothing) {
  EXPECT_THAT(
      message(column({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11.5"})),
      AllOf(HasSubstr("l.csv: line 13: column label: '11.5' is not an integer from -1 to 2147483647"), HasSubstr("integers or names")));
  for (const std::string wrong :
       {"-2", "1.5", "18446744073709551616", "2147483648", "1e3", "inf", "-inf", "0x10", "--1", "1 2", "7up", "two"}) {
    EXPECT_THAT(message(column({"0", "1", wrong})), AllOf(HasSubstr("line 4"), HasSubstr("'" + wrong + "'"))) << wrong;
  }
  EXPECT_THAT(message(column({"0", "5000000"})), HasSubstr("line 3: column label: 5000000 is above the largest number, 1000000"));
  EXPECT_THAT(message(column({"2147483647"})), HasSubstr("line 2: column label: 2147483647 is above"));
}

TEST_F(LabelCsv, AttributesOfMinusOneAndOneAreRefused) {
  EXPECT_THAT(message(column({"1", "", "-1", "1", "-1"})),
              AllOf(HasSubstr("line 4: column 'label' has only -1 and 1, and -1 is unknown"), HasSubstr("write 0 and 1, or names")));
  EXPECT_THAT(labels(read(column({"1", "-1", "0"}))), ElementsAre(1, -1, 0));
  EXPECT_THAT(labels(read(column({"-1", ""}))), ElementsAre(-1, -1));
  EXPECT_THAT(labels(read(column({"1", ""}))), ElementsAre(1, -1));
}

TEST_F(LabelCsv, NamesHoldNoNumber) {
  EXPECT_THAT(read(column({"7up", "v1.5", "\"1,5\"", "zero"})).label.names, testing::SizeIs(4));
  EXPECT_THAT(message(column({"cat", "dog", "7", "fish"})), HasSubstr("line 4: column label: '7' is mixed with names"));
  EXPECT_THAT(message(column({"cat", "dog", "-1"})), AllOf(HasSubstr("line 4"), HasSubstr("an empty field is unknown")));
  EXPECT_THAT(message(column({"cat", "dog", "inf"})), HasSubstr("'inf' is mixed with names"));
  EXPECT_THAT(message(column({"cat", "dog", "007"})), HasSubstr("'007' is mixed with names"));
  EXPECT_THAT(message(column({"1", "dog", "2"})), HasSubstr("line 3: column label: 'dog' is mixed with integers"));
}

TEST_F(LabelCsv, PassesOverOtherColumnsAndReadsThoseThatAreNamed) {
  const std::string text = "id,place,image, species ,date\n7,sea,a.png,gull,1.5\n8,land,b.png,crow,x\n";
  const LabelFile file = read(text, LabelColumns{.path = "image", .label = "species", .bias = "place"});
  EXPECT_EQ(file.rows[1].path, "b.png");
  EXPECT_THAT(file.label.names, ElementsAre("crow", "gull"));
  EXPECT_EQ(file.label.title, "species");
  EXPECT_EQ(file.rows[0].bias, 1);
  EXPECT_THAT(message(text, LabelColumns{.path = "image", .label = "specis"}),
              HasSubstr("line 1: no column 'specis'; did you mean 'species'?"));
  EXPECT_THAT(message(text, LabelColumns{.path = "imag", .label = "species"}), HasSubstr("no column 'imag'; did you mean 'image'?"));
  EXPECT_THAT(message(text, LabelColumns{.path = "image"}), HasSubstr("neither a column label nor a column bias among id, place, image"));
  EXPECT_THAT(message("path,label,label\na,1,2\n"), HasSubstr("column 'label' is given twice"));
  EXPECT_EQ(read("path,label,bias\na,1,x\n", LabelColumns{.bias = std::nullopt}).bias.kind, ColumnKind::kAbsent);
}

TEST_F(LabelCsv, PathsAreNormalised) {
  const LabelFile file = read("path,label\n./a//b.png,1\nx/../c.png,2\n../d/./e.png,3\n");
  EXPECT_EQ(file.rows[0].path, "a/b.png");
  EXPECT_EQ(file.rows[1].path, "c.png");
  EXPECT_EQ(file.rows[2].path, "../d/e.png");
  EXPECT_THAT(message("path,label\na/b.png,1\n./a/b.png,1\n"), HasSubstr("line 3: 'a/b.png' is given twice, first in line 2"));
  EXPECT_THAT(message("path,label\n,1\n"), HasSubstr("line 2: no path is given"));
}

TEST_F(LabelCsv, IntegersWithZerosAfterThePointAreLabels) {
  const LabelFile file = read(column({"0.0", "2.0", "-1.0", ""}));
  EXPECT_EQ(file.label.kind, ColumnKind::kIntegers);
  EXPECT_THAT(labels(file), ElementsAre(0, 2, kUnknown, kUnknown));
  EXPECT_THAT(file.label.notes, IsEmpty());
  EXPECT_THAT(read(column({"0", "1.0"})).label.notes, ElementsAre("column 'label': 1 field, '1.0', is read as '1'"));
  EXPECT_THAT(read(column({"0", "255"})).label.notes, ElementsAre(HasSubstr("255 is read as class 255")));
}

TEST_F(LabelCsv, RowsThatRepeatOthersAreLeftOut) {
  const LabelFile twice = read("path,label,camera\na,1,x\nb,0,y\na,1,x\na,1,x\nc,1,z\n");
  EXPECT_THAT(labels(twice), ElementsAre(1, 0, 1));
  EXPECT_THAT(twice.others[0].values, ElementsAre("x", "y", "z"));
  EXPECT_THAT(twice.notes, ElementsAre("2 rows repeat earlier ones and are left out, the first in line 4"));
  EXPECT_THAT(message("path,label\na,1\na,2\n"), HasSubstr("line 3: 'a' is given twice, first in line 2"));
}

TEST_F(LabelCsv, TheColumnThatNamesTheImagesIsFound) {
  write(folder_ / "l.csv", "id,label,image_id\n7,0,x/1.png\n8,1,x/2.png\n");
  const std::vector<std::string> images = {"x/1.png", "x/2.png"};
  const LabelFile file = read_label_file(LabelColumns{.file = folder_ / "l.csv"}, images);
  EXPECT_EQ(file.rows[1].path, "x/2.png");
  EXPECT_EQ(file.path_title, "image_id");
  EXPECT_THAT(file.notes, ElementsAre("column 'image_id' names the images"));
  write(folder_ / "l.csv", ",label\nX/1,0\nX/2,1\n");
  EXPECT_THAT(read_label_file(LabelColumns{.file = folder_ / "l.csv"}, images).notes,
              ElementsAre("the column without a title names the images"));
  write(folder_ / "l.csv", "id,label\n7,0\n8,1\n");
  EXPECT_THAT(data_error_of([&] { read_label_file(LabelColumns{.file = folder_ / "l.csv"}, images); }),
              HasSubstr("no column 'path' among id, label"));
}

TEST_F(LabelCsv, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(message(""), HasSubstr("is empty"));
  EXPECT_THAT(message("file,label\n"), HasSubstr("line 1: no column 'path' among file, label; name the columns, such as labels: {file: " +
                                                 (folder_ / "l.csv") + ", path: file, label: label}"));
  EXPECT_THAT(message("path,label\ra.png,1\rb.png,2\r"), HasSubstr("l.csv: its lines end with CR alone; save the file with"));
  EXPECT_THAT(message("path,label\na.png,K\xc3\xa4se\nb.png,K\xe4se\n"),
              HasSubstr("l.csv: line 3: text that is not UTF-8; save the file as UTF-8"));
  EXPECT_THAT(message("path,label\na.png,1\nb.png\n"), HasSubstr("line 3: 1 fields, expected 2"));
  EXPECT_THAT(message("path,label\n\"a.png,1\n"), HasSubstr("line 2: a quoted field does not end"));
  EXPECT_THAT(message("path,label\n\"a\"b.png,1\n"), HasSubstr("line 2: text follows"));
}

TEST(LabelColumns, AreAFileOrAMap) {
  const auto read = [](const std::string& yaml) { return LabelColumns::from_config(parse_yaml(yaml, "r.yaml"), "labels"); };
  Config laid_over = parse_yaml("labels: photos.csv", "r.yaml");
  laid_over.assign("labels.group=patient");
  const LabelColumns both = LabelColumns::from_config(*laid_over.find("labels"), "labels");
  EXPECT_EQ(both.file, "photos.csv");
  EXPECT_EQ(both.group, "patient");
  EXPECT_EQ(read("l.csv").file, "l.csv");
  EXPECT_EQ(read("l.csv").path, "path");
  const LabelColumns named = read("{file: l.csv, label: species, bias: none}");
  EXPECT_EQ(named.label, "species");
  EXPECT_EQ(named.bias, std::nullopt);
  for (const std::string text : {"l.csv", "{file: l.csv, label: species, bias: none}", "{file: l.csv, path: image}"}) {
    EXPECT_EQ(read(read(text).config().to_yaml()).config().to_yaml(), read(text).config().to_yaml()) << text;
  }
  EXPECT_EQ(read("{file: l.csv}").config().to_yaml(), read("l.csv").config().to_yaml());
  EXPECT_THAT(usage_error_of([&] { read("{file: l.csv, labl: x}"); }), HasSubstr("did you mean 'label'?"));
  EXPECT_THAT(usage_error_of([&] { read("{label: x}"); }), HasSubstr("no file is given"));
  EXPECT_THAT(usage_error_of([&] { read("[l.csv]"); }), HasSubstr("expected a file or a map"));
}

}  // namespace label_file_test
}  // namespace debias
