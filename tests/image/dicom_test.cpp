// Small DICOM files against what pydicom reads from them (tests/golden/make_dicom.py).
#include "debias/image/dicom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "debias/core/input_file.h"
#include "debias/core/npy.h"
#include "debias/image/image_decode.h"
#include "tests/support/golden_folder.h"
#include "tests/support/refusals.h"

namespace debias {
namespace dicom_test {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

using Json = nlohmann::json;

std::string golden(const std::string& file) { return golden_folder("dicom") + "/" + file; }

Json cases(const std::string& list) { return Json::parse(read_file_bytes(golden("cases.json"))).at(list); }

class Dicom : public testing::Test {
 protected:
  void SetUp() override {
    if (!reads_dicom()) GTEST_SKIP() << "built without DCMTK";
  }
};

// DCMTK's conversion of YBR and inverse DCT round otherwise than Pillow's.
int tolerance_of(const std::string& file) { return file == "ybr.dcm" || file == "jpeg.dcm" ? 2 : 0; }

TEST_F(Dicom, PixelsAreThoseOfPydicom) {
  const NpyArray pixels = read_npy(golden("pixels.npy"));
  const Json all = cases("cases");
  EXPECT_GE(all.size(), 17u);
  for (const Json& about : all) {
    const std::string file = about.at("file");
    SCOPED_TRACE(file);
    const Image image = read_image(golden(file));
    ASSERT_EQ(image.height, about.at("height"));
    ASSERT_EQ(image.width, about.at("width"));
    const auto expected = pixels.as<uint8_t>().subspan(about.at("offset"), image.pixels.size());
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(image.pixels[i], expected[i], tolerance_of(file)) << i;
  }
}

TEST_F(Dicom, WhatIsNoImageIsRefusedWithItsReason) {
  for (const Json& about : cases("refused")) {
    const std::string file = about.at("file");
    EXPECT_THAT(data_error_of([&] { read_image(golden(file)); }), AllOf(HasSubstr(file), HasSubstr(about.at("reason")))) << file;
  }
}

TEST_F(Dicom, EveryCutFileIsAnError) {
  for (const std::string file : {"window.dcm", "rle.dcm", "jpeg.dcm", "rgb.dcm"}) {
    const std::vector<uint8_t> whole = read_file_bytes(golden(file));
    for (size_t length = 133; length + 8 < whole.size(); length += 7) {
      EXPECT_THAT(data_error_of([&] { decode_image(std::span(whole).first(length), "a.dcm"); }), HasSubstr("a.dcm"))
          << file << " " << length;
    }
  }
}

// 2000 to 3000 of 4095: the ramp of the file, step by step.
TEST_F(Dicom, TheWindowThatIsAskedForComesFirst) {
  ImageReading reading;
  reading.scale.window = {2000, 3000};
  const Image image = read_image(golden("window.dcm"), reading);
  for (size_t i = 0; i < 35; ++i) {
    const int value = static_cast<int>(4095.0 * static_cast<double>(i) / 34);
    EXPECT_NEAR(image.pixels[3 * i], std::clamp((value - 2000) * 255 / 1000.0, 0.0, 255.0), 0.51) << i;
  }
}

TEST_F(Dicom, ALookSaysWhetherThereAreFramesAndWhetherTheBitsAreOpen) {
  EXPECT_TRUE(look_at_image(golden("frames.dcm")).more);
  EXPECT_FALSE(look_at_image(golden("window.dcm")).more);
  EXPECT_FALSE(look_at_image(golden("signed.dcm")).deep) << "it has a window";
  EXPECT_FALSE(look_at_image(golden("inverted.dcm")).deep) << "it says 14 bits";
  EXPECT_TRUE(look_at_image(golden("sixteen_bits.dcm")).deep);
  EXPECT_EQ(largest_deep_sample(golden("sixteen_bits.dcm")), 4095);
  ImageReading reading;
  reading.scale.bits = 12;
  EXPECT_EQ(read_image(golden("sixteen_bits.dcm"), reading).pixels, read_image(golden("range.dcm")).pixels);
}

TEST_F(Dicom, FieldsOfTheHeaderAreRead) {
  const DicomFields fields = dicom_fields(golden("header.dcm"));
  EXPECT_THAT(fields, AllOf(Contains(Pair("Manufacturer", "ACME")), Contains(Pair("StationName", "ROOM 3")),
                            Contains(Pair("ViewPosition", "PA")), Contains(Pair("PatientSex", "F")), Contains(Pair("PatientAge", "061Y")),
                            Contains(Pair("PatientID", "p\xc3\xa4")), Contains(Pair("Rows", "5")), Contains(Pair("KVP", ""))));
  const DicomFields none = dicom_fields(golden("cases.json"));
  EXPECT_EQ(none.size(), fields.size());
  EXPECT_THAT(none, Contains(Pair("Manufacturer", "")));
}

TEST(DicomNames, NeedNoEnding) {
  for (const char* name : {"IM0001", "1.2.840.113619.2.55", "17"}) EXPECT_TRUE(lacks_ending(name)) << name;
  for (const char* name : {"a.dcm", "1.2.png", "notes.txt"}) EXPECT_FALSE(lacks_ending(name)) << name;
  EXPECT_TRUE(has_dicom_extension("A.DCM"));
  EXPECT_EQ(has_image_extension("a.dcm"), reads_dicom());
  EXPECT_EQ(has_unread_image_extension("a.dcm"), !reads_dicom());
}

TEST(DicomWithout, SaysHowToConvert) {
  if (reads_dicom()) GTEST_SKIP() << "built with DCMTK";
  EXPECT_THAT(data_error_of([&] { read_image(golden("window.dcm")); }),
              AllOf(HasSubstr("window.dcm"), HasSubstr("DICOM is not read by this build: install libdcmtk-dev")));
}

}  // namespace dicom_test
}  // namespace debias
