// Which bias labels are aligned with which class, by each rule, and the names that are refused.
#include "debias/evaluate/alignment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/evaluate/protocols/groups.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace alignment_test {

// Images of 'cat' and 'dog' with these bias labels, in turns; named blue, green, red.
std::shared_ptr<ToyDataset> animals(const std::vector<std::pair<int64_t, int64_t>>& images, const std::string& name = "image_folder") {
  const auto dataset = std::make_shared<ToyDataset>(std::ssize(images), 2);
  for (size_t i = 0; i < images.size(); ++i) {
    dataset->set_label(static_cast<int64_t>(i), images[i].first);
    dataset->set_bias(static_cast<int64_t>(i), images[i].second);
  }
  dataset->editable_info().name = name;
  dataset->editable_info().class_names = {"cat", "dog"};
  dataset->editable_info().bias_names = {"blue", "green", "red"};
  return dataset;
}

// So many of each that chance plays no part.
std::vector<std::pair<int64_t, int64_t>> often(const std::vector<std::pair<int64_t, int64_t>>& images) {
  std::vector<std::pair<int64_t, int64_t>> all;
  for (int i = 0; i < 100; ++i) all.insert(all.end(), images.begin(), images.end());
  return all;
}

AlignedChoice chosen(const std::string& yaml) {
  return options_from<GroupsOptions>(parse_yaml("{aligned: " + yaml + "}", "run.yaml"), "groups").aligned;
}

Alignment decided(const Dataset& train, const std::string& yaml) { return decide_alignment(train, {&train}, chosen(yaml)); }

TEST(AlignmentMap, KnowsTheSideOfEachPair) {
  const AlignmentMap map({{2}, {0, 1}, {}});
  EXPECT_EQ(map.side(0, 2), Side::kAligned);
  EXPECT_EQ(map.side(0, 0), Side::kConflicting);
  EXPECT_EQ(map.side(1, 1), Side::kAligned);
  EXPECT_EQ(map.side(2, 2), Side::kNeither);
  EXPECT_EQ(map.side(3, 3), Side::kNeither);
  EXPECT_EQ(map.side(kUnknown, 0), Side::kNeither);
  EXPECT_EQ(map.side(0, kUnknown), Side::kNeither);
  EXPECT_EQ(AlignmentMap().side(0, 0), Side::kNeither);
}

TEST(Alignment, ByMajorityIsTheMostFrequentValueInTraining) {
  const auto train = animals(often({{0, 2}, {0, 2}, {0, 1}, {1, 0}, {1, kUnknown}, {kUnknown, 1}}));
  const Alignment alignment = decided(*train, "majority");
  EXPECT_EQ(alignment.map.biases_of_class(), (std::vector<std::vector<int64_t>>{{2}, {0}}));
  EXPECT_EQ(alignment.by, "majority");
  EXPECT_EQ(alignment.biases_of_class, (BiasesOfClass{{"cat", {"red"}}, {"dog", {"blue"}}}));
  EXPECT_DOUBLE_EQ(alignment.share, 0.75);
  EXPECT_TRUE(alignment.notes.empty());
}

TEST(Alignment, OfEquallyFrequentValuesTheLowestIsTakenAndSaid) {
  const Alignment alignment = decided(*animals(often({{0, 2}, {0, 1}, {1, 0}})), "majority");
  EXPECT_EQ(alignment.map.biases_of_class()[0], (std::vector<int64_t>{1}));
  ASSERT_EQ(alignment.notes.size(), 1u);
  EXPECT_EQ(alignment.notes[0],
            "2 bias labels of class 'cat' are equally frequent in training (100 images each); 'green' is taken as aligned");
}

TEST(Alignment, AClassWithoutBiasValuesIsOnNeitherSideAndNamed) {
  const Alignment alignment = decided(*animals({{0, 2}, {1, kUnknown}}), "majority");
  EXPECT_EQ(alignment.map.side(1, 0), Side::kNeither);
  ASSERT_EQ(alignment.notes.size(), 1u);
  EXPECT_EQ(alignment.notes[0], "no bias label is aligned with 'dog': such images are neither aligned nor conflicting");
}

TEST(Alignment, AutoIsByLabelForDataSetsThatAreNumberedSoAndByMajorityElsewhere) {
  for (const char* name : {"glyphs", "biased_mnist", "corrupted_cifar10", "bffhq"}) {
    const Alignment alignment = decided(*animals({{0, 2}, {1, 2}}, name), "auto");
    EXPECT_EQ(alignment.by, "label");
    EXPECT_EQ(alignment.biases_of_class, (BiasesOfClass{{"cat", {"blue"}}, {"dog", {"green"}}}));
    EXPECT_EQ(alignment.share, 0.0);
  }
  EXPECT_EQ(decided(*animals({{0, 2}, {1, 2}}), "auto").by, "majority");
  EXPECT_EQ(decided(*animals({{0, 2}, {1, 2}}), "label").by, "label");
  EXPECT_EQ(decided(*animals({{0, 2}, {1, 2}}, "glyphs"), "majority").by, "majority");
}

TEST(Alignment, ByNamesTakesOneValueOrSeveral) {
  const Alignment alignment = decided(*animals({{0, 2}, {1, 0}, {1, 1}, {0, 0}}), "{dog: [green, blue], cat: red}");
  EXPECT_EQ(alignment.by, "recipe");
  EXPECT_EQ(alignment.map.biases_of_class(), (std::vector<std::vector<int64_t>>{{2}, {0, 1}}));
  EXPECT_EQ(alignment.biases_of_class, (BiasesOfClass{{"cat", {"red"}}, {"dog", {"blue", "green"}}}));
  EXPECT_DOUBLE_EQ(alignment.share, 0.75);
}

TEST(Alignment, WithoutNamesNumbersAreTheNames) {
  const auto train = animals({{0, 2}, {1, 0}});
  train->editable_info().class_names.clear();
  train->editable_info().bias_names.clear();
  EXPECT_EQ(decided(*train, "{0: 2, 1: [0, 1]}").biases_of_class, (BiasesOfClass{{"0", {"2"}}, {"1", {"0", "1"}}}));
  EXPECT_EQ(usage_error_of([&] { decided(*train, "{0: 3}"); }), "run.yaml:1: groups: aligned: unknown bias label '3'; did you mean '0'?");
}

TEST(Alignment, ATrainingSetWithoutBiasValuesHasNoMajorityAndTakesTheNamesOfTheEvaluated) {
  const auto train = animals({{0, kUnknown}, {1, kUnknown}}), evaluated = animals({{0, 1}, {1, 0}});
  train->editable_info().bias_names.clear();
  const Alignment none = decide_alignment(*train, {evaluated.get()}, chosen("majority"));
  EXPECT_TRUE(none.map.empty());
  EXPECT_EQ(none.by, "none");
  EXPECT_TRUE(std::isnan(none.share));
  ASSERT_EQ(none.notes.size(), 1u);
  EXPECT_EQ(none.notes[0],
            "the training set has no bias labels, so none is aligned with a class; give groups.aligned: {class: bias label}");
  EXPECT_EQ(decide_alignment(*train, {evaluated.get()}, chosen("{cat: red, dog: blue}")).map.side(0, 2), Side::kAligned);
  EXPECT_TRUE(decide_alignment(*train, {train.get()}, chosen("majority")).notes.empty());
}

TEST(Alignment, OfATrainingSetWithoutBiasValuesIsByTheNamesOfEachEvaluatedSet) {
  const auto train = animals({{0, kUnknown}, {1, kUnknown}}), valid = animals({{0, 1}, {1, 0}}), test = animals({{0, 1}, {1, 0}});
  train->editable_info().bias_names.clear();
  test->editable_info().bias_names = {"blue", "red"};
  const Alignment alignment = decide_alignment(*train, {test.get(), valid.get()}, chosen("{cat: red, dog: green}"));
  ASSERT_EQ(alignment.evaluated.size(), 2u);
  EXPECT_EQ(alignment.evaluated[0].side(0, 1), Side::kAligned);  // red
  EXPECT_EQ(alignment.evaluated[1].side(0, 2), Side::kAligned);  // red
  EXPECT_EQ(alignment.evaluated[1].side(0, 1), Side::kConflicting);
  EXPECT_EQ(alignment.evaluated[1].side(1, 1), Side::kAligned);      // green
  EXPECT_EQ(alignment.evaluated[0].side(1, 1), Side::kConflicting);  // test has no green
  EXPECT_EQ(alignment.biases_of_class, (BiasesOfClass{{"cat", {"red"}}, {"dog", {"green"}}}));
}

TEST(Alignment, SaysWhereOneBiasValueIsTheMostFrequentOfEveryClass) {
  const Alignment alignment = decided(*animals(often({{0, 2}, {0, 2}, {0, 2}, {0, 0}, {1, 2}, {1, 2}, {1, 2}, {1, 0}})), "majority");
  EXPECT_DOUBLE_EQ(alignment.share, 0.75);
  EXPECT_DOUBLE_EQ(alignment.share_by_chance, 0.75);
  ASSERT_EQ(alignment.notes.size(), 1u);
  EXPECT_EQ(alignment.notes[0],
            "'red' is the most frequent bias label of every class in training: aligned_acc and conflicting_acc separate it from the other "
            "values, and no shortcut from its opposite");
}

TEST(Alignment, SaysWhereNoMoreImagesAreAlignedThanByChance) {
  std::vector<std::pair<int64_t, int64_t>> images = often({{0, 0}, {0, 2}, {1, 0}, {1, 2}});
  images.emplace_back(0, 0);
  images.emplace_back(1, 2);
  const Alignment alignment = decided(*animals(images), "majority");
  EXPECT_DOUBLE_EQ(alignment.share, 202.0 / 402);
  EXPECT_DOUBLE_EQ(alignment.share_by_chance, 0.5);
  ASSERT_EQ(alignment.notes.size(), 1u);
  EXPECT_EQ(alignment.notes[0],
            "0.502 of the training images are aligned, and 0.500 would be by chance: no bias label is associated with a class beyond the "
            "noise of "
            "402 images");
  EXPECT_TRUE(decided(*animals(images), "{cat: blue, dog: red}").notes.empty());
}

TEST(Alignment, ClassesWithoutATrainingImageAreNotNoted) {
  const auto train = animals(often({{1, 0}, {2, 1}}));
  train->editable_info().class_names.clear();
  EXPECT_TRUE(decided(*train, "majority").notes.empty());
}

TEST(Alignment, RefusesNamesThatAreNotKnownAndFormsThatAreNone) {
  const auto train = animals({{0, 2}, {1, 0}});
  const auto refused = [&](const std::string& yaml) { return usage_error_of([&] { decided(*train, yaml); }); };
  EXPECT_EQ(refused("{cta: red}"), "run.yaml:1: groups: aligned: unknown class 'cta'; did you mean 'cat'?");
  EXPECT_EQ(refused("{cat: [blue, gren]}"), "run.yaml:1: groups: aligned: unknown bias label 'gren'; did you mean 'green'?");
  EXPECT_EQ(refused("majorty"), "run.yaml:1: groups: aligned: unknown value 'majorty'; did you mean 'majority'?");
  EXPECT_NE(refused("[red]").find("expected auto, majority, label, none or a map such as {cat: red, dog: [blue, green]}"),
            std::string::npos);
  EXPECT_NE(refused("{}").find("expected auto, majority"), std::string::npos);
  EXPECT_NE(refused("{cat: []}").find("aligned: cat: expected a bias label or a list of them"), std::string::npos);
  EXPECT_NE(refused("{cat: {dog: red}}").find("expected a bias label or a list of them"), std::string::npos);
}

TEST(Alignment, AsAnOptionIsWrittenAsItWasRead) {
  for (const char* yaml : {"auto", "majority", "label", "none", "{cat: red, dog: [blue, green]}"}) {
    const Config written = config_of(GroupsOptions{.aligned = chosen(yaml)});
    EXPECT_EQ(*written.find("aligned"), parse_yaml(yaml, "")) << yaml;
  }
}

}  // namespace alignment_test
}  // namespace debias
