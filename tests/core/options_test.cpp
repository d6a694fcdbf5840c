#include "debias/core/options.h"

#include <gtest/gtest.h>

#include "debias/core/config.h"
#include "tests/support/refusals.h"

namespace debias {
enum class Colour { kRed, kBlue };
template <>
struct EnumNames<Colour> {
  static constexpr std::array<std::pair<std::string_view, Colour>, 2> values = {{{"red", Colour::kRed}, {"blue", Colour::kBlue}}};
};

namespace {

class PaintOptions {
 public:
  DEBIAS_OPTION(PaintOptions, double, thickness, 0.5)
  DEBIAS_OPTION(PaintOptions, int64_t, coats, 2)
  DEBIAS_OPTION(PaintOptions, Colour, colour, Colour::kRed)
  DEBIAS_OPTION(PaintOptions, Auto<int64_t>, threads, {})
  DEBIAS_OPTION(PaintOptions, std::optional<double>, gloss, std::nullopt)
  DEBIAS_OPTION(PaintOptions, std::vector<double>, mix, {1, 2})
  static const OptionTable<PaintOptions>& table() {
    static const auto table = OptionTable<PaintOptions>()
                                  .add("thickness", &PaintOptions::thickness_, Range::half_open(0, 1), "in mm")
                                  .add("coats", &PaintOptions::coats_, Range::at_least(1), "how many")
                                  .add("colour", &PaintOptions::colour_, "which")
                                  .add("threads", &PaintOptions::threads_, "of the brush")
                                  .add("gloss", &PaintOptions::gloss_, Range::closed(0, 1), "of the surface")
                                  .add("mix", &PaintOptions::mix_, Range::at_least(0), "parts")
                                  .with_variants()
                                  .variant("authors", "coats", "7");
    return table;
  }
};

PaintOptions read(const std::string& yaml) { return PaintOptions::table().read(parse_yaml(yaml, "r.yaml"), "paint"); }

std::string message(const std::string& yaml) {
  return usage_error_of([&] { read(yaml); });
}

TEST(Options, DefaultsComeFromTheStruct) {
  const PaintOptions options = read("{}");
  EXPECT_EQ(options.thickness(), 0.5);
  EXPECT_FALSE(options.threads().has_value());
  EXPECT_EQ(PaintOptions::table().specs()[0].default_value.text(), "0.5");
}

TEST(Options, ReadsEveryType) {
  const PaintOptions options = read("{thickness: .25, coats: 3, colour: blue, threads: 4, gloss: 1e-1, mix: [3, 4.5]}");
  EXPECT_EQ(options.thickness(), 0.25);
  EXPECT_EQ(options.coats(), 3);
  EXPECT_EQ(options.colour(), Colour::kBlue);
  EXPECT_EQ(*options.threads(), 4);
  EXPECT_EQ(*options.gloss(), 0.1);
  EXPECT_EQ(options.mix(), (std::vector<double>{3, 4.5}));
}

TEST(Options, WritingAndReadingAgain) {
  const PaintOptions options = read("{thickness: .125, colour: blue, gloss: 0.3}");
  const Config written = PaintOptions::table().write(options);
  const PaintOptions again = PaintOptions::table().read(parse_yaml(written.to_yaml(), "again"), "paint");
  EXPECT_EQ(PaintOptions::table().write(again), written);
}

TEST(Options, UnknownKeyNamesFileLineAndNearest) {
  EXPECT_EQ(message("coats: 1\nthicknes: 0.5"), "r.yaml:2: paint: unknown option 'thicknes'; did you mean 'thickness'?");
}

TEST(Options, RangeIsNamed) {
  EXPECT_EQ(message("thickness: 1"), "r.yaml:1: paint: thickness: 1 is out of range; give a value in [0, 1)");
  EXPECT_EQ(message("coats: 0"), "r.yaml:1: paint: coats: 0 is out of range; give a value that is >= 1");
  EXPECT_EQ(message("mix: [1, -1]"), "r.yaml:1: paint: mix: -1 is out of range; give a value that is >= 0");
}

TEST(Options, WrongTypesAreRefused) {
  EXPECT_EQ(message("coats: 1.5"), "r.yaml:1: paint: coats: expected an integer, found 1.5");
  EXPECT_EQ(message("thickness: thin"), "r.yaml:1: paint: thickness: expected a number, found thin");
  EXPECT_EQ(message("thickness: nan"), "r.yaml:1: paint: thickness: expected a number, found nan");
  EXPECT_EQ(message("colour: blu"), "r.yaml:1: paint: colour: unknown value 'blu'; did you mean 'blue'?");
  EXPECT_EQ(message("[1]"), "r.yaml:1: paint: expected options as a map, found [1]");
}

class VarnishOptions {
 public:
  DEBIAS_OPTION(VarnishOptions, int64_t, coats, 2)
  VarnishOptions& colour(Colour chosen) {
    colour_ = chosen;
    return *this;
  }
  Colour colour() const { return colour_.value_or(coats() > 2 ? Colour::kBlue : Colour::kRed); }
  std::optional<Colour> colour_;
  static const OptionTable<VarnishOptions>& table() {
    static const auto table = OptionTable<VarnishOptions>()
                                  .add("coats", &VarnishOptions::coats_, Range::at_least(1), "how many")
                                  .add_dependent<Colour>(
                                      "colour", [](const VarnishOptions& options) { return options.colour(); },
                                      [](VarnishOptions& options, Colour colour) { options.colour(colour); }, "red for up to two coats");
    return table;
  }
};

TEST(Options, ADefaultMayFollowFromOtherOptions) {
  const auto& table = VarnishOptions::table();
  const auto colour = [&](const std::string& yaml) {
    const VarnishOptions options = table.read(parse_yaml(yaml, "r.yaml"), "varnish");
    return table.write(options).find("colour")->text();
  };
  EXPECT_EQ(colour("{}"), "red");
  EXPECT_EQ(colour("{coats: 3}"), "blue");
  EXPECT_EQ(colour("{coats: 3, colour: red}"), "red");
  EXPECT_EQ(table.specs()[1].default_value.text(), "red");
  EXPECT_EQ(table.specs()[1].type, "word");
  EXPECT_EQ(table.specs()[1].choices, (std::vector<std::string>{"red", "blue"}));
}

TEST(Options, VariantSetsDefaultsOnly) {
  EXPECT_EQ(read("variant: authors").coats(), 7);
  EXPECT_EQ(read("{coats: 3, variant: authors}").coats(), 3);
  EXPECT_EQ(read("variant: stable").coats(), 2);
  EXPECT_EQ(read("variant: default").coats(), 2);
  EXPECT_EQ(read("variant: original_code").coats(), 7);
  EXPECT_EQ(read("variant: original-code").coats(), 7);
  EXPECT_EQ(message("variant: author"), "r.yaml:1: paint: variant: unknown value 'author'; did you mean 'authors'?");
}

TEST(Options, VerifyChecksAStructMadeInCode) {
  EXPECT_THROW(PaintOptions::table().verify(PaintOptions().thickness(2), "paint"), Error);
  EXPECT_NO_THROW(PaintOptions::table().verify(PaintOptions().thickness(0), "paint"));
}

TEST(Config, DuplicateKeysAreRefused) {
  EXPECT_EQ(usage_error_of([] { parse_yaml("a: 1\nb: 2\na: 3", "r.yaml"); }), "r.yaml:3: key 'a' is given twice; keep one");
}

TEST(Config, WhatIsNotUtf8IsRefused) {
  const auto taken = [](const std::string& text) { return parse_yaml(text, "r.yaml").to_json().dump(); };
  const auto refusal = [&](const std::string& text) { return usage_error_of([&] { taken(text); }); };
  EXPECT_EQ(refusal("a: 1\nb: caf\xe9"), "r.yaml:2: \"caf\\ufffd\" is not UTF-8; write it in UTF-8");
  EXPECT_EQ(refusal("a: {caf\x9a: 1}"), "r.yaml:1: \"caf\\ufffd\" is not UTF-8; write it in UTF-8");
  EXPECT_NO_THROW(taken("a: caf\xc3\xa9"));
  Config config = parse_yaml("a: 1", "r.yaml");
  EXPECT_THROW(config.assign("a=caf\xe9"), Error);
}

TEST(Config, CommandLineWordsOverlayTheRecipe) {
  Config config = parse_yaml("optimizer: {name: adam, learning_rate: 1}\nobjective:\n  - {name: a}\n  - {name: b}", "r.yaml");
  config.assign("optimizer.learning_rate=1e-3");
  config.assign("objective[1].weight=2");
  config.assign("objective.0.betas=[1, 2]");
  config.assign("train.epochs=3");
  EXPECT_EQ(
      config.to_json().dump(),
      R"({"optimizer":{"name":"adam","learning_rate":0.001},"objective":[{"name":"a","betas":[1,2]},{"name":"b","weight":2}],"train":{"epochs":3}})");
}

TEST(Config, EntryZeroOfASectionWithoutAListIsTheSection) {
  Config config = parse_yaml("objective: {name: infonce, temperature: 0.5}\nschedule: {values: {0: 1, 5: 2}}\n", "r.yaml");
  config.assign("objective.0.temperature=0.1");
  EXPECT_EQ(config.find("objective")->find("temperature")->text(), "0.1");
  config.assign("schedule.values.0=3");  // a key that is a number stays one
  EXPECT_EQ(config.find("schedule")->find("values")->find("0")->text(), "3");
  Config word = parse_yaml("objective: infonce\n", "r.yaml");
  word.assign("objective[0].temperature=0.2");
  EXPECT_EQ(word.find("objective")->find("temperature")->text(), "0.2");
  EXPECT_EQ(word.find("objective")->find("name")->text(), "infonce");
}

TEST(Config, TextThatLooksLikeANumberStaysText) {
  Config config = Config::map();
  config.set("name", Config::string("007"));
  config.set("other", Config::string("true"));
  const Config again = parse_yaml(config.to_yaml(), "x");
  EXPECT_EQ(again.to_json().dump(), R"({"name":"007","other":"true"})");
}

TEST(Config, HostileYamlIsRefused) {
  EXPECT_THROW(parse_yaml(std::string(200, '[') + std::string(200, ']'), "x"), Error);
  EXPECT_THROW(parse_yaml("a: [1, 2", "x"), Error);
  std::string laughs = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 9; ++i) {
    laughs += fmt::format("a{}: &a{} [*a{}", i, i, i - 1);
    for (int j = 0; j < 9; ++j) laughs += fmt::format(",*a{}", i - 1);
    laughs += "]\n";
  }
  EXPECT_THROW(parse_yaml(laughs, "x"), Error);
}

}  // namespace
}  // namespace debias
