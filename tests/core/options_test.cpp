#include "debias/core/options.h"

#include <gtest/gtest.h>

#include "debias/core/config.h"
#include "tests/support/refusals.h"

namespace debias {
namespace {

enum class Colour { kRed, kBlue };
constexpr auto enum_words(Colour) { return named("red", "blue"); }

struct PaintOptions {
  double thickness = 0.5;
  int64_t coats = 2;
  Colour colour = Colour::kRed;
  Auto<int64_t> threads = {};
  std::optional<double> gloss = {};
  std::vector<double> mix = {1, 2};
  std::vector<Colour> stripes = {};
  void describe(OptionVisitor& o) {
    o("thickness", thickness, Range::half_open(0, 1), "in mm");
    o("coats", coats, Range::at_least(1), "how many");
    o("colour", colour, "which");
    o("threads", threads, "of the brush");
    o("gloss", gloss, Range::closed(0, 1), "of the surface");
    o("mix", mix, Range::at_least(0), "parts");
    o("stripes", stripes, "from the left");
    o.with_variants();
    o.variant("authors", "coats", "7");
    o.check("gloss", [this](const std::string& what) {
      if (gloss && colour == Colour::kBlue && *gloss > 0.5) throw usage_error("{}: gloss: blue has at most 0.5", what);
    });
  }
};

PaintOptions read(const std::string& yaml) { return options_from<PaintOptions>(parse_yaml(yaml, "r.yaml"), "paint"); }

std::string message(const std::string& yaml) {
  return usage_error_of([&] { read(yaml); });
}

TEST(Options, DefaultsComeFromTheStruct) {
  const PaintOptions options = read("{}");
  EXPECT_EQ(options.thickness, 0.5);
  EXPECT_FALSE(options.threads.has_value());
  EXPECT_EQ(option_specs<PaintOptions>()[0].default_value.text(), "0.5");
}

TEST(Options, ReadsEveryType) {
  const PaintOptions options = read("{thickness: .25, coats: 3, colour: blue, threads: 4, gloss: 1e-1, mix: [3, 4.5]}");
  EXPECT_EQ(options.thickness, 0.25);
  EXPECT_EQ(options.coats, 3);
  EXPECT_EQ(options.colour, Colour::kBlue);
  EXPECT_EQ(*options.threads, 4);
  EXPECT_EQ(*options.gloss, 0.1);
  EXPECT_EQ(options.mix, (std::vector<double>{3, 4.5}));
}

TEST(Options, WritingAndReadingAgain) {
  const PaintOptions options = read("{thickness: .125, colour: blue, gloss: 0.3}");
  const Config written = config_of(options);
  const PaintOptions again = options_from<PaintOptions>(parse_yaml(written.to_yaml(), "again"), "paint");
  EXPECT_EQ(config_of(again), written);
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

struct VarnishOptions {
  int64_t coats = 2;
  std::optional<Colour> colour = {};
  void describe(OptionVisitor& o) {
    o("coats", coats, Range::at_least(1), "how many");
    o.dependent("colour", colour, coats > 2 ? Colour::kBlue : Colour::kRed, "red for up to two coats");
  }
};

TEST(Options, ADefaultMayFollowFromOtherOptions) {
  const auto colour = [&](const std::string& yaml) {
    return config_of(options_from<VarnishOptions>(parse_yaml(yaml, "r.yaml"), "varnish")).find("colour")->text();
  };
  EXPECT_EQ(colour("{}"), "red");
  EXPECT_EQ(colour("{coats: 3}"), "blue");
  EXPECT_EQ(colour("{coats: 3, colour: red}"), "red");
  const OptionSpec spec = option_specs<VarnishOptions>()[1];
  EXPECT_EQ(spec.default_value.text(), "red");
  EXPECT_EQ(spec.type, "word");
  EXPECT_EQ(spec.choices, (std::vector<std::string>{"red", "blue"}));
}

struct BoatOptions : VarnishOptions {
  double length = 4;
  void describe(OptionVisitor& o) {
    o("length", length, Range::above(0), "in m");
    VarnishOptions::describe(o);
  }
};

TEST(Options, AStructTakesThoseOfItsBase) {
  EXPECT_EQ(option_names<BoatOptions>(), (std::vector<std::string>{"length", "coats", "colour"}));
  const auto boat = options_from<BoatOptions>(parse_yaml("{coats: 5, length: 7}", "r.yaml"), "boat");
  EXPECT_EQ(boat.length, 7);
  EXPECT_EQ(boat.coats, 5);
}

TEST(Options, VariantSetsDefaultsOnly) {
  EXPECT_EQ(read("variant: authors").coats, 7);
  EXPECT_EQ(read("{coats: 3, variant: authors}").coats, 3);
  EXPECT_EQ(read("variant: stable").coats, 2);
  EXPECT_EQ(read("variant: default").coats, 2);
  EXPECT_EQ(read("variant: original_code").coats, 7);
  EXPECT_EQ(read("variant: original-code").coats, 7);
  EXPECT_EQ(message("variant: author"), "r.yaml:1: paint: variant: unknown value 'author'; did you mean 'authors'?");
}

TEST(Options, RangesAndChecksHoldForAStructMadeInCode) {
  const auto refusal = [](const PaintOptions& options) { return usage_error_of([&] { check_options(options, "paint"); }); };
  EXPECT_EQ(refusal({.thickness = 2}), "paint: thickness: 2 is out of range; give a value in [0, 1)");
  EXPECT_EQ(refusal({.colour = Colour::kBlue, .gloss = 0.75}), "paint: gloss: blue has at most 0.5");
  EXPECT_NO_THROW(check_options(PaintOptions{.thickness = 0}, "paint"));
}

TEST(Options, ACheckOfOneOptionNamesItsLine) {
  EXPECT_EQ(message("colour: blue\n\ngloss: 1"), "r.yaml:3: paint: gloss: blue has at most 0.5");
}

TEST(Options, ListsOfWordsHaveChoices) {
  EXPECT_EQ(config_of(read("{stripes: [blue, red]}")).find("stripes")->to_json().dump(), R"(["blue","red"])");
  EXPECT_EQ(message("stripes: red"), "r.yaml:1: paint: stripes: expected a list such as [red, blue], found red");
  EXPECT_EQ(option_specs<PaintOptions>()[6].type, "list of words");
  EXPECT_EQ(option_specs<PaintOptions>()[6].choices, (std::vector<std::string>{"red", "blue"}));
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
