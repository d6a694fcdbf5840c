// `debias data plant` and `debias audit` as processes: a shortcut is planted, found, accepted and trained against.
#include "debias/core/philox.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/blur.h"
#include "tests/apps/command.h"

namespace debias::audit_cli_test {

class AuditCommand : public InFolder {
 protected:
  AuditCommand() {
    Random random({.seed = 5});
    for (const char* name : {"heron", "newt"}) {
      fs::create_directories(std::string("photos/") + name);
      for (int i = 0; i < 100; ++i) {
        Image image{32, 32, 3, std::vector<uint8_t>(32 * 32 * 3)};
        for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random.below(256));
        gaussian_blur(image, 13, 2.5);
        const auto bytes = encode_jpeg(image, 90);
        std::ofstream(std::string("photos/") + name + "/" + std::to_string(100 + i) + ".jpg", std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
      }
    }
  }
  static void write_ppm(const std::string& path, const Image& image) {
    std::ofstream file(path, std::ios::binary);
    file << "P6\n" << image.width << ' ' << image.height << "\n255\n";
    file.write(reinterpret_cast<const char*>(image.pixels.data()), std::ssize(image.pixels));
  }
  void plant() const {
    const ProcessResult planted = done({"data", "plant", "square", "photos", "--out", "planted", "correlation=0.9", "--json"});
    EXPECT_EQ(Json::parse(planted.out)["aligned"], 180);
  }
};

TEST_F(AuditCommand, FindsAPlantedSquareAndWritesValuesThatInitReads) {
  plant();
  const auto json = json_of(run_debias({"audit", "planted", "--json", "--out", "audit.html"}));
  EXPECT_EQ(json["images"], 200);
  EXPECT_EQ(json["classes"], Json({"heron", "newt"}));
  const auto& first = json["candidates"][0];
  EXPECT_EQ(first["kind"], "mark");
  EXPECT_EQ(first["verdict"], "shortcut");
  EXPECT_GT(first["effect"].get<double>(), 0.7);
  EXPECT_EQ(first["place"].size(), 4u);
  EXPECT_EQ(first["assignable"], true);
  EXPECT_EQ(json["shortcuts"][0], first);
  EXPECT_EQ(json["groups"], 200);
  EXPECT_EQ(json["groups_from"], "none");
  const std::string page = file_text("audit.html");
  EXPECT_LT(page.find("mark, top left"), page.find("Next</h2>")) << "the evidence before the commands";
  EXPECT_THAT(page, HasSubstr("<summary>The table of properties</summary>"));
  const ProcessResult accepted =
      run_debias({"audit", "planted", "--accept", first["name"].get<std::string>(), "--bias-out", "spot.csv", "--fail-if", "shortcut>0"});
  EXPECT_EQ(accepted.exit, 1);
  EXPECT_THAT(accepted.err, HasSubstr("audit: shortcut is"));
  EXPECT_THAT(accepted.out, AllOf(HasSubstr("debias init planted --labels spot.csv"), Not(HasSubstr("--accept"))));
  EXPECT_EQ(file_text("spot.csv").substr(0, 17), "path,label,bias\nh");
  const ProcessResult init = done({"init", "planted", "--labels", "spot.csv", "--minutes", "0.02", "--json"});
  EXPECT_EQ(Json::parse(init.out)["biases"].size(), 2u);
  const ProcessResult expected = run_debias({"audit", "planted", "--expect-region", "0,0,0.5,0.5", "--fail-if", "shortcut>1", "--json"});
  EXPECT_EQ(Json::parse(expected.out)["candidates"][0]["expected"], true) << expected.err;
}

TEST_F(AuditCommand, KeepsWhatIsExpectedBesideThePageForTheNextAudit) {
  plant();
  done({"audit", "planted", "--out", "audit.html", "--expect-region", "0,0,0.5,0.5", "--expect", "level use"});
  EXPECT_THAT(file_text("audit.expected.txt"), AllOf(HasSubstr("name level use\n"), HasSubstr("region 0,0,0.5,0.5\n")));
  std::ofstream("audit.expected.txt", std::ios::app) << "name colour of a sail\n";
  const auto json = json_of(run_debias({"audit", "planted", "--out", "audit.html", "--json"}));
  EXPECT_EQ(json["candidates"][0]["expected"], true);
  EXPECT_THAT(json["notes"].dump(), AllOf(HasSubstr("3 expectations of earlier audits read from audit.expected.txt"),
                                          HasSubstr("'colour of a sail' was expected in an earlier audit")));
  std::ofstream("audit.expected.txt", std::ios::app) << "sail\n";
  const ProcessResult refused = run_debias({"audit", "planted", "--out", "audit.html"});
  EXPECT_EQ(refused.exit, 3);
  EXPECT_THAT(refused.err, HasSubstr("audit.expected.txt line 5: 'sail': expected 'name PROPERTY' or 'region x,y,w,h'"));
}

// A square in the middle is where what an image shows usually is; a mask of the rest says otherwise.
TEST_F(AuditCommand, TakesTheOuterPartFromMasksOfTheSameName) {
  Random random({.seed = 6});
  for (const char* name : {"heron", "newt"}) {
    fs::create_directories(std::string("middle/") + name);
    fs::create_directories(std::string("masks/") + name);
    for (int i = 0; i < 100; ++i) {
      Image image{32, 32, 3, std::vector<uint8_t>(32 * 32 * 3)}, mask{32, 32, 3, std::vector<uint8_t>(32 * 32 * 3)};
      for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random.below(256));
      gaussian_blur(image, 13, 2.5);
      const bool marked = (std::string(name) == "newt") == (i % 10 > 0);
      for (int y = 0; y < 32; ++y) {
        for (int x = 0; x < 32; ++x) {
          uint8_t* pixel = image.pixels.data() + 3 * (32 * y + x);
          if (marked && y >= 13 && y < 19 && x >= 13 && x < 19) pixel[0] = 250, pixel[1] = 10, pixel[2] = 200;
          if (y < 8) mask.pixels[static_cast<size_t>(3 * (32 * y + x))] = 1;
        }
      }
      const std::string file = std::string(name) + "/" + std::to_string(100 + i);
      write_ppm("middle/" + file + ".ppm", image);
      if (i > 0) write_ppm("masks/" + file + ".ppm", mask);
    }
  }
  const auto marks_of = [](const Json& json) {
    return std::ranges::count_if(json["shortcuts"], [](const Json& each) { return each["kind"] == "mark"; });
  };
  EXPECT_EQ(marks_of(json_of(run_debias({"audit", "middle", "--json"}))), 0);
  const auto masked = json_of(run_debias({"audit", "middle", "--mask", "masks", "--json"}));
  EXPECT_EQ(marks_of(masked), 1) << masked["shortcuts"];
  EXPECT_THAT(masked["notes"].dump(), HasSubstr("2 images have no mask in masks"));
  EXPECT_THAT(run_debias({"audit", "middle", "--mask", "masks/newt"}).err, HasSubstr("is named as an image"));
}

TEST_F(AuditCommand, ACleanFolderPassesTheConditionOfAPipeline) {
  const ProcessResult result = run_debias({"audit", "photos", "--fail-if", "shortcut>0"});
  EXPECT_EQ(result.exit, 0) << result.out << result.err;
  expect_parts(result.out, {"not detectable:", "debias init photos"});
}

TEST_F(AuditCommand, OfATableNamesTheColumnsThatItWasGiven) {
  std::string csv = "kind,site\n";
  std::vector<float> z;
  for (int i = 0; i < 200; ++i) {
    csv += fmt::format("{},{}\n", i % 2 == 0 ? "ape" : "bee", i % 20 < 18 ? i % 2 : 1 - i % 2);
    z.insert(z.end(), {static_cast<float>(i % 7), static_cast<float>(i % 5)});
  }
  std::ofstream("c.csv") << csv;
  write_npy("z.npy", DType::kFloat32, {200, 2}, z.data());
  const ProcessResult found = done({"audit", "--embeddings", "z.npy", "--csv", "c.csv", "--label", "kind"});
  expect_parts(found.out, {"1 shortcut in 200 rows", "debias fix --embeddings z.npy --csv c.csv --label kind --bias site --out fixed"});
}

}  // namespace debias::audit_cli_test
