// What shows a finding, for findings made by hand: words, shares of classes, rows, images and heat maps.
#include "debias/audit/finding_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "debias/audit/audit_page.h"
#include "debias/audit/audit_summary.h"
#include "debias/audit/finding_words.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/geometry.h"
#include "debias/image/image_decode.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace finding_evidence_test {

using testing::HasSubstr;
using testing::Not;

// A finding about class 0 of `kClasses`, of which `values` are the names.
AuditFinding named(std::string name, PropertyKind kind, std::vector<std::string> values, std::vector<bool> absent = {}) {
  AuditFinding finding;
  finding.property = {.name = std::move(name), .kind = kind, .value_names = std::move(values), .absent = std::move(absent)};
  finding.tested.in_class = 0.98;
  finding.tested.elsewhere = 0.06;
  return finding;
}
AuditFinding ordered(std::string name, PropertyKind kind, std::string edge, bool above) {
  AuditFinding finding = named(std::move(name), kind, {std::move(edge), "inf"});
  finding.property.ordered = true;
  finding.tested.value = 1;
  finding.tested.above = above;
  return finding;
}
AuditResult classes(std::vector<std::string> names) {
  AuditResult result;
  result.classes = std::move(names);
  return result;
}

TEST(FindingWords, SayWhatAPersonSees) {
  const AuditResult result = classes({"vehicle", "animal"});
  using Kind = PropertyKind;
  EXPECT_EQ(shares_text(named("image size", Kind::kFile, {"800x600"}), result), "98 % of vehicle are 800 x 600, 6 % of the others");
  const std::vector<std::pair<AuditFinding, std::string>> expected = {
      {named("file format", Kind::kFile, {"PNG"}), "are PNG files"},
      {named("grey or colour", Kind::kFile, {"grey"}), "are grey images"},
      {named("EXIF camera", Kind::kFile, {"no value"}), "have no EXIF camera"},
      {named("name prefix", Kind::kFile, {"IMG_"}), "have names that begin with IMG_"},
      {named("column site", Kind::kColumn, {"Rome"}), "have Rome in column site"},
      {ordered("column age", Kind::kColumn, "40", true), "have at least 40 in column age"},
      {ordered("aspect ratio", Kind::kFile, "1.5", false), "are less than 1.5 times as wide as high"},
      {named("colour of the top edge", Kind::kEdge, {"253,253,251"}), "have a top edge of colour 253,253,251 (white)"},
      {named("dark corners", Kind::kCorners, {"present"}), "have dark corners"},
      {named("background scene", Kind::kScene, {"3"}), "show one and the same background (number 3)"},
      {named("mark, top left", Kind::kMark, {"colour 246,10,10"}), "have a mark of colour 246,10,10 (red) at the top left"},
      {named("mark, bottom right (2)", Kind::kMark, {"present"}), "have a mark at the bottom right"},
      {named("mark, middle", Kind::kMark, {"present"}), "have a mark in the middle"},
      {named("recurring detail 7", Kind::kDetail, {"present"}), "show this detail"},
      {ordered("patches of colour 10,200,10", Kind::kDetail, "0.004444", true), "have at least 0.44 % of their area in this colour"},
      {ordered("sharpness", Kind::kDescription, "-1.068", false), "are blurred (sharpness below -1.068)"},
      {named("step pairs", Kind::kDescription, {"cluster 5"}), "are of one kind in texture from pixel to pixel (cluster 5)"},
      {named("clusters", Kind::kDirection, {"cluster 2"}), "are in cluster 2"},
  };
  for (const auto& [finding, words] : expected) EXPECT_EQ(value_phrase(finding), words);
  EXPECT_EQ(plain_name(named("step pairs", Kind::kDescription, {}).property), "texture from pixel to pixel (step pairs)");
  EXPECT_EQ(plain_name(named("patches of colour 10,200,10", Kind::kDetail, {}).property), "patches of colour 10,200,10 (green)");
  EXPECT_EQ(plain_name(named("a name of another day", Kind::kDescription, {}).property), "a name of another day");
  EXPECT_LT(value_phrase(named("file comment", Kind::kFile, {std::string(5000, 'x')})).size(), 100u);
}

TEST(FindingWords, AMarkThatAClassLacksIsPresentOnTheOthers) {
  AuditFinding lacks = named("mark, top left", PropertyKind::kMark, {"absent", "present"}, {true, false});
  EXPECT_EQ(shares_text(lacks, classes({"bee", "ape"})), "2 % of bee have a mark at the top left, 94 % of the others");
}

TEST(FindingWords, AColourThatAllClassesButOneHaveIsSaidOfThatOne) {
  AuditFinding lacks = named("strip at the bottom edge", PropertyKind::kEdge, {"255,255,255", "not plain"}, {false, true});
  std::swap(lacks.tested.in_class, lacks.tested.elsewhere);
  EXPECT_EQ(shares_text(lacks, classes({"line", "bar", "pie"})),
            "6 % of line have a bottom edge of colour 255,255,255 (white), 98 % of the others");
}

// Two classes; half of the images of the first and a tenth of the second have the value 1, in groups of two rows.
struct Rows {
  FolderAudit audit;
  AuditFinding finding;

  explicit Rows(int groups_of_class = 20) {
    finding = named("image size", PropertyKind::kFile, {"64x64", "80x60"});
    finding.tested.value = 1;
    audit.rows.classes = audit.result.classes = {"ape", "bee"};
    for (int k = 0; k < 2; ++k) {
      for (int g = 0; g < groups_of_class; ++g) {
        for (int i = 0; i < 2; ++i) {
          audit.rows.labels.push_back(k);
          audit.result.groups.of_row.push_back(k * groups_of_class + g);
          audit.files.push_back(std::ssize(audit.files));
          audit.folder.files.push_back({"", std::string(k == 0 ? "ape/" : "bee/") + std::to_string(g) + "_" + std::to_string(i), ""});
          finding.property.values.push_back(k == 0 ? g % 2 : g % 10 == 0 && i == 0);
        }
      }
    }
    audit.result.groups.count = 2 * groups_of_class;
    audit.result.groups.from = "column patient";
  }
};

TEST(FindingEvidence, ImagesWithoutItAreOfTheClassThatLacksIt) {
  Rows rows;
  rows.finding.tested.label = 1;
  std::swap(rows.finding.tested.in_class, rows.finding.tested.elsewhere);
  for (const size_t row : evidence_rows(rows.finding, rows.audit, true, 6)) EXPECT_EQ(rows.audit.rows.labels[row], 0);
  for (const size_t row : evidence_rows(rows.finding, rows.audit, false, 6)) EXPECT_EQ(rows.audit.rows.labels[row], 1);
}

TEST(FindingEvidence, SharesAreOfGroupsAndRowsOfNewGroupsComeFirst) {
  const Rows rows;
  const std::vector<double> shares = class_shares(rows.finding, rows.audit.rows, rows.audit.result.groups);
  EXPECT_NEAR(shares[0], 0.5, 1e-12);
  EXPECT_NEAR(shares[1], 2 * 0.5 / 20, 1e-12);  // two groups of twenty, of each one row of two
  const std::vector<size_t> with = evidence_rows(rows.finding, rows.audit, true, 6);
  ASSERT_EQ(with.size(), 6u);
  std::map<int32_t, int> groups;
  for (const size_t row : with) {
    EXPECT_EQ(rows.audit.rows.labels[row], 0) << "of its class, as far as there are some";
    EXPECT_EQ(rows.finding.property.values[row], 1);
    EXPECT_EQ(++groups[rows.audit.result.groups.of_row[row]], 1);
  }
  for (const size_t row : evidence_rows(rows.finding, rows.audit, false, 6)) EXPECT_EQ(rows.audit.rows.labels[row], 1);
  const Rows few(4);  // two groups with it
  EXPECT_EQ(evidence_rows(few.finding, few.audit, true, 6).size(), 5u) << "four rows of two groups, and one of the other class";
}

// Photographs of 640 x 480 with a red square of 40 pixels at (500, 300) of those with it.
TEST(FindingEvidence, ImagesHaveAPartAtFullSizeWithABoxAroundTheMark) {
  const TemporaryFolder folder;
  Rows rows;
  rows.finding.property.kind = PropertyKind::kMark;
  rows.finding.property.name = "mark, bottom right";
  rows.finding.property.place = ImagePlace{500.0 / 640, 300.0 / 480, 40.0 / 640, 40.0 / 480};
  for (size_t row = 0; row < rows.audit.files.size(); ++row) {
    Image image{480, 640, 3, std::vector<uint8_t>(480 * 640 * 3, 90)};
    if (rows.finding.property.values[row] == 1) {
      for (int y = 300; y < 340; ++y) {
        for (int x = 500; x < 540; ++x) image.pixels[static_cast<size_t>(3 * (640 * y + x))] = 250;
      }
    }
    const auto bytes = encode_jpeg(image, 95);
    PictureFile& file = rows.audit.folder.files[row];
    file.path = folder / (std::to_string(row) + ".jpg");
    std::ofstream(file.path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
  }
  const std::vector<size_t> with = evidence_rows(rows.finding, rows.audit, true, 6),
                            without = evidence_rows(rows.finding, rows.audit, false, 6);
  std::ofstream(rows.audit.folder.files[with[5]].path) << "";
  const FindingImages images = finding_images(rows.finding, rows.audit, with, without);
  EXPECT_FALSE(images.with[5]) << "it has disappeared";
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(images.with[i] && images.with[i]->part);
    const EvidenceImage& whole = images.with[i]->whole;
    EXPECT_EQ(std::pair(whole.width, whole.height), std::pair(208, 156));
    EXPECT_NEAR(whole.box->x, 0.78125, 1e-9);
    const EvidenceImage& part = *images.with[i]->part;
    const Image pixels = decode_image(part.bytes, "part");
    const auto red = [&](double x, double y) {
      return pixels.row(static_cast<int>(y * pixels.height))[3 * static_cast<int>(x * pixels.width)] > 200;
    };
    const ImagePlace box = *part.box;
    EXPECT_NEAR(box.width * pixels.width, 40, 1) << "at full size";
    EXPECT_TRUE(red(box.x + 0.1 * box.width, box.y + 0.1 * box.height));
    EXPECT_TRUE(red(box.x + 0.9 * box.width, box.y + 0.9 * box.height));
    EXPECT_FALSE(red(box.x - 0.1 * box.width, box.y + 0.5 * box.height));
    ASSERT_TRUE(images.without[i] && images.without[i]->part);
    EXPECT_FALSE(images.without[i]->whole.box);
  }
}

// Thumbnails of one grey whose left upper quarter is light where the value is 1, and whose right half is light in the second class.
TEST(FindingEvidence, TheHeatMapShowsWhereImagesOfOneClassDiffer) {
  Rows rows;
  rows.audit.rows.side = 32;
  for (size_t row = 0; row < rows.audit.files.size(); ++row) {
    Picture picture;
    picture.thumbnail.assign(32 * 32 * 3, static_cast<uint8_t>(90 + row % 7));
    picture.facts.measures[0] = 2;  // twice as wide as high
    for (size_t p = 0; p < 32 * 32; ++p) {
      const bool corner = p / 32 < 16 && p % 32 < 16, right = p % 32 >= 16;
      for (size_t c = 3 * p; c < 3 * p + 3; ++c) {
        if (corner && rows.finding.property.values[row] == 1) picture.thumbnail[c] = 200;
        if (right && rows.audit.rows.labels[row] == 1) picture.thumbnail[c] = 200;
      }
    }
    rows.audit.rows.pictures.push_back(std::move(picture));
  }
  const auto map = heat_map(rows.finding, rows.audit.rows, rows.audit.result.groups);
  ASSERT_TRUE(map);
  EXPECT_TRUE(map->within_class);
  EXPECT_EQ(std::pair(map->image.width, map->image.height), std::pair(400, 200));
  const Image pixels = decode_image(map->image.bytes, "map");
  const auto colourful = [&](int x, int y) {
    const uint8_t* p = pixels.row(y) + 3 * x;
    return std::max({p[0], p[1], p[2]}) - std::min({p[0], p[1], p[2]}) > 60;
  };
  EXPECT_TRUE(colourful(100, 50));
  EXPECT_FALSE(colourful(300, 50)) << "what the classes show is left out";
  EXPECT_FALSE(colourful(300, 150));
  EXPECT_FALSE(colourful(100, 150));
  rows.finding.property.values.assign(rows.audit.files.size(), 0);
  EXPECT_FALSE(heat_map(rows.finding, rows.audit.rows, rows.audit.result.groups)) << "nothing to compare";
}

TEST(CommandsAfterAnAudit, KeepWhatWasAskedFor) {
  AuditFolderOptions options;
  options.folder = "my photos";
  options.labels = "l.csv";
  options.group = {"patient"};
  options.pixels = Config::map({{"bits", Config::string("12")}});
  options.split = "test";
  AuditResult result;
  EXPECT_THAT(commands_after(options, result, "", 3),
              testing::ElementsAre("debias init 'my photos' bits=12 --labels l.csv --group patient"));
  EXPECT_EQ(commands_after(options, result, "b.csv").front(), "debias init 'my photos' bits=12 --labels b.csv");
  Rows rows;
  result.findings = {rows.finding};
  result.findings.front().verdict = AuditVerdict::kShortcut;
  result.findings.front().property.kind = PropertyKind::kColumn;
  const std::string name = result.findings.front().property.name;
  EXPECT_EQ(
      commands_after(options, result, "", 3).front(),
      "debias audit 'my photos' bits=12 --labels l.csv --group patient --split test --seed 3 --accept '" + name + "' --bias-out bias.csv");
}

TEST(AuditText, IsAtMost15LinesWhateverThereIsToSay) {
  Rows rows;
  for (int i = 0; i < 9; ++i) {
    rows.audit.result.findings.push_back(rows.finding);
    AuditFinding& finding = rows.audit.result.findings.back();
    finding.verdict = i < 7 ? AuditVerdict::kShortcut : AuditVerdict::kLook;
    finding.with_it = {"noise", "stripes"};
    rows.audit.result.notes.push_back("note number " + std::to_string(i));
    rows.audit.bad.push_back({"ape/x.jpg", "no image"});
  }
  rows.audit.result.images = 80;
  const std::vector<std::string> commands = {"one", "two", "three"};
  for (const std::string bar : {"", "#"}) {
    const std::string text = audit_text(rows.audit, commands, {.bar = bar});
    EXPECT_LE(std::ranges::count(text, '\n'), 15) << text;
    EXPECT_THAT(text, testing::StartsWith("7 shortcuts: image size; image size; image size and 4 more. 98 % of ape are 80 x 60, "));
    EXPECT_THAT(text, HasSubstr("80 images of 2 classes (ape, bee), 40 groups (by column patient), each counted once\n"));
    for (const std::string& command : commands) EXPECT_THAT(text, HasSubstr("next: " + command + "\n"));
    EXPECT_THAT(text, HasSubstr("note: 9 images cannot be read"));
    EXPECT_THAT(text, HasSubstr("note: 8 more notes; -v prints them\n"));
  }
  const std::string whole = audit_text(rows.audit, commands, {.verbose = true});
  EXPECT_THAT(whole, HasSubstr("note number 8"));
  EXPECT_THAT(whole, HasSubstr("properties of an encoder's features: no embeddings were given"));
  rows.audit.result.findings.resize(1);
  rows.audit.result.notes.clear();
  rows.audit.bad.clear();
  const std::string bars = audit_text(rows.audit, {}, {.bar = "#"});
  EXPECT_THAT(bars, HasSubstr("   ape ##########            50 %\n   bee #                      5 %\n"));
  EXPECT_THAT(audit_text(rows.audit, {}, {}), Not(HasSubstr("##")));
  rows.audit.result.findings.front().expected = true;
  EXPECT_THAT(audit_text(rows.audit, {}, {}), testing::StartsWith("no shortcut but 1 that is expected in 80 images; "));
}

TEST(AuditPage, ShowsFiveFindingsAndFoldsTheOthers) {
  Rows rows;
  for (int i = 0; i < 30; ++i) {
    rows.audit.result.findings.push_back(rows.finding);
    rows.audit.result.findings.back().verdict = i < 2 ? AuditVerdict::kShortcut : i < 7 ? AuditVerdict::kLook : AuditVerdict::kNone;
  }
  rows.audit.rows.embeddings = {1};
  for (int i = 0; i < 5000; ++i) rows.audit.bad.push_back({std::string(200, 'x'), "no image"});
  const std::string page = audit_page(rows.audit, "z.npy", {});
  size_t sections = 0;
  for (size_t at = 0; (at = page.find("<section class=\"finding\">", at)) != std::string::npos; ++at) ++sections;
  EXPECT_EQ(sections, 5u);
  EXPECT_THAT(page, HasSubstr("<summary>25 weaker properties</summary>"));
  EXPECT_LT(page.find("2 shortcuts: image size"), page.find("<nav"));
  EXPECT_THAT(page, HasSubstr("ape/1_0"));
  EXPECT_THAT(page, HasSubstr("<summary>5000 images cannot be read; the first 200</summary>"));
  EXPECT_LT(page.size(), 200'000u);
}

}  // namespace finding_evidence_test
}  // namespace debias
