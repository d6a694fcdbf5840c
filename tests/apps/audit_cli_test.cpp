// `debias data plant` and `debias audit` as processes: a shortcut is planted, found, accepted and trained against.
#include <pty.h>

#include <sstream>

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
  EXPECT_THAT(page, ContainsRegex("<summary>[0-9]+ weaker properties</summary>"));
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

// The page of `folder` and the JSON of the same audit; the shares of the classes are counted from the values that --accept writes.
TEST_F(AuditCommand, ThePageHasTheNumbersOfTheJsonAndNeedsNothingElse) {
  plant();
  const auto json =
      json_of(run_debias({"audit", "planted", "--json", "--out", "audit.html", "--accept", "mark, top left", "--bias-out", "b.csv"}));
  EXPECT_EQ(json, json_of(run_debias({"audit", "planted", "--json", "--verbose"}))) << "the text alone is longer";
  const std::string page = file_text("audit.html");
  const auto percent = [](const Json& share) { return fmt::format("{:.0f} %", 100 * share.get<double>()); };
  int64_t shown = 0;
  for (const char* verdict : {"shortcuts", "look"}) {
    for (const Json& finding : json[verdict]) {
      if (++shown > 5) break;
      const std::string sentence = fmt::format("<strong>{} of {} ", percent(finding["in_class"]), finding["class"].get<std::string>());
      const size_t at = page.find(sentence);
      ASSERT_NE(at, std::string::npos) << sentence;
      const std::string strip = page.substr(at, page.find("</section>", at) - at);
      EXPECT_THAT(strip, HasSubstr(", " + percent(finding["elsewhere"]) + " of the others."));
      EXPECT_THAT(strip, HasSubstr(fmt::format("Effect {:.2f}", finding["effect"].get<double>())));
      EXPECT_THAT(strip, HasSubstr(fmt::format("p {:.3f}", finding["p_adjusted"].get<double>())));
      EXPECT_GE(times("<img", strip), 13u) << "six with it, six without it, and the heat map";
    }
  }
  // heron/100.jpg,heron,"colour 246,10,10"
  const std::string value = json["shortcuts"][0]["value"];
  std::map<std::string, std::pair<double, double>> counts;
  std::ifstream csv("b.csv");
  for (std::string line; std::getline(csv, line);) {
    const std::string kind = line.substr(0, line.find('/'));
    if (line.starts_with("path,")) continue;
    ++counts[kind].first;
    counts[kind].second += line.ends_with(value + "\"") || line.ends_with("," + value) ? 1 : 0;
  }
  ASSERT_EQ(counts.size(), 2u);
  for (const auto& [name, count] : counts) {
    const double share = count.second / count.first;
    EXPECT_THAT(page,
                ContainsRegex(fmt::format("<span>{}</span><span class=\"track\"><i( class=\"own\")? style=\"width:{:.1f}%\"></i></span>"
                                          "<span>{:.0f} %</span>",
                                          name, 100 * share, 100 * share)));
  }
  expect_parts(page, {"data:image/"}, {"http:", "https:", "<script", "url(", " src=\"/", "@import"});
  EXPECT_LT(page.size(), 2'000'000u);
}

// What a terminal shows of the command.
std::string on_terminal(const Words& words, const std::map<std::string, std::string>& variables, unsigned short columns = 0) {
  int terminal = -1;
  winsize size{};
  size.ws_col = columns;
  const pid_t process = forkpty(&terminal, nullptr, nullptr, &size);
  if (process == 0) {
    for (const auto& [name, value] : variables) value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> pointers;
    Words all = with({kBinary}, words);
    for (auto& word : all) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  std::string text;
  char piece[4096];
  for (ssize_t count = 0; (count = read(terminal, piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(count));
  close(terminal);
  EXPECT_EQ(exit_of(process), 0) << text;
  return text;
}

TEST_F(AuditCommand, TheTextIsShortAndHasColoursAndBarsOnATerminalThatHasThem) {
  plant();
  const ProcessResult result = done({"audit", "planted"});
  EXPECT_LE(times("\n", result.out), 15u) << result.out;
  EXPECT_THAT(result.out, ContainsRegex("^[0-9]+ shortcuts?: mark, top left"));
  EXPECT_THAT(result.out, Not(HasSubstr("\033")));
  const ProcessResult whole = done({"audit", "planted", "-v"});
  EXPECT_GT(times("\n", whole.out), 40u);
  expect_parts(whole.out, {"in it  elsewhere  effect      p  value\n", "gradient energy", "next: debias init planted"}, {"\033", "█"});
  const std::map<std::string, std::string> colours = {{"NO_COLOR", ""}, {"TERM", "xterm"}, {"LC_ALL", "C.UTF-8"}};
  const std::string shown = on_terminal({"audit", "planted", "-q"}, colours);
  EXPECT_THAT(shown, StartsWith("\033[1;31m"));
  expect_parts(shown, {"heron \033[36m█", "\033[32mnext:\033[0m debias"});
  for (const auto& [name, value] : {std::pair("NO_COLOR", "1"), std::pair("TERM", "dumb")}) {
    auto none = colours;
    none[name] = value;
    expect_parts(on_terminal({"audit", "planted", "-q"}, none), {"mark, top left"}, {"\033", "█"});
  }
  auto plain = colours;
  plain["NO_COLOR"] = "1";
  std::istringstream lines(on_terminal({"audit", "planted", "-q"}, plain, 50));
  std::string unbroken;
  for (std::string line; std::getline(lines, line);) {
    line.pop_back();  // the terminal's carriage return
    if (!line.starts_with("next: ")) {
      EXPECT_LE(line.size(), 50u);
    }
    unbroken += (line.starts_with("  ") && !line.starts_with("   with") ? line.substr(line.find_first_not_of(' ') - 1) : "\n" + line);
  }
  for (const char* part : {"not detectable: half-transparent or tilted marks, and logos on very small images, as shortcuts",
                           "next: debias init planted --labels bias.csv"})
    EXPECT_THAT(unbroken, HasSubstr(part));
  auto ascii = colours;
  ascii["LC_ALL"] = "C";
  expect_parts(on_terminal({"audit", "planted", "-q"}, ascii), {"heron ##"}, {"█"});
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
  expect_parts(found.out,
               {"1 shortcut: column site. 90 % of ape have 0 in column site, 10 % of the others\n200 rows of 2 classes (ape, bee)\n",
                "debias fix --embeddings z.npy --csv c.csv --label kind --bias site --out fixed"});
}

}  // namespace debias::audit_cli_test
