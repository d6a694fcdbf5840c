// Whole audits of synthetic images: every kind of plant is found as what it is, and clean folders raise no alarm.
#include "debias/audit/folder_audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <ranges>
#include <span>

#include "debias/audit/audit_page.h"
#include "debias/audit/audit_summary.h"
#include "debias/audit/bias_file.h"
#include "debias/core/error.h"
#include "debias/core/input_file.h"
#include "debias/core/philox.h"
#include "debias/data/builders/planted_folder.h"
#include "debias/data/jpeg_encode.h"
#include "debias/data/readers/csv_table.h"
#include "debias/data/readers/image_folder.h"
#include "debias/image/blur.h"
#include "debias/image/image_encode.h"
#include "tests/audit/drawn_image.h"
#include "tests/support/file_text.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace folder_audit_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Smooth random colours; those of `ape` are a little brighter, which is no shortcut. `lights` above 0: each image has a light of its own, as
// photographs have, without which a mark's colour shows in the mean of the whole image.
Image scene(bool ape, int64_t lights, Random& random) {
  Image image{32, 32, 3, std::vector<uint8_t>(32 * 32 * 3)};
  std::array<int64_t, 3> light;
  light.fill(lights > 0 ? 0 : random.below(60));
  for (int64_t& channel : light) channel += (ape ? 20 : 0) + (lights > 0 ? random.below(lights) : 0);
  const int64_t texture = lights > 0 ? 140 : 170;
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(random.below(texture) + light[i % 3]);
  gaussian_blur(image, 13, 2.5);
  return image;
}

class FolderAuditTest : public testing::Test {
 protected:
  static constexpr int kImages = 120;  // of each class

  void write(const std::string& name, int apes = kImages, int bees = kImages, int64_t lights = 0) const {
    Random random({.seed = 11});
    for (int k = 0; k < 2; ++k) {
      const std::string folder = path(name) + (k == 0 ? "/ape" : "/bee");
      fs::create_directories(folder);
      for (int i = 0; i < (k == 0 ? apes : bees); ++i) {
        const auto bytes = encode_jpeg(scene(k == 0, lights, random), 90);
        std::ofstream(folder + "/" + std::to_string(1000 + i) + ".jpg", std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
      }
    }
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  FolderAudit planted(PlantKind kind, double correlation = 0.95) const {
    const std::string out = path(std::string(enum_name(kind)));
    plant_shortcut(kind, PlantOptions{.correlation = correlation}, path("clean"), out);
    return audit_folder(options_of(out, kind == PlantKind::kColumn ? out + "/columns.csv" : ""), 0);
  }
  static int64_t shortcuts(const FolderAudit& audit) { return std::ssize(audit.result.of(AuditVerdict::kShortcut)); }
  static AuditFolderOptions options_of(const std::string& folder, const std::string& labels = "") {
    AuditFolderOptions options;
    options.folder = folder;
    options.labels = labels;
    return options;
  }

  TemporaryFolder folder_;
};

TEST_F(FolderAuditTest, EveryKindOfPlantIsAShortcutAndMostAreTheFirst) {
  write("clean", kImages, kImages, 90);
  const std::map<PlantKind, PropertyKind> expected = {
      {PlantKind::kSquare, PropertyKind::kMark},      {PlantKind::kText, PropertyKind::kMark},
      {PlantKind::kBorder, PropertyKind::kEdge},      {PlantKind::kBlur, PropertyKind::kDescription},
      {PlantKind::kJpeg, PropertyKind::kDescription},  // noise raises the contrast of these smooth images: worth a look

      {PlantKind::kSize, PropertyKind::kFile},        {PlantKind::kName, PropertyKind::kFile},
      {PlantKind::kExif, PropertyKind::kFile},        {PlantKind::kColumn, PropertyKind::kColumn}};
  for (const auto& [kind, found] : expected) {
    const FolderAudit audit = planted(kind);
    const AuditFinding& first = audit.result.findings.front();
    EXPECT_EQ(first.verdict, AuditVerdict::kShortcut) << enum_name(kind);
    EXPECT_EQ(first.property.kind, found) << enum_name(kind) << ": " << first.property.name;
    EXPECT_DOUBLE_EQ(first.tested.p_adjusted, 1.0 / 500) << enum_name(kind);
    EXPECT_EQ(first.assignable(), found != PropertyKind::kDescription) << enum_name(kind);
  }
}

TEST_F(FolderAuditTest, ASceneAroundTheObjectIsAShortcut) {
  write("clean", kImages, kImages, 90);
  EXPECT_GE(shortcuts(planted(PlantKind::kScene)), 1);
}

void rectangle(Image& image, int64_t top, int64_t left, int height, int width, Rgb colour) {
  for (int64_t y = std::max<int64_t>(top, 0); y < std::min<int64_t>(top + height, image.height); ++y) {
    for (int64_t x = std::max<int64_t>(left, 0); x < std::min<int64_t>(left + width, image.width); ++x) {
      std::ranges::copy(colour, image.pixels.begin() + 3 * (y * image.width + x));
    }
  }
}

// Draws the content of class `k`.
using Draw = std::function<void(Image& image, int k, Random& random)>;

// Grey images with noise.
void write_drawn(const std::string& folder, const Draw& draw) {
  constexpr int kOfClass = 60, kSide = 96;
  Random random({.seed = 12});
  for (int k = 0; k < 2; ++k) {
    const std::string own = folder + (k == 0 ? "/ape" : "/bee");
    fs::create_directories(own);
    for (int i = 0; i < kOfClass; ++i) {
      const auto light = static_cast<int>(150 + random.below(60));
      Image image = drawn_grey(kSide, kSide, [&](int, int) { return light + static_cast<int>(random.below(7)); });
      draw(image, k, random);
      const auto bytes = encode_png(image);
      std::ofstream(own + "/" + std::to_string(1000 + i) + ".png", std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    }
  }
}

// Crosses for apes, squares for bees: of the same area, five of them at any place.
void crosses_or_squares(Image& image, int k, Random& random) {
  for (int i = 0; i < 5; ++i) {
    const int64_t y = random.below(80), x = random.below(80);
    if (k == 0) {
      rectangle(image, y + 5, x, 4, 14, {20, 30, 40});
      rectangle(image, y, x + 5, 14, 4, {20, 30, 40});
    } else {
      rectangle(image, y, x, 10, 10, {20, 30, 40});
    }
  }
}

std::vector<std::string> shortcut_names(const FolderAudit& audit) {
  std::vector<std::string> names;
  for (const AuditFinding* finding : audit.result.of(AuditVerdict::kShortcut)) names.push_back(finding->property.name);
  return names;
}

TEST_F(FolderAuditTest, WhatClassesAreDrawnOfIsNoShortcut) {
  write_drawn(path("drawn"), crosses_or_squares);
  const FolderAudit audit = audit_folder(options_of(path("drawn")), 0);
  EXPECT_THAT(shortcut_names(audit), testing::IsEmpty());
  const auto recurring = std::ranges::count_if(audit.result.findings, [](const AuditFinding& finding) {
    return finding.property.name.starts_with("recurring detail") && finding.tested.effect > 0.8;
  });
  EXPECT_GE(recurring, 1);
}

TEST_F(FolderAuditTest, ATagThatIsPutOnDrawnImagesOnceIsAShortcut) {
  write_drawn(path("tagged"), [](Image& image, int k, Random& random) {
    crosses_or_squares(image, 1, random);
    if (random.below(100) >= (k == 0 ? 92 : 8)) return;
    const int64_t y = random.below(80), x = random.below(70);
    rectangle(image, y, x, 12, 22, {240, 200, 20});
    rectangle(image, y + 3, x + 4, 6, 3, {20, 20, 200});
    rectangle(image, y + 6, x + 9, 3, 9, {200, 20, 20});
  });
  const FolderAudit audit = audit_folder(options_of(path("tagged")), 0);
  ASSERT_GE(shortcuts(audit), 1);
  EXPECT_EQ(audit.result.of(AuditVerdict::kShortcut).front()->property.kind, PropertyKind::kDetail);
}

// Apes leave the left free, bees the right.
TEST_F(FolderAuditTest, WhereNothingIsThereIsNoMark) {
  write_drawn(path("free"), [](Image& image, int k, Random& random) {
    rectangle(image, 0, 0, 96, 96, {230, 228, 224});
    for (int i = 0; i < 25; ++i) {
      const auto size = static_cast<int>(5 + random.below(9));
      const int64_t x = k == 0 ? 20 + random.below(76) : random.below(62);
      const auto level = static_cast<uint8_t>(random.below(120));
      rectangle(image, random.below(90), x, size, size, {level, level, level});
    }
  });
  for (const AuditFinding& finding : audit_folder(options_of(path("free")), 0).result.findings) {
    if (finding.property.kind != PropertyKind::kMark) continue;
    EXPECT_NE(finding.verdict, AuditVerdict::kShortcut) << finding.property.name;
  }
}

// Stripes for apes, checks for bees: their sharpness, noise and use of levels differ, as their lines do.
TEST_F(FolderAuditTest, TexturesThatClassesAreMadeOfAreNoShortcut) {
  write_drawn(path("textures"), [](Image& image, int k, Random& random) {
    const auto period = static_cast<int>(4 + random.below(5)), start = static_cast<int>(random.below(8));
    for (int y = 0; y < 96; ++y) {
      for (int x = 0; x < 96; ++x) {
        const bool dark = k == 0 ? (x + start) / period % 2 == 0 : ((x + start) / period + y / period) % 2 == 0;
        for (size_t c = 0; c < 3 && dark; ++c) image.pixels[3 * static_cast<size_t>(96 * y + x) + c] -= 40;
      }
    }
  });
  for (const AuditFinding& finding : audit_folder(options_of(path("textures")), 0).result.findings) {
    if (finding.property.kind != PropertyKind::kDescription) continue;
    EXPECT_NE(finding.verdict, AuditVerdict::kShortcut) << finding.property.name;
  }
}

// Coarse spots for apes, fine ones for bees: no image of a class is as sharp as any of the other.
TEST_F(FolderAuditTest, ADescriptionThatSeparatesTheClassesWithoutExceptionIsNoShortcut) {
  write_drawn(path("spots"), [](Image& image, int k, Random& random) {
    for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random.below(200));
    gaussian_blur(image, 13, k == 0 ? 2.5 : 0.8);
  });
  for (const AuditFinding& finding : audit_folder(options_of(path("spots")), 0).result.findings) {
    if (finding.property.kind != PropertyKind::kDescription) continue;
    EXPECT_NE(finding.verdict, AuditVerdict::kShortcut) << finding.property.name;
  }
}

// On white, large squares that reach an edge for apes, small ones for bees; a strip along the right edge, if asked for.
void write_squares_on_white(const std::string& folder, bool strip) {
  write_drawn(folder, [strip](Image& image, int k, Random& random) {
    rectangle(image, 0, 0, 96, 96, {255, 255, 255});
    const auto level = static_cast<uint8_t>(random.below(160));
    const int side = k == 0 ? 60 : 30;
    const int64_t x = k == 0 ? 36 + random.below(9) : 20 + random.below(20);
    rectangle(image, 10 + random.below(20), x, side, side, {level, static_cast<uint8_t>(160 - level), 90});
    for (int dot = 0; dot < 6; ++dot) {  // so that images are no near-copies of one another
      const int64_t y = random.below(70), left = random.below(28), shade = random.below(200);
      rectangle(image, 10 + y, k == 0 ? left : 55 + left, 12, 12, {static_cast<uint8_t>(shade), 40, static_cast<uint8_t>(200 - shade)});
    }
    if (strip && random.below(100) < (k == 0 ? 90 : 15)) rectangle(image, 0, 92, 96, 4, {20, 30, 90});
  });
}

TEST_F(FolderAuditTest, ContentThatReachesTheEdgeIsNoColourOfTheEdge) {
  write_squares_on_white(path("white"), false);
  for (const AuditFinding& finding : audit_folder(options_of(path("white")), 0).result.findings) {
    if (finding.property.kind != PropertyKind::kEdge) continue;
    EXPECT_NE(finding.verdict, AuditVerdict::kShortcut) << finding.property.name;
  }
  write_squares_on_white(path("strip"), true);
  EXPECT_THAT(shortcut_names(audit_folder(options_of(path("strip")), 0)), testing::Contains(testing::StartsWith("strip at the right")));
}

TEST_F(FolderAuditTest, ASquareAnywhereIsWorthALook) {
  write("clean", kImages, kImages, 90);
  const FolderAudit audit = planted(PlantKind::kSquareAnywhere);
  const auto patches = std::ranges::count_if(audit.result.findings, [](const AuditFinding& finding) {
    return finding.property.kind == PropertyKind::kDetail && finding.verdict != AuditVerdict::kNone && finding.tested.effect > 0.8;
  });
  EXPECT_GE(patches, 1);
}

std::map<std::string, std::string> planted_values(const std::string& folder) {
  std::map<std::string, std::string> truth;
  for (const CsvRecord& record : read_csv(folder + "/planted.csv")) truth[record.fields[0]] = record.fields[2];
  return truth;
}

// Share of the rows of `split` whose value is the one that most images with their planted value have.
double agreement(const std::vector<CsvRecord>& bias, const std::map<std::string, std::string>& truth, const std::string& split) {
  std::map<std::string, std::map<std::string, int64_t>> found;
  int64_t rows = 0, right = 0;
  for (const CsvRecord& record : bias) {
    if (record.fields[0] == "path" || !record.fields[0].starts_with(split)) continue;
    ++found[truth.at(record.fields[0])][record.fields[2]];
    ++rows;
  }
  for (const auto& [planted, values] : found) right += std::ranges::max(values | std::views::values);
  return static_cast<double>(right) / static_cast<double>(rows);
}

TEST_F(FolderAuditTest, TheSquareIsFoundWhereItIsAndItsValuesAreThoseThatWerePlanted) {
  write("clean");
  const FolderAudit audit = planted(PlantKind::kSquare, 0.9);
  const ImagePlace place = *audit.result.findings.front().property.place;
  EXPECT_LT(place.x, 10.0 / 32);  // the square covers [2, 10) of 32 pixels
  EXPECT_GT(place.x + place.width, 2.0 / 32);
  EXPECT_LT(place.y, 10.0 / 32);
  std::ofstream(path("bias.csv")) << bias_file(audit, audit.result.findings.front().property.name);
  const auto records = read_csv(path("bias.csv"));
  EXPECT_EQ(std::ssize(records), 2 * kImages + 1);
  EXPECT_GT(agreement(records, planted_values(path("square")), ""), 0.95);
}

TEST_F(FolderAuditTest, ImagesOfOtherSplitsGetValuesToo) {
  write("clean/train");
  write("clean/test", 40, 40);
  for (const PlantKind kind : {PlantKind::kSquare, PlantKind::kBorder, PlantKind::kName, PlantKind::kExif, PlantKind::kColumn}) {
    const FolderAudit audit = planted(kind);
    const auto with_values = std::ranges::find_if(audit.result.findings, &AuditFinding::assignable);
    ASSERT_NE(with_values, audit.result.findings.end()) << enum_name(kind);
    std::ofstream(path("bias.csv")) << bias_file(audit, with_values->property.name);
    const auto truth = planted_values(path(std::string(enum_name(kind))));
    const auto records = read_csv(path("bias.csv"));
    EXPECT_EQ(std::ssize(records), 2 * kImages + 80 + 1) << enum_name(kind);
    EXPECT_GE(agreement(records, truth, "train"), 0.95) << enum_name(kind);
    EXPECT_GE(agreement(records, truth, "test"), 0.9) << enum_name(kind);
  }
}

TEST_F(FolderAuditTest, ADamagedImageOfAnotherSplitHasNoValue) {
  write("clean/train");
  write("clean/test", 4, 4);
  const FolderAudit audit = planted(PlantKind::kSquare);
  std::ofstream(path("square") + "/test/ape/1001.png") << "no image";
  const std::string csv = bias_file(audit, audit.result.findings.front().property.name);
  EXPECT_THAT(csv, HasSubstr("\ntest/ape/1001.png,ape,\n"));
  EXPECT_THAT(csv, testing::ContainsRegex("\ntest/ape/1000.png,ape,.colour [0-9]"));
}

TEST_F(FolderAuditTest, ACleanFolderRaisesNoAlarmEvenOrUneven) {
  write("even");
  write("uneven", 240, 30);
  for (const char* name : {"even", "uneven"}) {
    const FolderAudit audit = audit_folder(options_of(path(name)), 0);
    EXPECT_EQ(shortcuts(audit), 0) << name << ": " << audit.result.findings.front().property.name;
  }
}

// Channel values of a row.
std::span<uint8_t> row_of(Image& image, int y) {
  const size_t width = 3 * static_cast<size_t>(image.width);
  return std::span(image.pixels).subspan(static_cast<size_t>(y) * width, width);
}

// Applies `change` to every pixel of a mark that leaves its neighbours alone.
template <class Change>
auto of_pixels(const Change& change) {
  return [change](Image& image) {
    for (int y = 0; y < image.height; ++y) {
      auto row = row_of(image, y);
      for (size_t x = 0; x < static_cast<size_t>(image.width); ++x) change(row.subspan(3 * x, 3), y, static_cast<int>(x));
    }
  };
}

uint8_t clamped(double value) { return static_cast<uint8_t>(std::clamp(value, 0.0, 255.0)); }

void add_line(Image& image) {
  for (uint8_t& value : row_of(image, 11)) value = clamped(value + 12);
}

// The last two bits of every other pixel, as on a chessboard.
void add_screen(std::span<uint8_t> pixel, int y, int x) {
  for (uint8_t& value : pixel) value = static_cast<uint8_t>((value & 0xfc) | ((y + x) % 2 == 0 ? 3 : 0));
}

void posterise(std::span<uint8_t> pixel, int, int) {
  for (uint8_t& value : pixel) value = static_cast<uint8_t>(value / 24 * 24);
}

void make_even(std::span<uint8_t> pixel, int, int) {
  for (uint8_t& value : pixel) value &= 0xfe;
}

void halve_colour(std::span<uint8_t> pixel, int, int) {
  const double mean = (pixel[0] + pixel[1] + pixel[2]) / 3.0;
  for (uint8_t& value : pixel) value = clamped((value + mean) / 2);
}

void darken_to_the_right(std::span<uint8_t> pixel, int, int x) {
  for (uint8_t& value : pixel) value = clamped(value * (1 - x / 80.0));
}

void comb_red(std::span<uint8_t> pixel, int, int x) { pixel[0] = clamped(pixel[0] + 6 * (x % 2)); }

void clip_lights(std::span<uint8_t> pixel, int, int) {
  for (uint8_t& value : pixel) value = std::min<uint8_t>(value, 110);
}

TEST_F(FolderAuditTest, MarksOfTheWholeImageAreFoundByItsDescriptions) {
  const std::vector<std::pair<std::string, std::function<void(Image&)>>> marks = {{"lines", add_line},
                                                                                  {"frequencies", of_pixels(add_screen)},
                                                                                  {"tones", of_pixels(posterise)},
                                                                                  {"stripes", add_line},
                                                                                  {"step pairs", of_pixels(add_screen)},
                                                                                  {"level use", of_pixels(make_even)},
                                                                                  {"colours", of_pixels(halve_colour)},
                                                                                  {"shading", of_pixels(darken_to_the_right)},
                                                                                  {"fringes", of_pixels(comb_red)},
                                                                                  {"tone curve", of_pixels(clip_lights)}};
  for (const auto& [name, mark] : marks) {
    Random random({.seed = 12});
    TemporaryFolder folder;
    for (int k = 0; k < 2; ++k) {
      const std::string own = folder.path() + (k == 0 ? "/ape" : "/bee");
      fs::create_directories(own);
      for (int i = 0; i < kImages; ++i) {
        Image image = scene(k == 0, 90, random);
        if ((i % 20 != 0) == (k == 0)) mark(image);
        const auto bytes = encode_png(image);
        std::ofstream(own + "/" + std::to_string(1000 + i) + ".png", std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
      }
    }
    const FolderAudit audit = audit_folder(options_of(folder.path()), 0);
    const AuditFinding& found = finding_named(audit.result, name, "test");
    EXPECT_LE(found.tested.p_adjusted, 0.01) << name;
    EXPECT_GT(found.tested.effect, 0.15) << name;
    EXPECT_NE(found.verdict, AuditVerdict::kNone) << name;
    EXPECT_FALSE(found.assignable()) << name;
  }
}

TEST_F(FolderAuditTest, TheSameSeedGivesTheSameFindings) {
  write("clean");
  const AuditFolderOptions options = options_of(path("clean"));
  const FolderAudit a = audit_folder(options, 4), b = audit_folder(options, 4);
  ASSERT_EQ(a.result.findings.size(), b.result.findings.size());
  for (size_t i = 0; i < a.result.findings.size(); ++i) {
    EXPECT_EQ(a.result.findings[i].property.name, b.result.findings[i].property.name);
    EXPECT_EQ(a.result.findings[i].tested.effect, b.result.findings[i].tested.effect);
  }
}

TEST_F(FolderAuditTest, WhatACsvLeavesOutIsCountedWithTheFirst) {
  write("clean", 40, 40);
  std::ofstream csv(path("c.csv"));
  csv << "path,label,site\nape/999.jpg,ape,here\n";
  for (const std::string name : {"ape", "bee"}) {
    for (int i = 1; i < 40; ++i) {  // ape/1000.jpg and bee/1000.jpg have no row
      const std::string label = i == 1 ? "" : i == 2 ? "nan" : name;
      csv << name << "/" << 1000 + i << ".jpg," << label << "," << (i % 2 == 0 ? "here" : "there") << "\n";
    }
  }
  csv.close();
  const AuditFolder folder = read_audit_folder(options_of(path("clean"), path("c.csv")));
  EXPECT_EQ(folder.classes, (std::vector<std::string>{"ape", "bee"}));
  EXPECT_EQ(std::ranges::count(folder.labels, kUnknown), 6);
  EXPECT_EQ(folder.label_names[0], "");
  EXPECT_THAT(folder.notes, testing::ElementsAre(
                                testing::EndsWith("c.csv has no image in " + path("clean") +
                                                  " and is ignored here, while debias init rejects it; the first is ape/999.jpg in line 2"),
                                testing::AllOf(testing::StartsWith("2 images have no row in "),
                                               testing::EndsWith("c.csv: without a label they are left out; the first is ape/1000.jpg")),
                                "column 'label': 2 fields such as 'nan' are read as unknown",
                                testing::AllOf(testing::StartsWith("4 images have no label in "),
                                               testing::EndsWith("c.csv and are left out; the first is ape/1001.jpg"))));
}

TEST_F(FolderAuditTest, LabelsOfACsvAreReadAsByInit) {
  write("clean", 3, 1);
  std::ofstream(path("c.csv")) << "path,label\nape/1000.jpg,01\nape/1001.jpg,1\nape/1002.jpg,-1\nbee/1000.jpg,10\n";
  const AuditFolder folder = read_audit_folder(options_of(path("clean"), path("c.csv")));
  EXPECT_EQ(folder.classes, (std::vector<std::string>{"01", "1", "10"}));
  EXPECT_EQ(folder.labels, (std::vector<int64_t>{0, 1, kUnknown, 2}));
  EXPECT_THAT(folder.notes, testing::ElementsAre(testing::EndsWith("and is left out; the first is ape/1002.jpg ('-1')")));
}

TEST_F(FolderAuditTest, TheBiasFileSaysWhatBelongsTogetherInAllSplits) {
  write("clean/train", 40, 40);
  write("clean/test", 2, 2);
  std::ofstream csv(path("c.csv"));
  csv << "path,site,visit,day\n";
  for (const auto& file : fs::recursive_directory_iterator(path("clean"))) {
    if (!file.is_regular_file()) continue;
    const std::string name = fs::relative(file.path(), path("clean")).string(), animal = file.path().parent_path().filename().string();
    const int number = std::stoi(file.path().stem().string());
    csv << name << ',' << ((animal == "ape") != (number % 10 == 0) ? "north" : "south") << ',' << number / 2 << ',' << number % 2 << '\n';
  }
  csv.close();
  AuditFolderOptions options = options_of(path("clean"), path("c.csv"));
  options.group = {"visit"};
  const std::string one = bias_file(audit_folder(options, 0), "column site");
  EXPECT_THAT(one, testing::StartsWith("path,label,bias,group\n"));
  EXPECT_THAT(one, HasSubstr("\ntrain/bee/1003.jpg,bee,south,501\n"));
  EXPECT_THAT(one, HasSubstr("\ntest/ape/1001.jpg,ape,north,500\n"));
  options.group = {"visit", "day"};
  EXPECT_THAT(bias_file(audit_folder(options, 0), "column site"), HasSubstr("\ntrain/bee/1003.jpg,bee,south,\"501, 1\"\n"));
}

// 16 patients of each class, with three noisy images each, of a body and a light of their own; `name` gets class, patient and image.
class PatientAuditTest : public FolderAuditTest {
 protected:
  FolderAudit audited(const std::function<std::string(int, int, int)>& name, int patients = 16) const {
    Random random({.seed = 17});
    for (int k = 0; k < 2; ++k) {
      for (int patient = 0; patient < patients; ++patient) {
        const Image body = scene(false, 90, random);
        for (int i = 0; i < 3; ++i) {
          Image image = body;
          for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(std::clamp<int64_t>(value + random.below(31) - 15, 0, 255));
          const fs::path file = fs::path(path("clean")) / (k == 0 ? "ape" : "bee") / name(k, patient, i);
          fs::create_directories(file.parent_path());
          const auto bytes = encode_png(image);
          std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
        }
      }
    }
    return audit_folder(options_of(path("clean")), 0);
  }
};

TEST_F(PatientAuditTest, SubFoldersOfAClassAreGroupsAndNoFinding) {
  const FolderAudit audit = audited([](int k, int patient, int i) { return fmt::format("pat{}/{}.png", 2 * patient + k, i); });
  EXPECT_EQ(audit.result.groups.from, "sub-folder");
  EXPECT_EQ(audit.result.groups.count, 32);
  EXPECT_EQ(shortcuts(audit), 0);
  EXPECT_THAT(audit.result.identifiers, testing::IsEmpty());
}

TEST_F(PatientAuditTest, BeginningsOfFileNamesAreGroupsAndTheBiasFileHasThem) {
  FolderAudit audit = audited([](int k, int patient, int i) { return fmt::format("s{:03}_{}.png", 2 * patient + k, i); });
  EXPECT_EQ(audit.result.groups.from, "file name to number 1");
  EXPECT_EQ(audit.result.groups.count, 32);
  audit.result.findings.front().value_of = [](const Picture&) { return "x"; };  // whatever it is
  EXPECT_THAT(bias_file(audit, audit.result.findings.front().property.name), HasSubstr("\nape/s004_1.png,ape,x,s004\n"));
}

TEST_F(PatientAuditTest, NumbersThatBeginAnewInEachClassAreGroupsOfTheirClass) {
  FolderAudit audit = audited([](int, int patient, int i) { return fmt::format("{:02}/{}.png", patient, i); });
  EXPECT_EQ(audit.result.groups.from, "sub-folder of each class");
  EXPECT_EQ(audit.result.groups.count, 32);
  audit.result.findings.front().value_of = [](const Picture&) { return "x"; };
  EXPECT_THAT(bias_file(audit, audit.result.findings.front().property.name), HasSubstr("\nbee/04/1.png,bee,x,bee/04\n"));
}

TEST_F(PatientAuditTest, FewSubFoldersOfEachClassAreNoFindingAndANoteAsksForGroups) {
  const FolderAudit audit =
      audited([](int k, int patient, int i) { return fmt::format("kind{}/{}.png", 2 * (patient % 3) + k, 3 * patient + i); });
  EXPECT_EQ(finding_named(audit.result, "sub-folder", "test").verdict, AuditVerdict::kNone);
  EXPECT_THAT(audit.result.notes, testing::Contains(HasSubstr("sub-folder is no finding: its 6 values")));
}

TEST_F(FolderAuditTest, GreyImagesAreAPropertyOfTheirOwn) {
  Random random({.seed = 23});
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < 60; ++i) {
      Image image = scene(false, 90, random);
      const bool grey = (k == 0) != (random.uniform() < 0.1);
      for (size_t p = 0; grey && p < image.pixels.size(); p += 3) image.pixels[p + 1] = image.pixels[p + 2] = image.pixels[p];
      const fs::path file = fs::path(path("grey")) / (k == 0 ? "ape" : "bee") / fmt::format("{}.jpg", i);
      fs::create_directories(file.parent_path());
      const auto bytes = encode_jpeg(image, 90);
      std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    }
  }
  const FolderAudit audit = audit_folder(options_of(path("grey")), 0);
  const AuditFinding& first = audit.result.findings.front();
  EXPECT_EQ(first.property.name, "grey or colour");
  EXPECT_EQ(first.class_value_text(), "grey");
  EXPECT_EQ(first.verdict, AuditVerdict::kShortcut);
  EXPECT_THAT(bias_file(audit, "grey or colour"), HasSubstr("ape/1.jpg,ape,grey\n"));
}

TEST_F(FolderAuditTest, SubFoldersThatClassesShareAreAProperty) {
  write("clean", 60, 60);
  Random random({.seed = 5});
  for (const char* name : {"ape", "bee"}) {
    for (int i = 0; i < 60; ++i) {
      const bool north = (std::string(name) == "ape") != (random.uniform() < 0.1);
      const fs::path folder = fs::path(path("clean")) / name, to = folder / (north ? "north" : "south");
      fs::create_directories(to);
      fs::rename(folder / fmt::format("{}.jpg", 1000 + i), to / fmt::format("{}.jpg", 1000 + i));
    }
  }
  const FolderAudit audit = audit_folder(options_of(path("clean")), 0);
  EXPECT_EQ(audit.result.findings.front().property.name, "sub-folder");
  EXPECT_EQ(audit.result.findings.front().verdict, AuditVerdict::kShortcut);
}

TEST_F(FolderAuditTest, ImagesOfOneColourAreSaidToShowNothing) {
  for (const char* name : {"ape", "bee"}) {
    for (int i = 0; i < 24; ++i) {
      Image image{16 + i % 5, 16, 3, {}};
      image.pixels.assign(static_cast<size_t>(image.height) * 48, 0);
      const fs::path file = fs::path(path("plain")) / name / fmt::format("{}.png", i);
      fs::create_directories(file.parent_path());
      const auto bytes = encode_png(image);
      std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
    }
  }
  const FolderAudit audit = audit_folder(options_of(path("plain")), 0);
  EXPECT_EQ(audit.result.plain_images, 48);
  EXPECT_THAT(not_detectable(audit.result).front(), HasSubstr("marks in 48 of 48 images, which are of one colour as they are read"));
  EXPECT_THAT(audit_text(audit, {}, {}), HasSubstr("they are of one colour as they are read, so that marks were not looked for"));
}

TEST_F(FolderAuditTest, AFileNameThatIsNotUtf8IsEscapedInTheBiasFile) {
  write("clean");
  fs::rename(path("clean") + "/ape/1000.jpg", path("clean") + "/ape/k\xe4se.jpg");
  const FolderAudit audit = planted(PlantKind::kSquare);
  std::ofstream(path("bias.csv")) << bias_file(audit, audit.result.findings.front().property.name);
  EXPECT_THAT(file_text(path("bias.csv")), HasSubstr("\nape/k\\xe4se."));
  const auto read = make_image_folder(ImageFolderOptions{.root = path("square"), .labels = LabelColumns{.file = path("bias.csv")}});
  EXPECT_EQ(read->size(), 2 * kImages);
}

TEST_F(FolderAuditTest, AClassNamedLikeAMissingValueGetsNoBiasFile) {
  write("clean");
  fs::rename(path("clean") + "/ape", path("clean") + "/nan");
  const FolderAudit audit = planted(PlantKind::kSquare);
  EXPECT_EQ(audit.result.classes, (std::vector<std::string>{"bee", "nan"}));
  EXPECT_THAT(usage_error_of([&] { bias_file(audit, audit.result.findings.front().property.name); }),
              HasSubstr("class 'nan' would be read as an unknown label; rename its folder"));
}

TEST_F(FolderAuditTest, ADamagedImageIsNamedAndLeftOut) {
  write("clean");
  for (const char* name : {"1003", "1005", "1007", "1009"}) std::ofstream(path("clean") + "/ape/" + name + ".jpg") << "no image";
  const FolderAudit several = audit_folder(options_of(path("clean")), 0);
  const std::string text = audit_text(several, {}, {});
  EXPECT_THAT(text, HasSubstr("note: 4 images cannot be read and are left out: ape/1003.jpg ("));
  EXPECT_THAT(text, HasSubstr("), ape/1005.jpg ("));
  EXPECT_THAT(text, HasSubstr("), ape/1007.jpg ("));
  EXPECT_THAT(text, HasSubstr(") and 1 more; --json and the page name all\n"));
  write("clean");
  std::ofstream(path("clean") + "/ape/1003.jpg") << "no image";
  const FolderAudit audit = audit_folder(options_of(path("clean")), 0);
  ASSERT_EQ(audit.bad.size(), 1u);
  EXPECT_EQ(audit.bad[0].path, "ape/1003.jpg");
  EXPECT_EQ(audit.result.images, 2 * kImages - 1);
}

TEST_F(FolderAuditTest, RefusesFoldersWithoutTwoClassesOfTwentyImages) {
  write("small", 30, 19);
  try {
    audit_folder(options_of(path("small")), 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_THAT(error.what(), HasSubstr("at least two classes of 20 images or more, found ape 30, bee 19"));
  }
}

TEST_F(FolderAuditTest, AFolderOfWhichNothingCanBeReadIsRefusedWithTheReasons) {
  write("broken", 20, 20);
  for (int i = 0; i < 20; ++i) std::ofstream(path("broken") + "/bee/" + std::to_string(1000 + i) + ".jpg") << (i < 18 ? "<html>" : "");
  EXPECT_THAT(data_error_of([&] { audit_folder(options_of(path("broken")), 0); }),
              testing::AllOf(HasSubstr(": 20 of 40 images cannot be read: is an HTML page, not an image; "),
                             HasSubstr(" (18, first bee/1000.jpg), is empty (2, first bee/1018.jpg): an audit "),
                             HasSubstr("found ape 20, bee 0")));
}

TEST_F(FolderAuditTest, ColumnsThatSayNothingAreIgnoredAndOneThatNamesTheClassIsNoShortcut) {
  write("clean", 40, 40);
  std::ofstream csv(path("c.csv"));
  csv << "path,id,site,species,unit\n";
  int id = 0;
  for (const char* name : {"ape", "bee"}) {
    for (int i = 0; i < 40; ++i) {
      csv << name << "/" << 1000 + i << ".jpg,x" << id++ << ",here," << name << "s," << (i % 2 == 0 ? "cm" : "mm") << "\n";
    }
  }
  csv.close();
  const FolderAudit audit = audit_folder(options_of(path("clean"), path("c.csv")), 0);
  EXPECT_THAT(audit.result.notes, testing::Contains(HasSubstr("column id is ignored: it has another value in nearly every row")));
  EXPECT_THAT(audit.result.notes, testing::Contains(HasSubstr("column site is ignored: it has a single value ('here')")));
  const AuditFinding& species = finding_named(audit.result, "species", "test");
  EXPECT_EQ(species.verdict, AuditVerdict::kNone);
  EXPECT_TRUE(species.names_classes);
  EXPECT_THAT(audit.result.notes, testing::Contains("column species is the label under another name"));
}

TEST_F(FolderAuditTest, ThePageShowsVerdictImagesAndCommands) {
  write("clean");
  const FolderAudit audit = planted(PlantKind::kSquare);
  const std::string page = audit_page(audit, "photos<1>", {"debias init photos"});
  EXPECT_THAT(page, HasSubstr("240 images of 2 classes"));
  EXPECT_THAT(page, HasSubstr("Audit of photos&lt;1&gt;"));
  EXPECT_THAT(page, HasSubstr("mark, top left"));
  EXPECT_THAT(page, HasSubstr("debias init photos"));
  EXPECT_THAT(page, HasSubstr("data:image/png;base64,"));
  EXPECT_THAT(page, testing::Not(HasSubstr("http")));
}

}  // namespace folder_audit_test
}  // namespace debias
