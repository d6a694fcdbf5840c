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
  ColumnFields fields{kPath, "label", values, {}};
  for (size_t i = 0; i < values.size(); ++i) fields.lines.push_back(static_cast<int64_t>(i) + 2);
  return fields;
}

TEST(TableColumn, HoldsIntegersOnlyAsTheyArePrinted) {
  EXPECT_EQ(field_kind(column({"0", "", "-1", "+1", "12"})), FieldKind::kIntegers);
  for (const char* other : {"01", "+01", "+0", "-0", "00", "007"}) {
    EXPECT_EQ(field_kind(column({"1", other})), FieldKind::kPaddedNames) << other;
  }
  for (const char* name : {"1.0", "1e3", "x", "0x1", "1234567890123456789", "inf"}) {
    EXPECT_EQ(field_kind(column({"1", name})), FieldKind::kNames) << name;
  }
  EXPECT_EQ(field_kind(column({"", ""})), FieldKind::kNames);
}

TEST(TableColumn, PaddedIntegersAreNamesAndMinusOneIsUnknownAmongThem) {
  const CategoricalValues mixed = categorical_values(column({"2", "01", "1", "-1", "01", ""}));
  EXPECT_THAT(mixed.names, ElementsAre("01", "1", "2"));
  EXPECT_THAT(mixed.values, ElementsAre(2, 0, 1, -1, 0, -1));
  EXPECT_THAT(categorical_values(column({"100", "007", "010"})).names, ElementsAre("007", "010", "100"));
  EXPECT_THAT(categorical_values(column({"x", "-1"})).names, ElementsAre("-1", "x"));
}

TEST(TableColumn, SignsAloneAreRejectedInAnyForm) {
  EXPECT_THAT(data_error_of([] { categorical_values(column({"1", "-1"})); }), HasSubstr("c.csv: line 3: column 'label' has only -1 and 1"));
  EXPECT_THAT(data_error_of([] { categorical_values(column({"-1", "+1"})); }), HasSubstr("line 2"));
  EXPECT_THAT(categorical_values(column({"1", "-1"}), SignsAlone::kName).names, ElementsAre("-1", "1"));
}

TEST(TableColumn, WordsForMissingValuesAreClearedAndCounted) {
  ColumnFields fields = column({"nan", "a", "NA", "None", "none", "Nan", "<NA>"});
  EXPECT_EQ(clear_missing_words(fields), "column 'label': 4 fields such as 'nan' are read as unknown");
  EXPECT_THAT(fields.values, ElementsAre("", "a", "", "", "none", "Nan", ""));
  EXPECT_THAT(clear_missing_words(fields), IsEmpty());
  ColumnFields one = column({"a", "#N/A"});
  EXPECT_EQ(clear_missing_words(one), "column 'label': 1 field, '#N/A', is read as unknown");
}

}  // namespace table_column_test
}  // namespace debias
