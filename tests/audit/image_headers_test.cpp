// What an audit takes from the files of images beside a CSV: header fields of DICOM files, and how their pixels are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "debias/audit/audit_folder.h"
#include "debias/audit/file_facts.h"
#include "debias/core/input_file.h"
#include "debias/data/settled_pixels.h"
#include "debias/image/dicom.h"
#include "debias/image/image_encode.h"
#include "tests/data/fixture_files.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"

namespace debias {
namespace image_headers_test {

using namespace fixture;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ImageHeaders : public testing::Test {
 protected:
  // The golden file of ROOM 3, of another room and patient.
  void add_scan(const std::string& path, char room, char patient) {
    Bytes bytes = read_file_bytes(golden_folder("dicom") + "/header.dcm");
    for (const auto& [text, last] : {std::pair(std::string("ROOM 3"), room), std::pair(std::string("p\xe4"), patient)}) {
      const auto found =
          std::search(bytes.begin(), bytes.end(), text.begin(), text.end(), [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); });
      *(found + static_cast<ptrdiff_t>(text.size()) - 1) = static_cast<uint8_t>(last);
    }
    write(folder_ / path, bytes);
  }
  static std::vector<std::string> names(const AuditFolder& folder) {
    std::vector<std::string> all;
    for (const AuditColumn& column : folder.columns) all.push_back(column.name);
    return all;
  }
  AuditFolderOptions options(const std::string& csv = "") {
    AuditFolderOptions given;
    given.folder = folder_ / "in";
    given.labels = csv;
    return given;
  }
  TemporaryFolder folder_;
};

TEST_F(ImageHeaders, OfDicomFilesAreColumnsWhereTheyDiffer) {
  if (!reads_dicom()) GTEST_SKIP() << "built without DCMTK";
  for (int i = 0; i < 4; ++i) {
    add_scan("in/train/a/" + std::to_string(i) + ".dcm", '3', i < 2 ? 'a' : 'b');
    add_scan("in/train/b/" + std::to_string(i), '4', i < 2 ? 'c' : 'd');
  }
  add_scan("in/test/a/0.dcm", '5', 'e');
  AuditFolderOptions asked = options();
  asked.group = {"PatientID"};
  const AuditFolder folder = read_audit_folder(asked);
  EXPECT_THAT(names(folder), ElementsAre("StationName", "PatientID"));
  EXPECT_THAT(folder.columns[0].values, ElementsAre("ROOM 3", "ROOM 3", "ROOM 3", "ROOM 3", "ROOM 4", "ROOM 4", "ROOM 4", "ROOM 4"));
  EXPECT_THAT(folder.columns[1].values, ElementsAre("pa", "pa", "pb", "pb", "pc", "pc", "pd", "pd"));
  ASSERT_EQ(folder.other_splits.size(), 1u);
  EXPECT_THAT(folder.other_splits[0].column_values, ElementsAre("ROOM 5", "pe"));
  asked.group = {"Ward"};
  EXPECT_THAT(usage_error_of([&] { read_audit_folder(asked); }), HasSubstr("--group names columns of a CSV"));
}

TEST_F(ImageHeaders, AreBehindTheColumnsOfACsv) {
  if (!reads_dicom()) GTEST_SKIP() << "built without DCMTK";
  add_scan("in/a/0.dcm", '3', 'a');
  add_scan("in/a/1.dcm", '4', 'b');
  add_scan("in/b/2.dcm", '4', 'a');
  add_scan("in/b/3.dcm", '3', 'b');
  write(folder_ / "l.csv", "path,StationName,nurse\na/0.dcm,x,n\na/1.dcm,x,m\nb/2.dcm,y,m\nb/3.dcm,y,n\n");
  AuditFolderOptions asked = options(folder_ / "l.csv");
  asked.group = {"PatientID"};
  const AuditFolder folder = read_audit_folder(asked);
  EXPECT_THAT(names(folder), ElementsAre("StationName", "nurse", "PatientID"));
  EXPECT_THAT(folder.columns[0].values, ElementsAre("x", "x", "y", "y"));
}

TEST_F(ImageHeaders, OfOtherImagesAreNone) {
  write(folder_ / "in/a/0.png", encode_png(solid(4, 4, 1, 2, 3)));
  write(folder_ / "in/b/1.png", encode_png(solid(4, 4, 9, 2, 3)));
  EXPECT_THAT(names(read_audit_folder(options())), IsEmpty());
}

TEST_F(ImageHeaders, PixelsAreReadAsAsked) {
  write(folder_ / "in/a/0.png", encode_png(solid(4, 4, 1, 2, 3)));
  write(folder_ / "in/b/1.png", encode_png(solid(4, 4, 9, 2, 3)));
  AuditFolderOptions asked = options();
  asked.pixels = pixel_options({"transparency=white", "window=[100, 2000]"}, "audit");
  const ImageReading reading = read_audit_folder(asked).files[0].reading;
  EXPECT_EQ(reading.transparency, Transparency::kWhite);
  EXPECT_EQ(reading.scale.window, std::pair(100.0, 2000.0));
  EXPECT_EQ(reading.exif, ExifOrientation::kApplied);
  EXPECT_THAT(usage_error_of([] { pixel_options({"root=x"}, "audit"); }), HasSubstr("'root=x': expected transparency=, bits= or window="));
  EXPECT_THAT(usage_error_of([] { pixel_options({"bits=11"}, "audit"); }), HasSubstr("11"));
}

}  // namespace image_headers_test

// Facts of a file that an audit compares, from its name and its bytes.
namespace file_facts_test {

std::string fact(const std::string& path, FileFact which) { return file_facts({path, {}, 4, 4}).fact(which); }

TEST(FileFacts, AMonthIsThatOfADateInTheName) {
  EXPECT_EQ(fact("IMG_20230514_101500.jpg", FileFact::kNameMonth), "2023-05");
  EXPECT_EQ(fact("IMG20230514101500.jpg", FileFact::kNameMonth), "2023-05");
  EXPECT_EQ(fact("scan-2019-12-31.png", FileFact::kNameMonth), "2019-12");
  EXPECT_EQ(fact("2019_12_31_004.png", FileFact::kNameMonth), "2019-12");
  EXPECT_EQ(fact("20231399.jpg", FileFact::kNameMonth), "");      // no thirteenth month
  EXPECT_EQ(fact("12023051.jpg", FileFact::kNameMonth), "");      // eight digits, no year
  EXPECT_EQ(fact("id202305140.jpg", FileFact::kNameMonth), "");   // nine digits are a number
  EXPECT_EQ(fact("2019-12_31.png", FileFact::kNameMonth), "");    // two separators
  EXPECT_EQ(fact("20230514/cat.jpg", FileFact::kNameMonth), "");  // of a folder: sub-folder says it
}

TEST(FileFacts, ANameHasAPrefixASuffixAndAPattern) {
  EXPECT_EQ(fact("a/DSC_0042-edit.jpg", FileFact::kNamePrefix), "DSC_");
  EXPECT_EQ(fact("a/DSC_0042-edit.jpg", FileFact::kNameSuffix), "-edit");
  EXPECT_EQ(fact("a/DSC_0042-7.jpg", FileFact::kNamePattern), "DSC_#-#");
  EXPECT_EQ(fact("a/cat.jpg", FileFact::kNameSuffix), "");
  EXPECT_EQ(fact("a/cat.jpg", FileFact::kFolder), "a");
}

}  // namespace file_facts_test
}  // namespace debias
