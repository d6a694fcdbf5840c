// `debias data plant` and `debias audit` as processes: a shortcut is planted, found, accepted and trained against.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "debias/core/npy.h"
#include "debias/core/philox.h"
#include "debias/data/jpeg_encode.h"
#include "debias/image/blur.h"
#include "tests/apps/process.h"

namespace debias {
namespace audit_cli_test {

using testing::HasSubstr;
namespace fs = std::filesystem;

class AuditCommand : public testing::Test {
 protected:
  AuditCommand() : home_(fs::current_path()), binary_(fs::absolute(debias_binary()).string()) {
    fs::current_path(folder_.path());
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
  ~AuditCommand() override { fs::current_path(home_); }

  ProcessResult call(const std::vector<std::string>& words) const { return run(with({binary_}, words)); }
  void expect_refused(const std::vector<std::string>& words, int exit, const std::string& text) const {
    const ProcessResult result = call(words);
    EXPECT_EQ(result.exit, exit) << result.err;
    EXPECT_THAT(result.err.substr(std::min(result.err.size(), result.err.rfind("debias: "))), HasSubstr(text));
  }
  void plant() const {
    const ProcessResult planted = call({"data", "plant", "square", "photos", "--out", "planted", "correlation=0.9", "--json"});
    ASSERT_EQ(planted.exit, 0) << planted.err;
    EXPECT_EQ(nlohmann::json::parse(planted.out)["aligned"], 180);
  }

  TemporaryFolder folder_;
  fs::path home_;
  std::string binary_;
};

TEST_F(AuditCommand, FindsAPlantedSquareAndWritesValuesThatInitReads) {
  plant();
  const ProcessResult result = call({"audit", "planted", "--json", "--out", "audit.html"});
  ASSERT_EQ(result.exit, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["images"], 200);
  EXPECT_EQ(json["classes"], nlohmann::json({"heron", "newt"}));
  const auto& first = json["candidates"][0];
  EXPECT_EQ(first["kind"], "mark");
  EXPECT_EQ(first["verdict"], "shortcut");
  EXPECT_GT(first["effect"].get<double>(), 0.7);
  EXPECT_EQ(first["place"].size(), 4u);
  EXPECT_EQ(first["assignable"], true);
  EXPECT_EQ(json["shortcuts"][0], first);
  EXPECT_EQ(json["groups"], 200);
  EXPECT_EQ(json["groups_from"], "none");
  EXPECT_THAT(file_text("audit.html"), HasSubstr("mark, top left"));
  const ProcessResult accepted =
      call({"audit", "planted", "--accept", first["name"].get<std::string>(), "--bias-out", "spot.csv", "--fail-if", "shortcut>0"});
  EXPECT_EQ(accepted.exit, 1);
  EXPECT_THAT(accepted.err, HasSubstr("audit: shortcut is"));
  EXPECT_THAT(accepted.out, testing::AllOf(HasSubstr("debias init planted --labels spot.csv"), testing::Not(HasSubstr("--accept"))));
  EXPECT_EQ(file_text("spot.csv").substr(0, 17), "path,label,bias\nh");
  const ProcessResult init = call({"init", "planted", "--labels", "spot.csv", "--minutes", "0.02", "--json"});
  EXPECT_EQ(init.exit, 0) << init.err;
  EXPECT_EQ(nlohmann::json::parse(init.out)["biases"].size(), 2u);
  const ProcessResult expected = call({"audit", "planted", "--expect-region", "0,0,0.5,0.5", "--fail-if", "shortcut>1", "--json"});
  EXPECT_EQ(nlohmann::json::parse(expected.out)["candidates"][0]["expected"], true) << expected.err;
}

TEST_F(AuditCommand, ACleanFolderPassesTheConditionOfAPipeline) {
  const ProcessResult result = call({"audit", "photos", "--fail-if", "shortcut>0"});
  EXPECT_EQ(result.exit, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("not detectable:"));
  EXPECT_THAT(result.out, HasSubstr("debias init photos"));
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
  const ProcessResult found = call({"audit", "--embeddings", "z.npy", "--csv", "c.csv", "--label", "kind"});
  ASSERT_EQ(found.exit, 0) << found.err;
  EXPECT_THAT(found.out, HasSubstr("1 shortcut in 200 rows"));
  EXPECT_THAT(found.out, HasSubstr("debias fix --embeddings z.npy --csv c.csv --label kind --bias site --out fixed"));
}

TEST_F(AuditCommand, RefusesBadInputInOneLineAndWritesNothing) {
  expect_refused({"audit", "nowhere"}, 3, "no such folder");
  expect_refused({"audit", "photos/heron"}, 3, "at least two classes of 20 images or more");
  expect_refused({"audit", "photos", "--accept", "cell"}, 2, "--bias-out is missing");
  expect_refused({"audit", "photos", "--accept", "sharpnes", "--bias-out", "b.csv"}, 2, "did you mean 'sharpness'?");
  expect_refused({"audit", "photos", "--accept", "sharpness", "--bias-out", "b.csv"}, 2, "no bias labels can be given");
  expect_refused({"audit", "photos", "--out", "photos/a.html"}, 2, "is inside the data folder");
  expect_refused({"audit", "photos", "--out", "a.txt"}, 2, "use .html");
  expect_refused({"audit", "photos", "--out", "nowhere/a.html"}, 5, "create it, or give another path");
  expect_refused({"audit", "photos", "--label", "kind"}, 2, "--label requires --embeddings");
  expect_refused({"audit", "photos", "--fail-if", "shortcuts>0"}, 2, "did you mean 'shortcut'?");
  expect_refused({"audit", "photos", "--fail-if", ""}, 2, "--fail-if '': expected METRIC");
  expect_refused({"audit", "photos", "--columns", "site"}, 2, "give it with --labels");
  expect_refused({"audit", "photos", "--group", "site"}, 2, "give it with --labels");
  expect_refused({"audit", "photos", "--expect-region", "0,0,2,1"}, 2, "expected x,y,w,h within the image");
  expect_refused({"data", "plant", "squar", "photos", "--out", "p"}, 2, "did you mean 'square'?");
  expect_refused({"data", "plant", "square", "photos", "--out", "p", "corelation=1"}, 2, "did you mean 'correlation'?");
  expect_refused({"data", "plant", "square", "photos", "--out", "photos/p"}, 2, "is inside the data folder");
  EXPECT_FALSE(fs::exists("b.csv"));
  EXPECT_FALSE(fs::exists("p"));
  std::ofstream("c.csv") << "path,site\nheron/999.jpg,a\n";
  expect_refused({"audit", "photos", "--labels", "c.csv"}, 3, "has no row for any image");
}

}  // namespace audit_cli_test
}  // namespace debias
