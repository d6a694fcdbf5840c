// Whole audits of synthetic images: every kind of plant is found as what it is, and clean folders raise no alarm.
#include "debias/audit/folder_audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "debias/audit/audit_page.h"
#include "debias/audit/bias_file.h"
#include "debias/core/error.h"
#include "debias/core/file_bytes.h"
#include "debias/core/philox.h"
#include "debias/data/builders/planted_folder.h"
#include "debias/data/jpeg_encode.h"
#include "debias/data/readers/csv_file.h"
#include "debias/image/blur.h"
#include "debias/image/png_encode.h"
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
    plant_shortcut(kind, PlantOptions().correlation(correlation), path("clean"), out);
    return audit_folder({out, kind == PlantKind::kColumn ? out + "/columns.csv" : "", {}, ""}, 0);
  }
  static int64_t shortcuts(const FolderAudit& audit) {
    return std::ranges::count(audit.result.findings, AuditVerdict::kShortcut, &AuditFinding::verdict);
  }

  TemporaryFolder folder_;
};

TEST_F(FolderAuditTest, EveryKindOfPlantIsTheFirstShortcutAndOfItsKind) {
  write("clean", kImages, kImages, 90);
  const std::map<PlantKind, CandidateKind> expected = {
      {PlantKind::kSquare, CandidateKind::kCell},  {PlantKind::kSquareAnywhere, CandidateKind::kPatch},
      {PlantKind::kText, CandidateKind::kCell},    {PlantKind::kBorder, CandidateKind::kBorder},
      {PlantKind::kScene, CandidateKind::kBorder}, {PlantKind::kBlur, CandidateKind::kGlobal},
      {PlantKind::kJpeg, CandidateKind::kGlobal},  {PlantKind::kNoise, CandidateKind::kGlobal},
      {PlantKind::kSize, CandidateKind::kFile},    {PlantKind::kName, CandidateKind::kFile},
      {PlantKind::kExif, CandidateKind::kFile},    {PlantKind::kColumn, CandidateKind::kColumn}};
  for (const auto& [kind, found] : expected) {
    const FolderAudit audit = planted(kind);
    const AuditFinding& first = audit.result.findings.front();
    EXPECT_EQ(first.verdict, AuditVerdict::kShortcut) << enum_name(kind);
    EXPECT_EQ(first.candidate.kind, found) << enum_name(kind) << ": " << first.candidate.name;
    EXPECT_DOUBLE_EQ(first.p_adjusted, 1.0 / 201) << enum_name(kind);
    EXPECT_EQ(first.assignable, found != CandidateKind::kGlobal) << enum_name(kind) << " " << first.confident_share;
  }
}

TEST_F(FolderAuditTest, TheSquareIsFoundWhereItIsAndItsValuesAreThoseThatWerePlanted) {
  write("clean");
  const FolderAudit audit = planted(PlantKind::kSquare, 0.9);
  const ImagePlace place = *audit.result.findings.front().candidate.place;
  EXPECT_LT(place.x, 10.0 / 32);  // the square covers [2, 10) of 32 pixels
  EXPECT_GT(place.x + place.width, 2.0 / 32);
  EXPECT_LT(place.y, 10.0 / 32);
  const std::string csv = path("bias.csv");
  std::ofstream(csv) << bias_file(audit, audit.result.findings.front().candidate.name);
  std::map<std::string, std::string> truth;
  for (const CsvRecord& record : read_csv(path("square") + "/planted.csv")) truth[record.fields[0]] = record.fields[2];
  int64_t with_value = 0, right = 0, rows = 0;
  for (const CsvRecord& record : read_csv(csv)) {
    if (record.fields[0] == "path") continue;
    ++rows;
    if (record.fields[2].empty()) continue;
    ++with_value;
    right += record.fields[2] == truth.at(record.fields[0]) ? 1 : 0;
  }
  EXPECT_EQ(rows, 2 * kImages);
  EXPECT_GT(with_value, 0.9 * 2 * kImages);
  EXPECT_GE(right, with_value - 2);
}

TEST_F(FolderAuditTest, ImagesOfOtherSplitsGetValuesToo) {
  write("clean/train");
  write("clean/test", 40, 40);
  for (const PlantKind kind :
       {PlantKind::kSquare, PlantKind::kSquareAnywhere, PlantKind::kBorder, PlantKind::kName, PlantKind::kExif, PlantKind::kColumn}) {
    const FolderAudit audit = planted(kind);
    std::ofstream(path("bias.csv")) << bias_file(audit, audit.result.findings.front().candidate.name);
    std::map<std::string, std::string> truth;
    for (const CsvRecord& record : read_csv(path(std::string(enum_name(kind))) + "/planted.csv"))
      truth[record.fields[0]] = record.fields[2];
    struct Counts {
      int64_t rows = 0, with_value = 0, right = 0;
      double precision() const { return static_cast<double>(right) / static_cast<double>(with_value); }
    };
    std::map<std::string, Counts> of_split;
    for (const CsvRecord& record : read_csv(path("bias.csv"))) {
      Counts& counts = of_split[record.fields[0].substr(0, record.fields[0].find('/'))];
      ++counts.rows;
      if (record.fields[2].empty()) continue;
      ++counts.with_value;
      counts.right += record.fields[2] == truth.at(record.fields[0]) ? 1 : 0;
    }
    EXPECT_EQ(of_split["test"].rows, 80) << enum_name(kind);
    EXPECT_GT(of_split["test"].with_value, 60) << enum_name(kind);
    const double least = kind == PlantKind::kSquareAnywhere ? 0.85 : 0.95;  // half of the test images conflict, 5 % of the others
    EXPECT_GE(of_split["test"].precision(), least) << enum_name(kind);
  }
}

TEST_F(FolderAuditTest, ADamagedImageOfAnotherSplitHasNoValue) {
  write("clean/train");
  write("clean/test", 4, 4);
  const FolderAudit audit = planted(PlantKind::kSquare);
  std::ofstream(path("square") + "/test/ape/1001.png") << "no image";
  const std::string csv = bias_file(audit, audit.result.findings.front().candidate.name);
  EXPECT_THAT(csv, HasSubstr("\ntest/ape/1001.png,ape,,\n"));
  EXPECT_THAT(csv, testing::ContainsRegex("\ntest/ape/1000.png,ape,[a-z]*,[01]"));
}

TEST_F(FolderAuditTest, ACleanFolderRaisesNoAlarmEvenOrUneven) {
  write("even");
  write("uneven", 240, 30);
  for (const char* name : {"even", "uneven"}) {
    const FolderAudit audit = audit_folder({path(name), "", {}, ""}, 0);
    EXPECT_EQ(shortcuts(audit), 0) << name << ": " << audit.result.findings.front().candidate.name;
  }
}

// Channel values of a row.
std::span<uint8_t> row_of(Image& image, int y) {
  const size_t width = 3 * static_cast<size_t>(image.width);
  return std::span(image.pixels).subspan(static_cast<size_t>(y) * width, width);
}

void add_line(Image& image) {
  for (uint8_t& value : row_of(image, 11)) value = static_cast<uint8_t>(std::min(255, value + 12));
}

// The last two bits of every other pixel, as on a chessboard.
void add_screen(Image& image) {
  for (int y = 0; y < image.height; ++y) {
    const auto row = row_of(image, y);
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<uint8_t>((row[i] & 0xfc) | ((static_cast<size_t>(y) + i / 3) % 2 == 0 ? 3 : 0));
  }
}

void posterise(Image& image) {
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(value / 24 * 24);
}

TEST_F(FolderAuditTest, MarksOfTheWholeImageAreFoundByItsTonesFrequenciesAndLines) {
  const std::map<std::string, void (*)(Image&)> marks = {{"lines", add_line}, {"frequencies", add_screen}, {"tones", posterise}};
  for (const auto& [name, mark] : marks) {
    Random random({.seed = 12});
    for (int k = 0; k < 2; ++k) {
      const std::string folder = path(name) + (k == 0 ? "/ape" : "/bee");
      fs::create_directories(folder);
      for (int i = 0; i < kImages; ++i) {
        Image image = scene(k == 0, 90, random);
        if ((i % 20 != 0) == (k == 0)) mark(image);
        const auto bytes = encode_png(image);
        std::ofstream(folder + "/" + std::to_string(1000 + i) + ".png", std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
      }
    }
    const FolderAudit audit = audit_folder({path(name), "", {}, ""}, 0);
    const auto found = std::ranges::find(audit.result.findings, name, [](const AuditFinding& f) { return f.candidate.name; });
    ASSERT_NE(found, audit.result.findings.end());
    EXPECT_GT(found->accuracy, 0.9) << name;
    EXPECT_TRUE(found->verdict == AuditVerdict::kShortcut || !found->follows_from.empty()) << name << " reference " << found->reference;
    EXPECT_EQ(audit.result.findings.front().verdict, AuditVerdict::kShortcut) << name;
    EXPECT_FALSE(found->assignable) << name;
  }
}

// Renames the files of a written folder by number, from first[k] on for class k, and adds `tail` to those of its own class but every 20th.
void renumber(const std::string& folder, std::array<int, 2> first, const std::string& tail) {
  for (int k = 0; k < 2; ++k) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder + (k == 0 ? "/ape" : "/bee"))) files.push_back(entry.path());
    std::ranges::sort(files);
    for (size_t i = 0; i < files.size(); ++i) {
      if ((i % 20 != 0) == (k == 0)) std::ofstream(files[i], std::ios::binary | std::ios::app) << tail;
      fs::rename(files[i], files[i].parent_path() / fmt::format("IMG_{}.jpg", static_cast<size_t>(first[static_cast<size_t>(k)]) + i));
    }
  }
}

const AuditFinding* finding_of(const FolderAudit& audit, const std::string& name) {
  const auto found = std::ranges::find(audit.result.findings, name, [](const AuditFinding& f) { return f.candidate.name; });
  return found == audit.result.findings.end() ? nullptr : &*found;
}

TEST_F(FolderAuditTest, BytesAfterTheImageAreAShortcutWithValues) {
  write("tail");
  renumber(path("tail"), {1, 1}, "SEFT");
  const FolderAudit audit = audit_folder({path("tail"), "", {}, ""}, 0);
  EXPECT_EQ(audit.result.findings.front().candidate.name, "bytes after the image");
  EXPECT_EQ(audit.result.findings.front().verdict, AuditVerdict::kShortcut);
  EXPECT_THAT(bias_file(audit, "bytes after the image"), HasSubstr("ape/IMG_2.jpg,ape,ape,"));
  EXPECT_EQ(finding_of(audit, "text after the image"), nullptr);  // it divides the files in the same way
}

TEST_F(FolderAuditTest, RunningNumbersOfEachClassRaiseNoAlarmAndThoseOfAllAreTheLabel) {
  write("own", 240, 30);
  renumber(path("own"), {1, 1}, "");
  const FolderAudit own = audit_folder({path("own"), "", {}, ""}, 0);
  EXPECT_EQ(shortcuts(own), 0) << own.result.findings.front().candidate.name;
  write("all", 120, 90);
  renumber(path("all"), {1, 121}, "");
  const FolderAudit all = audit_folder({path("all"), "", {}, ""}, 0);
  EXPECT_EQ(shortcuts(all), 0) << all.result.findings.front().candidate.name;
  const AuditFinding* number = finding_of(all, "name number 1");
  ASSERT_NE(number, nullptr);
  EXPECT_EQ(number->verdict, AuditVerdict::kPredictive);
  EXPECT_THAT(note_of(*number), HasSubstr("the label under another name"));
}

TEST_F(FolderAuditTest, TheSameSeedGivesTheSameFindings) {
  write("clean");
  const AuditFolderOptions options{path("clean"), "", {}, ""};
  const FolderAudit a = audit_folder(options, 4), b = audit_folder(options, 4);
  ASSERT_EQ(a.result.findings.size(), b.result.findings.size());
  for (size_t i = 0; i < a.result.findings.size(); ++i) {
    EXPECT_EQ(a.result.findings[i].candidate.name, b.result.findings[i].candidate.name);
    EXPECT_EQ(a.result.findings[i].accuracy, b.result.findings[i].accuracy);
  }
}

TEST_F(FolderAuditTest, ADamagedImageIsNamedAndLeftOut) {
  write("clean");
  std::ofstream(path("clean") + "/ape/1003.jpg") << "no image";
  const FolderAudit audit = audit_folder({path("clean"), "", {}, ""}, 0);
  ASSERT_EQ(audit.bad.size(), 1u);
  EXPECT_EQ(audit.bad[0].path, "ape/1003.jpg");
  EXPECT_EQ(audit.result.images, 2 * kImages - 1);
}

TEST_F(FolderAuditTest, RefusesFoldersWithoutTwoClassesOfTwentyImages) {
  write("small", 30, 19);
  try {
    audit_folder({path("small"), "", {}, ""}, 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    EXPECT_THAT(error.what(), HasSubstr("at least two classes of 20 images or more, found ape 30, bee 19"));
  }
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
  const FolderAudit audit = audit_folder({path("clean"), path("c.csv"), {}, ""}, 0);
  EXPECT_THAT(audit.result.remarks, testing::Contains(HasSubstr("column id is ignored: it has another value in nearly every row")));
  EXPECT_THAT(audit.result.remarks, testing::Contains(HasSubstr("column site is ignored: it has a single value ('here')")));
  const auto species = std::ranges::find(audit.result.findings, "species", [](const AuditFinding& f) { return f.candidate.name; });
  ASSERT_NE(species, audit.result.findings.end());
  EXPECT_EQ(species->verdict, AuditVerdict::kPredictive);
  EXPECT_THAT(note_of(*species), HasSubstr("the label under another name"));
}

TEST_F(FolderAuditTest, ThePageShowsVerdictHeatMapSheetsAndCommands) {
  write("clean");
  const FolderAudit audit = planted(PlantKind::kSquare);
  const std::string page = audit_page(audit, "photos<1>", {"debias init photos"});
  EXPECT_THAT(page, HasSubstr("likely shortcut"));
  EXPECT_THAT(page, HasSubstr("Audit of photos&lt;1&gt;"));
  EXPECT_THAT(page, HasSubstr("conflicting"));
  EXPECT_THAT(page, HasSubstr("debias init photos"));
  EXPECT_THAT(page, HasSubstr("data:image/png;base64,"));
  EXPECT_THAT(page, testing::Not(HasSubstr("http")));
}

}  // namespace folder_audit_test
}  // namespace debias
