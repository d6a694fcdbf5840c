// Hand-worked configurations, a naive double loop over pairs, and the protocol on the toy.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/philox.h"
#include "debias/evaluate/alignment.h"
#include "debias/evaluate/protocols/geometry.h"
#include "debias/evaluate/protocols/groups.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace geometry_test {

using testing::HasSubstr;

at::Tensor random_rows(int64_t n, int64_t d, uint64_t seed) {
  Random random({.domain = RngDomain::kTest, .seed = seed});
  at::Tensor rows = at::empty({n, d}, at::kFloat);
  for (int64_t i = 0; i < n * d; ++i) rows.mutable_data_ptr<float>()[i] = static_cast<float>(random.normal());
  return rows;
}

TEST(Geometry, AlignmentIsTheMeanSquaredDistanceOfUnitViews) {
  const at::Tensor first = at::tensor({2.f, 0.f, 0.f, 1.f}).view({2, 2}), second = at::tensor({0.f, 3.f, 0.f, 5.f}).view({2, 2});
  EXPECT_NEAR(alignment(first, second), 1, 1e-7);  // (2 + 0) / 2
  EXPECT_EQ(alignment(first, first), 0);
  EXPECT_EQ(data_error_of([&] { alignment(first, second.narrow(0, 0, 1)); }),
            "alignment: 2 first and 1 second views; give two of each image");
}

TEST(Geometry, RankmeCountsTheDirectionsInUse) {
  EXPECT_NEAR(rankme(at::eye(5, at::kFloat) * 3), 5, 1e-4);
  EXPECT_NEAR(rankme(at::ones({6, 4})), 1, 1e-4);
  EXPECT_NEAR(rankme(at::eye(5, at::kFloat).narrow(0, 0, 3)), 3, 1e-4);  // fewer rows than dimensions
  const at::Tensor two = at::tensor({3.f, 0.f, 0.f, 1.f}).view({2, 2});  // p = 3/4, 1/4
  EXPECT_NEAR(rankme(two), std::exp(-(0.75 * std::log(0.75) + 0.25 * std::log(0.25))), 1e-5);
}

TEST(Geometry, StandardDeviationIsZeroWhenCollapsedAndOneOverRootDWhenSpread) {
  EXPECT_NEAR(std_of_l2_normalized(at::ones({6, 4})), 0, 1e-7);
  EXPECT_NEAR(std_of_l2_normalized(random_rows(4000, 16, 1)), 0.25, 0.005);
  // z = (1, 0), (0, 1): each dimension has standard deviation sqrt(1/2).
  EXPECT_NEAR(std_of_l2_normalized(at::tensor({4.f, 0.f, 0.f, 2.f}).view({2, 2})), std::sqrt(0.5), 1e-6);
}

TEST(Geometry, PairsEqualANaiveDoubleLoop) {
  const int64_t N = 300, bins = 8;  // more than one block
  const at::Tensor rows = random_rows(N, 5, 2);
  Random random({.domain = RngDomain::kTest, .seed = 3});
  std::vector<int64_t> labels, biases;
  for (int64_t i = 0; i < N; ++i) {
    labels.push_back(random.below(4) - (i % 50 == 0 ? 4 : 0) < 0 ? kUnknown : random.below(4));
    biases.push_back(i % 70 == 0 ? kUnknown : random.below(3));
  }
  const at::Tensor z = (rows / at::linalg_vector_norm(rows, 2, {1}, true)).contiguous();
  const float* value = z.const_data_ptr<float>();
  double potential = 0;
  std::map<std::string, std::vector<double>> cosines;
  for (int64_t i = 0; i < N; ++i) {
    for (int64_t j = i + 1; j < N; ++j) {
      double cosine = 0, distance = 0;
      for (int64_t d = 0; d < 5; ++d) {
        cosine += value[i * 5 + d] * value[j * 5 + d];
        distance += std::pow(value[i * 5 + d] - value[j * 5 + d], 2);
      }
      potential += std::exp(-2 * distance);
      if (labels[i] == kUnknown || labels[j] == kUnknown || biases[i] == kUnknown || biases[j] == kUnknown) continue;
      cosines[std::string(labels[i] == labels[j] ? "positive_" : "negative_") + (biases[i] == biases[j] ? "aligned" : "conflicting")]
          .push_back(cosine);
    }
  }
  const PairGeometry found = pair_geometry(rows, labels, biases, bins);
  EXPECT_NEAR(found.uniformity, std::log(potential / (N * (N - 1) / 2.0)), 1e-6);
  ASSERT_EQ(found.distributions.size(), 4u);
  for (const auto& [name, list] : cosines) {
    const SimilarityHistogram& distribution = found.distributions.at(name);
    EXPECT_EQ(distribution.pairs, static_cast<int64_t>(list.size())) << name;
    double mean = 0, squares = 0;
    for (const double c : list) mean += c / static_cast<double>(list.size());
    for (const double c : list) squares += (c - mean) * (c - mean) / static_cast<double>(list.size());
    EXPECT_NEAR(distribution.mean, mean, 1e-6) << name;
    EXPECT_NEAR(distribution.std, std::sqrt(squares), 1e-6) << name;
    std::vector<int64_t> histogram(static_cast<size_t>(bins));
    for (const double c : list) ++histogram[std::min<int64_t>(bins - 1, static_cast<int64_t>((c + 1) / 2 * bins))];
    for (int64_t b = 0; b < bins; ++b) EXPECT_NEAR(distribution.histogram[b], histogram[b], 1) << name;  // a cosine at an edge may round
  }
}

TEST(Geometry, WithoutBiasValuesThereAreTwoSets) {
  const PairGeometry found = pair_geometry(at::eye(3, at::kFloat), {0, 0, 1}, {kUnknown, kUnknown, kUnknown}, 4);
  ASSERT_EQ(found.distributions.size(), 2u);
  EXPECT_EQ(found.distributions.at("positive").pairs, 1);
  EXPECT_EQ(found.distributions.at("negative").pairs, 2);
  EXPECT_NEAR(found.uniformity, -4, 1e-9);  // all at right angles
  const PairGeometry alone = pair_geometry(at::eye(2, at::kFloat), {0, 1}, {0, 1}, 4);
  EXPECT_TRUE(std::isnan(alone.distributions.at("positive_aligned").mean));
}

TEST(Geometry, RefusesTooFewRowsLengthsThatDifferAndRowsThatAreNotFinite) {
  using Labels = std::vector<int64_t>;
  const auto refusal = [](int64_t rows, const Labels& labels, const Labels& biases) {
    return data_error_of([&] { pair_geometry(at::ones({rows, 2}), labels, biases, 4); });
  };
  EXPECT_EQ(refusal(1, {0}, {0}), "geometry: 1 rows; it needs at least two");
  EXPECT_EQ(refusal(2, {0}, {0, 1}), "geometry: 2 rows and 1 labels; give one label per row");
  EXPECT_EQ(refusal(2, {0, 1}, {0}), "geometry: 2 rows and 1 bias labels; give one per row");
  const at::Tensor unknown = at::full({2, 2}, NAN);
  EXPECT_EQ(error_of(ErrorKind::kNumeric, [&] { rankme(unknown); }), "rankme: a row is not finite; check the encoder's weights");
}

std::shared_ptr<ToyDataset> biased(int64_t size, const std::string& split, int64_t shift) {
  const auto dataset = std::make_shared<ToyDataset>(size, 3, split);
  for (int64_t i = 0; i < size; ++i) dataset->set_bias(i, (i + shift) % 3);
  return dataset;
}

TEST(GeometryProtocol, ReportsEveryMetricAndTheProbeReadsTheBias) {
  EvaluationInput input = toy_input();
  input.train = biased(60, "train", 0);
  input.test = biased(31, "test", 0);
  input.train_views = read_views(options("{preset: sim32, random_resized_crop: {size: 6}}"));
  const EvaluationResult result = evaluated(input, "geometry", "{bins: 10}");
  EXPECT_GT(result.metrics.at("test.alignment"), 0);
  EXPECT_LT(result.metrics.at("test.uniformity"), 0);
  EXPECT_GT(result.metrics.at("test.rankme"), 1);
  EXPECT_GT(result.metrics.at("test.std_of_l2_normalized"), 0);
  EXPECT_EQ(result.metrics.at("test.bias_probe_acc1"), 1);
  EXPECT_NEAR(result.metrics.at("test.bias_majority_rate"), 11.0 / 31, 1e-12);
  EXPECT_NEAR(result.metrics.at("test.bias_uniform_rate"), 1.0 / 3, 1e-12);
  EXPECT_EQ(details(result)["bias_probe"]["converged"], true);
  EXPECT_TRUE(result.notes.empty());
  const auto similarity = details(result)["similarity"]["test"];
  EXPECT_EQ(similarity["positive_aligned"]["histogram"].size(), 10u);
  EXPECT_EQ(similarity["positive_conflicting"]["pairs"], 0);
  EXPECT_TRUE(similarity["positive_conflicting"]["mean"].is_null());
}

TEST(GeometryProtocol, ViewsThatChangeNothingAlignPerfectlyAndFewSamplesAreDrawnBySeed) {
  EvaluationInput input = toy_input();
  input.train_views = read_views(options("{preset: none}"));
  const auto at_seed = [&](int seed) { return evaluated(input, "geometry", fmt::format("{{samples: 7, seed: {}}}", seed)).metrics; };
  EXPECT_NEAR(at_seed(1).at("test.alignment"), 0, 1e-12);
  EXPECT_EQ(at_seed(1), at_seed(1));
  EXPECT_NE(at_seed(1), at_seed(2));
}

// The bias is a channel that hardly varies beside two that do: ten times weaker than what the features are made of, and yet linear.
TEST(GeometryProtocol, ReadsABiasThatIsWeakInTheFeatures) {
  Random random({.domain = RngDomain::kTest, .seed = 5});
  Features train;
  train.values = random_rows(600, 4, 6) * 10;
  for (int64_t i = 0; i < 600; ++i) {
    train.biases.push_back(i % 2 == 0 ? 3 : 7);
    train.values[i][2] = 50 + 1e-3 * static_cast<double>(i % 2) + 1e-4 * random.normal();
  }
  const auto probe = fit_bias_probe(train, 1000, Progress::silent());
  ASSERT_TRUE(probe.has_value());
  EXPECT_TRUE(probe->fit.converged);
  EXPECT_EQ(probe->values, (std::vector<int64_t>{3, 7}));
  EXPECT_EQ(probe->majority, 3);
  EXPECT_GT(read_bias(*probe, train).accuracy, 0.99);
}

TEST(GeometryProtocol, SaysThatTheBiasProbeHasNotConverged) {
  EvaluationInput input = toy_input();
  input.train = biased(60, "train", 0);
  input.test = biased(31, "test", 0);
  const EvaluationResult result = evaluated(input, "geometry", "{probe_iterations: 1}");
  EXPECT_EQ(details(result)["bias_probe"]["converged"], false);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_TRUE(result.notes[0].starts_with("geometry: the bias probe has not converged in 1 iterations (largest gradient "))
      << result.notes[0];
}

// Bias labels that training has not seen are read wrongly, and rows without one do not count.
TEST(BiasProbe, CountsWhatItIsEvaluatedOn) {
  Features train;
  train.values = at::eye(4, at::kFloat);
  train.biases = {5, 5, 2, kUnknown};
  const auto probe = fit_bias_probe(train, 1000, Progress::silent());
  ASSERT_TRUE(probe.has_value());
  EXPECT_EQ(probe->values, (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(probe->majority, 5);
  train.biases = {5, 3, 2, kUnknown};
  const BiasReading reading = read_bias(*probe, train);
  EXPECT_EQ(reading.known, 3);
  EXPECT_DOUBLE_EQ(reading.accuracy, 2.0 / 3);
  EXPECT_DOUBLE_EQ(reading.majority_rate, 1.0 / 3);
  EXPECT_DOUBLE_EQ(reading.uniform_rate, 0.5);
}

TEST(GeometryProtocol, SaysWhyThereIsNoBiasProbe) {
  const EvaluationResult result = evaluated(toy_input(), "geometry", "{samples: 10}");
  EXPECT_FALSE(result.metrics.contains("test.bias_probe_acc1"));
  EXPECT_EQ(result.notes.at(0), "geometry: the training set has fewer than two bias labels, so no bias_probe_acc1");
  EXPECT_TRUE(evaluated(toy_input(), "geometry", "{samples: 10, bias_probe: false}").notes.empty());
}

// Which bias labels are aligned with which class, by each rule, and the names that are refused.

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
  const Alignment alignment = decided(*animals(often({{0, 2}, {0, 1}, {1, 2}, {1, 1}, {1, 1}})), "majority");
  EXPECT_EQ(alignment.map.biases_of_class()[0], (std::vector<int64_t>{1}));
  ASSERT_FALSE(alignment.notes.empty());
  EXPECT_EQ(alignment.notes[0],
            "2 bias labels of class 'cat' are equally frequent in training (100 images each); 'green' is taken as aligned");
}

TEST(Alignment, SeveralValuesThatSpeakForAClassAreAlignedAndUnseenOnesOnNeitherSide) {
  const auto train = animals(often({{0, 2}, {0, 1}, {0, 1}, {1, 0}, {1, 0}})), test = animals({{0, 0}, {0, 1}, {1, 1}, {1, 3}});
  train->editable_info().bias_names = {"blue", "green", "red", "white"};
  test->editable_info().bias_names = {"blue", "white", "red", "green"};
  const Alignment alignment = decide_alignment(*train, {test.get()}, chosen("majority"));
  EXPECT_EQ(alignment.biases_of_class, (BiasesOfClass{{"cat", {"green", "red"}}, {"dog", {"blue"}}}));
  EXPECT_TRUE(alignment.notes.empty());
  EXPECT_EQ(alignment.evaluated[0].side(0, 3), Side::kAligned);
  EXPECT_EQ(alignment.evaluated[0].side(0, 0), Side::kConflicting);
  EXPECT_EQ(alignment.evaluated[0].side(0, 1), Side::kNeither);  // white
  EXPECT_EQ(alignment.evaluated[0].side(1, 1), Side::kNeither);
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
  EXPECT_THAT(refused("[red]"), HasSubstr("expected auto, majority, label, none or a map such as {cat: red, dog: [blue, green]}"));
  EXPECT_THAT(refused("{}"), HasSubstr("expected auto, majority"));
  EXPECT_THAT(refused("{cat: []}"), HasSubstr("aligned: cat: expected a bias label or a list of them"));
  EXPECT_THAT(refused("{cat: {dog: red}}"), HasSubstr("expected a bias label or a list of them"));
}

TEST(Alignment, AsAnOptionIsWrittenAsItWasRead) {
  for (const char* yaml : {"auto", "majority", "label", "none", "{cat: red, dog: [blue, green]}"}) {
    const Config written = config_of(GroupsOptions{.aligned = chosen(yaml)});
    EXPECT_EQ(*written.find("aligned"), parse_yaml(yaml, "")) << yaml;
  }
}

}  // namespace geometry_test
}  // namespace debias
