// Columns of files: which there are, and what running numbers, lengths and texts give.
#include "debias/audit/file_columns.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "debias/audit/common_words.h"
#include "debias/audit/name_columns.h"
#include "debias/core/philox.h"

namespace debias {
namespace file_columns_test {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

std::vector<std::string> titles(const std::vector<FileColumn>& columns) {
  std::vector<std::string> names;
  for (const FileColumn& column : columns) names.push_back(column.name);
  return names;
}

std::vector<std::string> values(const std::vector<FileColumn>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &FileColumn::name);
  return found == columns.end() ? std::vector<std::string>{} : found->values;
}

// Names of two classes, `sizes[k]` of the k-th, made by name(k, i).
struct Named {
  std::vector<std::string> names;
  std::vector<int32_t> labels;
};
template <class Name>
Named named(std::array<int, 2> sizes, Name name) {
  Named files;
  for (int32_t k = 0; k < 2; ++k) {
    for (int i = 0; i < sizes[static_cast<size_t>(k)]; ++i) {
      files.names.push_back(name(k, i));
      files.labels.push_back(k);
    }
  }
  return files;
}

TEST(FileColumns, NumbersThatEachClassCountsForItselfAreNoColumn) {
  const Named files = named({900, 100}, [](int, int i) { return fmt::format("{}.jpg", i + 1); });
  const auto columns = name_columns(files.names, files.labels);
  EXPECT_THAT(titles(columns), Not(Contains("name number 1")));
  EXPECT_THAT(titles(columns), Not(Contains("name number 1 digits")));
  EXPECT_THAT(values(columns, "name length"), testing::Each("0"));  // digits without leading zeros do not count
}

TEST(FileColumns, CopiesOfAnImageMayHaveItsNumber) {
  const Named copies = named({900, 100}, [](int, int i) { return fmt::format("{}-{:c}.jpg", i / 3, 'a' + i % 3); });
  EXPECT_THAT(titles(name_columns(copies.names, copies.labels)), Not(Contains("name number 1")));
  const Named cameras =
      named({300, 300}, [](int k, int i) { return fmt::format("{}-{:c}.jpg", i % 20 == 0 ? 2 - k : 1 + k, 'a' + i % 26); });
  EXPECT_THAT(titles(name_columns(cameras.names, cameras.labels)), Contains("name number 1"));
}

TEST(FileColumns, NumbersThatRunOnFromClassToClassGiveTheClass) {
  const Named files = named({300, 200}, [](int k, int i) { return fmt::format("IMG_{:04}.jpg", 300 * k + i); });
  const auto blocks = values(name_columns(files.names, files.labels), "name number 1");
  ASSERT_EQ(blocks.size(), 500u);
  EXPECT_EQ(blocks[0], blocks[299]);
  EXPECT_NE(blocks[299], blocks[300]);
  EXPECT_EQ(blocks[300], blocks[499]);
}

TEST(FileColumns, NumbersOfAnotherRangeWithExceptionsStayNumbers) {
  const Named files =
      named({300, 300}, [](int k, int i) { return fmt::format("IMG_{:04}.jpg", 1000 * (i % 20 == 0 ? 1 - k : k) + 2 * i + k); });
  EXPECT_EQ(values(name_columns(files.names, files.labels), "name number 1")[21], "42");
}

TEST(FileColumns, NamesHaveNumbersByPlaceTheirDigitsLengthAndCase) {
  std::vector<std::string> names;
  std::vector<int32_t> labels;
  for (int32_t i = 0; i < 24; ++i) {  // numbers that occur several times are not counted by class
    for (const char* name : {"A_007-12.jpg", "A_7-5.JPG", "b_010-77.jpg", "B-.jpg"}) names.emplace_back(name);
    labels.insert(labels.end(), {0, 1, 0, 1});
  }
  auto columns = name_columns(names, labels);
  for (FileColumn& column : columns) column.values.resize(4);
  EXPECT_THAT(values(columns, "name number 1"), ElementsAre("7", "7", "10", ""));
  EXPECT_THAT(values(columns, "name number 1 digits"), ElementsAre("3", "1", "3", ""));
  EXPECT_THAT(values(columns, "name number 1 last digit"), ElementsAre("7", "7", "0", ""));
  EXPECT_TRUE(values(columns, "name number 2 digits").empty());  // no leading zeros
  EXPECT_THAT(values(columns, "name length"), ElementsAre("6", "4", "6", "2"));
  EXPECT_THAT(values(columns, "name case"), ElementsAre("upper", "upper", "lower", "upper"));
}

// A text of letters that no other number gives.
std::string rare(int i) { return fmt::format("x{:c}x{:c}x", 'a' + i % 26, 'a' + i / 26); }

TEST(FileColumns, CommonWordsAreThoseOfATemplate) {
  std::vector<std::string> links, names, codes, captions;
  for (int i = 0; i < 40; ++i) {
    const std::string site = i % 2 == 0 ? "flickr" : "bing", id = fmt::format("{:x}k", 7919 * i + 4096);
    links.push_back(fmt::format("https://{}.com/p/{}", site, id));
    names.push_back(fmt::format("{}_{}_{}", id, site, rare(i)));
    codes.push_back(fmt::format("{}{}", site, 7919 * i));
    captions.push_back(rare(i) + (i % 3 == 0 ? " " + rare(i) : "") + (i % 5 < 2 ? " " + rare(i) : "") + " dog " + rare(i));
  }
  EXPECT_EQ(common_words(links)[0], "https/https/flickr/com/p/");
  EXPECT_EQ(common_words(links)[1], "https/https/bing/com/p/");
  EXPECT_EQ(common_words(names)[1], "bing/");
  EXPECT_EQ(common_words(codes)[1], "bing/");
  EXPECT_EQ(common_words(captions)[1], "");
}

FileFacts file(std::initializer_list<FileTrace> traces) {
  FileFacts facts;
  facts.traces = traces;
  facts.name = "a.png";
  return facts;
}

TEST(FileColumns, TracesAreColumnsUnlessTheyAreRareConstantOrTwice) {
  std::vector<FileFacts> files;
  std::vector<int32_t> labels;
  for (int i = 0; i < 40; ++i) {
    const std::string half = i % 2 == 0 ? "1" : "2";
    files.push_back(file({{"order", half, TraceKind::kOrder},
                          {"site", half + "/" + std::to_string(100 + i)},
                          {"same", "x"},
                          {"size", std::to_string(i), TraceKind::kSize}}));
    if (i < 4) files.back().traces.push_back({"rare", "y"});
    labels.push_back(i % 3 == 0 ? 1 : 0);
  }
  files.push_back(file({{"unaudited", "z"}}));
  const auto columns = file_columns(files, labels);
  EXPECT_THAT(titles(columns), ElementsAre("site", "size"));  // the order of the parts divides files as the site does
  EXPECT_EQ(columns[1].kind, FileColumnKind::kSize);
  EXPECT_EQ(columns[0].values.size(), 41u);
  EXPECT_EQ(columns[0].values[40], "");
}

TEST(FileColumns, TextsThatDifferInEveryFileAreReducedAndOthersAreNot) {
  std::vector<std::string> unique, repeated, numbers;
  for (int i = 0; i < 60; ++i) {
    unique.push_back(fmt::format("{} {}", i % 2 == 0 ? "left" : "right", i * 7919));
    repeated.push_back(fmt::format("model {}", i % 3));
    numbers.push_back(std::to_string(i * 31));
  }
  const auto halves = file_column_categories(unique);
  EXPECT_EQ(halves.values[0], halves.values[2]);
  EXPECT_NE(halves.values[0], halves.values[1]);
  EXPECT_NE(file_column_categories(repeated).values[0], file_column_categories(repeated).values[1]);
  EXPECT_EQ(file_column_categories(numbers).values[0], file_column_categories(numbers).values[1]);  // a range
}

}  // namespace file_columns_test
}  // namespace debias
