#include "debias/data/readers/table_column.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/refusals.h"

namespace debias {
namespace table_column_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kPath = "c.csv";

ColumnFields column(const std::vector<std::string>& values) {
  ColumnFields fields{kPath, "label", values, {}, {}};
  for (size_t i = 0; i < values.size(); ++i) fields.lines.push_back(static_cast<int64_t>(i) + 2);
  return fields;
}

CategoricalValues values_of(const std::vector<std::string>& values, SignsAlone signs = SignsAlone::kReject) {
  ColumnFields fields = column(values);
  return categorical_values(fields, signs);
}

TEST(TableColumn, HoldsIntegersOnlyAsTheyArePrinted) {
  EXPECT_EQ(value_kind(column({"0", "", "-1", "+1", "12", "3.0"})), ValueKind::kIntegers);
  for (const char* other : {"01", "+01", "+0", "-0", "00", "007"}) {
    EXPECT_EQ(value_kind(column({"1", other})), ValueKind::kPaddedIntegers) << other;
  }
  for (const char* number : {"1.5", "1e3", "007.0", "-0.0", "1234567890123456789"}) {
    EXPECT_EQ(value_kind(column({"1", number})), ValueKind::kNumbers) << number;
  }
  for (const char* name : {"x", "0x1", "inf", "1.0.0", "1,5"}) EXPECT_EQ(value_kind(column({"1", name})), ValueKind::kNames) << name;
  EXPECT_EQ(value_kind(column({"", ""})), ValueKind::kNothing);
}

TEST(TableColumn, PaddedIntegersAreNamesAndMinusOneIsUnknownAmongThem) {
  const CategoricalValues mixed = values_of({"2", "01", "1", "-1", "01", ""});
  EXPECT_THAT(mixed.names, ElementsAre("01", "1", "2"));
  EXPECT_THAT(mixed.values, ElementsAre(2, 0, 1, -1, 0, -1));
  EXPECT_THAT(values_of({"100", "007", "010"}).names, ElementsAre("007", "010", "100"));
  EXPECT_THAT(values_of({"x", "-1"}).names, ElementsAre("-1", "x"));
}

TEST(TableColumn, SignsAloneAreRejectedInAnyForm) {
  EXPECT_THAT(data_error_of([] { values_of({"1", "-1"}); }), HasSubstr("c.csv: line 3: column 'label' has only -1 and 1"));
  EXPECT_THAT(data_error_of([] { values_of({"-1", "+1"}); }), HasSubstr("line 2"));
  EXPECT_THAT(values_of({"1", "-1"}, SignsAlone::kName).names, ElementsAre("-1", "1"));
}

TEST(TableColumn, WordsForMissingValuesAreClearedAndCounted) {
  ColumnFields fields = column({"nan", "a", "NA", "None", "none", "Nan", "<NA>"});
  clear_missing_words(fields);
  EXPECT_THAT(fields.notes, ElementsAre("column 'label': 4 fields such as 'nan' are read as unknown"));
  EXPECT_THAT(fields.values, ElementsAre("", "a", "", "", "none", "Nan", ""));
  clear_missing_words(fields);
  EXPECT_THAT(fields.notes, testing::SizeIs(1));
  ColumnFields one = column({"a", "#N/A"});
  clear_missing_words(one);
  EXPECT_THAT(one.notes, ElementsAre("column 'label': 1 field, '#N/A', is read as unknown"));
}

TEST(TableColumn, DecimalsAreSaidWhereTheyMakeGroups) {
  ColumnFields fields = column({"1", "3.5", "2.25", ""});
  note_decimals(fields, categorical_values(fields));
  EXPECT_THAT(fields.notes, ElementsAre("column 'label': 2 fields such as '3.5' are read as names, not as numbers"));
}

}  // namespace table_column_test
}  // namespace debias
