// What every reader of a CSV reads, by the cases that Python's tests read too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "debias/core/normal_form.h"
#include "debias/core/printable.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/readers/row_names.h"
#include "debias/data/sample_table.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace table_cases_test {

using nlohmann::json;

const json& cases() {
  static const json found = [] {
    std::ifstream file(golden_folder("tables") + "/cases.json");
    return json::parse(file);
  }();
  return found;
}

// UTF-8 in another encoding.
std::string encoded(std::string text, const std::string& encoding) {
  if (encoding == "utf-8") return text;
  std::string bytes;
  const auto add = [&](uint32_t unit) {
    if (encoding == "latin-1") {
      bytes += static_cast<char>(unit);
    } else {
      const char low = static_cast<char>(unit & 0xff), high = static_cast<char>(unit >> 8);
      bytes += encoding == "utf-16-le" ? std::string{low, high} : std::string{high, low};
    }
  };
  for (std::string_view rest = text; !rest.empty();) {
    const auto [code, size] = first_utf8_character(rest);
    rest.remove_prefix(size);
    if (code < 0x10000) {
      add(code);
    } else {
      add(0xd800 + ((code - 0x10000) >> 10));
      add(0xdc00 + ((code - 0x10000) & 0x3ff));
    }
  }
  return bytes;
}

std::string kind_name(const CategoricalValues& values) {
  switch (values.kind) {
    case ValueKind::kNothing:
      return "nothing";
    case ValueKind::kIntegers:
      return !values.names.empty() && values.names == std::vector<std::string>{"-1", "1"} ? "names" : "integers";
    case ValueKind::kNumbers:
      return "numbers";
    default:
      return "names";
  }
}

json values_of(const CategoricalValues& values) {
  json found = json::array();
  for (const int64_t value : values.values) {
    if (value == kUnknown) {
      found.push_back(nullptr);
    } else {
      found.push_back(values.names[static_cast<size_t>(value)]);
    }
  }
  return found;
}

void expect_numbers(const ColumnFields& fields, const json& wanted) {
  const std::vector<double> numbers = numeric_values(fields);
  ASSERT_EQ(numbers.size(), wanted.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (wanted[i].is_null()) {
      EXPECT_NE(numbers[i], numbers[i]);
    } else {
      EXPECT_EQ(numbers[i], std::stod(wanted[i].get<std::string>()));
    }
  }
}

TEST(TableCases, ColumnsAreReadAsThePythonPackageReadsThem) {
  const TemporaryFolder folder;
  for (const json& one : cases()["columns"]) {
    SCOPED_TRACE(one["what"].get<std::string>());
    std::string bytes = encoded(one["csv"], one.value("encoding", "utf-8"));
    bytes.resize(bytes.size() - one.value("cut", size_t{0}));
    std::ofstream(folder / "c.csv", std::ios::binary) << bytes;
    if (one.contains("error")) {
      EXPECT_THAT(data_error_of([&] { CsvTable table(folder / "c.csv"); }), testing::HasSubstr(one["error"].get<std::string>()));
      continue;
    }
    const CsvTable table(folder / "c.csv");
    std::vector<std::string> notes = table.notes();
    ASSERT_EQ(table.titles().size(), one["columns"].size());
    for (size_t c = 0; c < table.titles().size(); ++c) {
      const json& wanted = one["columns"].at(table.titles()[c]);
      ColumnFields fields = table.fields(c);
      clear_missing_words(fields);
      const CategoricalValues values = categorical_values(fields, SignsAlone::kName);
      EXPECT_EQ(kind_name(values), wanted["kind"]);
      if (values.kind == ValueKind::kNumbers) {
        expect_numbers(fields, wanted["values"]);
      } else {
        EXPECT_EQ(values_of(values), wanted["values"]);
      }
      notes.insert(notes.end(), fields.notes.begin(), fields.notes.end());
    }
    EXPECT_EQ(json(notes), one["notes"]);
  }
}

TEST(TableCases, CodesAndWordsForUnknownAreSaid) {
  for (const json& one : cases()["codes"]) {
    ColumnFields fields{"c.csv", "x", one["values"].get<std::vector<std::string>>(), {}, {}};
    fields.lines.assign(fields.values.size(), 2);
    const std::string what = one["of"];
    EXPECT_EQ(note_on_codes("x", categorical_values(fields, SignsAlone::kName), what.c_str()), one["note"].get<std::string>());
  }
}

TEST(TableCases, NamesAreJoinedAsThePythonPackageJoinsThem) {
  for (const json& one : cases()["joins"]) {
    SCOPED_TRACE(one["what"].get<std::string>());
    const SampleNames samples(one["samples"].get<std::vector<std::string>>());
    std::vector<RowName> rows;
    for (const json& name : one["rows"]) rows.push_back({name, 2 + std::ssize(rows), ""});
    const auto join = [&] { return join_rows("c.csv", rows, samples, [&](const RowName& row) { return samples.find(row.name); }); };
    if (one.contains("error")) {
      EXPECT_THAT(data_error_of([&] { join(); }), testing::HasSubstr(one["error"].get<std::string>()));
      continue;
    }
    const JoinedRows joined = join();
    json of_sample = json::array();
    for (const int64_t row : joined.of_sample) of_sample.push_back(row == kUnknown ? json() : json(row));
    EXPECT_EQ(of_sample, one["of_sample"]);
    EXPECT_EQ(json(joined.notes), one["notes"]);
  }
}

TEST(NormalForm, HasLowerCaseAndOuterBlanksOfAnyKind) {
  EXPECT_EQ(without_case("\xc3\x89T\xc3\x89 \xd0\x96"), "\xc3\xa9t\xc3\xa9 \xd0\xb6");
  EXPECT_EQ(without_blanks("\xc2\xa0 a\t\xe2\x80\x8b"), "a");
  EXPECT_EQ(without_blanks("\xe2\x80\x8b"), "");
  EXPECT_EQ(normal_form("\xe4\x65\xcc\x81"), "\xe4\xc3\xa9");  // a byte that is not UTF-8 stays
  EXPECT_EQ(normal_form("q\xcc\xa3\xcc\x87"), normal_form("q\xcc\x87\xcc\xa3"));
}

}  // namespace table_cases_test
}  // namespace debias
