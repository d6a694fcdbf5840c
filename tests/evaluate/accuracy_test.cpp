// Accuracy, confusion, areas under curves and what is computed of classes' means.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/philox.h"
#include "debias/evaluate/accuracy.h"
#include "debias/evaluate/condition.h"
#include "debias/evaluate/protocols/groups.h"
#include "debias/evaluate/protocols/macro_auc.h"
#include "debias/evaluate/protocols/mean_classifier.h"
#include "tests/evaluate/toy.h"
#include "tests/support/refusals.h"

namespace debias {
namespace accuracy_test {

TEST(LabelRank, CountsTheClassesThatScoreHigherAndOfEqualOnesTheLower) {
  const std::vector<double> scores = {1, 5, 5, 0};
  EXPECT_EQ(label_rank(scores, 1), 0);
  EXPECT_EQ(label_rank(scores, 2), 1);
  EXPECT_EQ(label_rank(scores, 0), 2);
  EXPECT_EQ(label_rank(scores, 3), 3);
  EXPECT_EQ(label_rank(scores, kUnknown), kUnranked);
}

TEST(LabelRank, ReadsRowsOfATensorThatIsNotContiguous) {
  const at::Tensor scores = at::tensor({1.f, 2.f, 3.f, 9.f, 5.f, 4.f}).view({3, 2}).t();  // rows {1, 3, 5}, {2, 9, 4}
  EXPECT_EQ(label_ranks(scores, {0, 2}), (std::vector<int64_t>{2, 1}));
}

TEST(Accuracy, IsTheShareOfRankedSamplesWithinK) {
  const std::vector<int64_t> ranks = {0, 1, 4, 5, kUnranked};
  EXPECT_DOUBLE_EQ(accuracy_within(ranks, 1), 0.25);
  EXPECT_DOUBLE_EQ(accuracy_within(ranks, 5), 0.75);
  EXPECT_TRUE(std::isnan(accuracy_within({kUnranked}, 1)));
}

TEST(SideAccuracy, SplitsByTheBiasValuesOfTheClass) {
  std::map<std::string, double> metrics;
  const AlignmentMap alignment({{2}, {0, 1}, {}});
  //                                    class 0: conflicting, aligned wrong; class 1: aligned right, right; unknown bias; class 2: neither
  add_side_accuracy("test", {0, 3, 0, 0, 1, 1}, {0, 0, 1, 1, 1, 2}, {0, 2, 0, 1, kUnknown, 2}, alignment, metrics);
  EXPECT_DOUBLE_EQ(metrics.at("test.aligned_acc"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(metrics.at("test.conflicting_acc"), 1);
}

TEST(SideAccuracy, ASideWithoutSamplesHasNoMetric) {
  std::map<std::string, double> metrics;
  add_side_accuracy("test", {0, 0}, {0, 1}, {0, kUnknown}, AlignmentMap::by_label(2), metrics);
  EXPECT_EQ(metrics, (std::map<std::string, double>{{"test.aligned_acc", 1}}));
  metrics.clear();
  add_side_accuracy("test", {0, 0}, {0, 1}, {0, 0}, AlignmentMap(), metrics);
  EXPECT_TRUE(metrics.empty());
}

TEST(Classes, AreNamedOrCountedWhicheverIsMore) {
  ToyDataset named(9, 3);
  EXPECT_EQ(count_classes(named, "knn"), 3);
  named.editable_info().class_names.clear();
  EXPECT_EQ(count_classes(named, "knn"), 3);
  named.set_label(2, 7);
  EXPECT_EQ(count_classes(named, "knn"), 8);
}

TEST(Classes, OneClassOrNoLabelsIsADataError) {
  ToyDataset data(4, 2);
  for (int i = 0; i < 4; ++i) data.set_label(i, 1);
  EXPECT_EQ(data_error_of([&] { count_classes(data, "knn"); }),
            "knn: all labels of split 'train' of toy are of class 1 ('class1'); it needs at least two classes");
  data.set_label(0, kUnknown);
  EXPECT_EQ(data_error_of([&] { count_classes(data, "knn"); }),
            "knn: all labels of split 'train' of toy are of class 1 ('class1'), and 1 of its 4 images have no label; it needs at least two "
            "classes");
  for (int i = 0; i < 4; ++i) data.set_label(i, kUnknown);
  EXPECT_EQ(data_error_of([&] { count_classes(data, "linear_dcl"); }),
            "linear_dcl: split 'train' of toy has no labels; it needs a labelled training set");
}

TEST(Labels, OfAnotherClassThanTheTrainingSetsAreADataError) {
  ToyDataset data(4, 2, "test");
  EXPECT_NO_THROW(require_labels(data, 2, "knn"));
  data.set_label(3, 5);
  EXPECT_EQ(data_error_of([&] { require_labels(data, 2, "knn"); }),
            "knn: sample 3 of split 'test' of toy (toy/3.png) is of class 5, the training set has classes 0 to 1");
  for (int i = 0; i < 4; ++i) data.set_label(i, kUnknown);
  EXPECT_EQ(data_error_of([&] { require_labels(data, 2, "knn"); }), "knn: split 'test' of toy has no labels to be evaluated by");
}

// Confusion matrix, classes and rates of bias labels, worked by hand, and who leaves them.

Json table_of(const DatasetInfo& info, const GroupSamples& samples) {
  return group_table_json(group_table(info, count_groups(samples)),
                          class_table(samples.labels, samples.predictions, samples.classes, info.class_names));
}

TEST(Confusion, CountsLabelledImagesByLabelAndPrediction) {
  const Json table = class_table_json(class_table({0, 0, 1, kUnknown, 1}, {0, 1, 1, 2, 1}, 3, {"a", "b"}));
  EXPECT_EQ(table["confusion"].dump(), "[[1,1,0],[0,2,0],[0,0,0]]");
  EXPECT_EQ(table["per_class"].dump(), R"({"a":{"count":2,"predicted":1,"accuracy":0.5},"b":{"count":2,"predicted":3,"accuracy":1.0},)"
                                       R"("2":{"count":0,"predicted":0,"accuracy":null}})");
}

TEST(Confusion, OfVeryManyClassesOnlyTheClassesAreListed) {
  const Json table = class_table_json(class_table({200}, {0}, kLargestConfusion + 1, {}));
  EXPECT_FALSE(table.contains("confusion"));
  EXPECT_EQ(table["per_class"]["200"]["accuracy"], 0.0);
}

// The four cells of group_metrics_test: (0,0) 3 of 4 right, (0,1) 1 of 2, (1,0) 0 of 1, (1,1) 3 of 3; one more of unknown bias label.
TEST(GroupTables, HoldFairlearnsRatesByBiasValueAndClass) {
  const GroupSamples samples{
      {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 1, 1, 0, 1, 1, 1, -1}, {0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0}, 2, 2};
  DatasetInfo info;
  info.class_names = {"cat", "dog"};
  info.bias_names = {"red", "blue"};
  const Json table = table_of(info, samples);
  EXPECT_EQ(table["labels"].dump(), R"(["cat","dog"])");
  EXPECT_EQ(table["count"].dump(), "[[4,2],[1,3]]");
  EXPECT_EQ(table["confusion"].dump(), "[[4,2],[2,3]]");
  EXPECT_EQ(table["per_class"]["dog"]["count"], 5);
  EXPECT_EQ(table["by_bias"]["red"].dump(), R"({"count":5,"accuracy":0.6,"error_rate":0.4,"selection_rate":{"cat":0.8,"dog":0.2},)"
                                            R"("true_positive_rate":{"cat":0.75,"dog":0.0},"false_positive_rate":{"cat":1.0,"dog":0.25},)"
                                            R"("false_negative_rate":{"cat":0.25,"dog":1.0}})");
  EXPECT_EQ(table["by_bias"]["blue"]["false_positive_rate"].dump(), R"({"cat":0.0,"dog":0.5})");
}

TEST(GroupTables, ARateWithoutImagesIsNull) {
  const GroupSamples samples{{0, 0}, {0, 0}, {0, 1}, 2, 2};
  const Json table = table_of({}, samples);
  EXPECT_TRUE(table["by_bias"]["0"]["false_positive_rate"]["0"].is_null());
  EXPECT_TRUE(table["by_bias"]["0"]["true_positive_rate"]["1"].is_null());
  EXPECT_TRUE(table["by_bias"]["1"]["accuracy"].is_null());
  EXPECT_EQ(table["by_bias"]["1"]["count"], 0);
}

TEST(Predictions, OfEveryClassifyingProtocolAreDescribed) {
  const std::string quick = "{epochs: 2, batch_size: 16, views: eval}";
  const std::vector<std::array<std::string, 3>> protocols = {{"knn", "{}", "knn"},
                                                             {"linear_dcl", quick, "linear"},
                                                             {"linear_supcon", quick, "linear"},
                                                             {"linear_features", "{epochs: 2}", "linear"},
                                                             {"mean_classifier", "{}", "mean_classifier"}};
  for (const auto& [name, yaml, whose] : protocols) {
    const EvaluationResult result = evaluated(toy_input(), name, yaml);
    EXPECT_EQ(details(result)["predictions"], whose) << name;
    const auto table = details(result)["by_class"]["test"];
    EXPECT_EQ(table["confusion"].size(), 3u) << name;
    int64_t right = 0;
    for (size_t c = 0; c < 3; ++c) right += table["confusion"][c][c].get<int64_t>();
    int64_t expected = 0;
    for (size_t i = 0; i < 31; ++i) expected += result.predictions.at("test")[i] == static_cast<int64_t>(i) % 3;
    EXPECT_EQ(right, expected) << name;
  }
}

TEST(Condition, HoldsByItsOperator) {
  const auto holds = [](const std::string& text, double value) { return parse_condition(text).holds(value); };
  EXPECT_TRUE(holds("a<0.5", 0.4));
  EXPECT_FALSE(holds("a<0.5", 0.5));
  EXPECT_TRUE(holds("a<=0.5", 0.5));
  EXPECT_FALSE(holds("a<=0.5", 0.6));
  EXPECT_TRUE(holds("a>0.5", 0.6));
  EXPECT_FALSE(holds("a>0.5", 0.5));
  EXPECT_TRUE(holds("a>=0.5", 0.5));
  EXPECT_FALSE(holds("a>=0.5", 0.4));
  EXPECT_TRUE(holds("a==0.5", 0.5));
  EXPECT_FALSE(holds("a == 0.5", 0.6));
}

TEST(Condition, ReadsNameAndNumberAroundBlanks) {
  const Condition condition = parse_condition(" test.knn_acc1  <= 7e-1 ");
  EXPECT_EQ(condition.metric, "test.knn_acc1");
  EXPECT_EQ(condition.threshold, 0.7);
}

TEST(Condition, OtherTextIsRefusedWithAnExample) {
  for (const char* text :
       {"", "knn_acc1", "knn_acc1<", "<0.7", "knn_acc1<x", "knn_acc1=0.7", "knn_acc1!=0.7", "a<70%", "a<inf", "a<nan", "a<1<2"}) {
    EXPECT_EQ(usage_error_of([&] { parse_condition(text); }),
              fmt::format("--fail-if '{}': expected METRIC, one of < <= > >= ==, and a number, e.g. 'test.knn_acc1<0.7'", text));
  }
}

TEST(Condition, SpeaksOfAMetricWithOrWithoutItsSplit) {
  const NamedMetrics all = {{"test.knn_acc1", 0.5}, {"valid.knn_acc1", 0.6}, {"test.knn_acc5", 0.9}};
  EXPECT_EQ(metrics_of(parse_condition("test.knn_acc1<1"), all), (NamedMetrics{all[0]}));
  EXPECT_EQ(metrics_of(parse_condition("knn_acc1<1"), all), (NamedMetrics{all[0], all[1]}));
  EXPECT_EQ(usage_error_of([&] { metrics_of(parse_condition("test.knn_acc2<1"), all); }),
            "--fail-if: unknown metric 'test.knn_acc2'; did you mean 'test.knn_acc1'?");
  EXPECT_THROW(metrics_of(parse_condition("acc1<1"), all), Error);  // part of a name is not a name
}

// Against counting pairs, and by hand.

// Cosines with the anchor (1, 0): 0.8, 0.6, 0.6, 0, -1.
at::Tensor gallery() { return at::tensor({0.8f, 0.6f, 0.6f, 0.8f, 3.f, 4.f, 0.f, 2.f, -1.f, 0.f}).view({5, 2}); }
AucAnchors anchor(int64_t label, int64_t own = kUnknown) { return {at::tensor({7.f, 0.f}).view({1, 2}), {label}, {own}}; }

TEST(MacroAuc, HandExampleWithATie) {
  // Positives 0.8, 0.6; negatives 0.6, 0, -1: of 6 pairs 5 are right and one is a tie.
  EXPECT_NEAR(macro_auc(gallery(), {1, 1, 0, 0, 0}, anchor(1)).value, 5.5 / 6, 1e-12);
  EXPECT_NEAR(macro_auc(gallery(), {0, 0, 0, 0, 1}, anchor(1)).value, 0, 1e-12);
  EXPECT_NEAR(macro_auc(gallery(), {1, 0, 0, 0, 0}, anchor(1)).value, 1, 1e-12);
}

TEST(MacroAuc, TheAnchorItselfAndUnknownLabelsAreLeftOut) {
  EXPECT_NEAR(macro_auc(gallery(), {1, 0, 1, 0, kUnknown}, anchor(1, 0)).value, 1.5 / 2, 1e-12);  // 0.6 against 0.6 and 0
  EXPECT_NEAR(macro_auc(gallery(), {1, 0, 1, 0, kUnknown}, anchor(1)).value, 3.5 / 4, 1e-12);
}

TEST(MacroAuc, AnchorsWithoutAPositiveOrANegativeDoNotCount) {
  const MacroAuc none = macro_auc(gallery(), {0, 0, 0, 0, 0}, anchor(1));
  EXPECT_TRUE(std::isnan(none.value));
  EXPECT_EQ(none.anchors, 0);
  EXPECT_EQ(macro_auc(gallery(), {1, 1, 1, 1, 1}, anchor(1)).anchors, 0);
}

TEST(MacroAuc, EqualsCountingPairs) {
  Random random({.domain = RngDomain::kTest, .seed = 4});
  const int64_t N = 70, A = 67;  // two blocks of anchors
  at::Tensor rows = at::empty({N, 3}, at::kFloat);
  for (int64_t i = 0; i < N * 3; ++i) rows.mutable_data_ptr<float>()[i] = static_cast<float>(random.below(4) + 1);  // with ties
  std::vector<int64_t> labels, own;
  for (int64_t i = 0; i < N; ++i) labels.push_back(random.below(4));
  for (int64_t i = 0; i < A; ++i) own.push_back(i);
  const at::Tensor z = rows / at::linalg_vector_norm(rows, 2, {1}, true), c = at::mm(z.narrow(0, 0, A), z.t());
  double total = 0;
  for (int64_t a = 0; a < A; ++a) {
    double wins = 0, pairs = 0;
    for (int64_t p = 0; p < N; ++p) {
      for (int64_t n = 0; n < N; ++n) {
        if (p == a || labels[p] != labels[a] || labels[n] == labels[a]) continue;
        const float positive = c[a][p].item<float>(), negative = c[a][n].item<float>();
        wins += positive > negative ? 1 : positive == negative ? 0.5 : 0;
        ++pairs;
      }
    }
    total += wins / pairs;
  }
  const MacroAuc found = macro_auc(rows, labels, {rows.narrow(0, 0, A), {labels.begin(), labels.begin() + A}, own});
  EXPECT_EQ(found.anchors, A);
  EXPECT_NEAR(found.value, total / A, 2e-4);  // products of other shapes may round near-ties otherwise
}

TEST(MacroAuc, RefusesWhatDoesNotFit) {
  const std::vector<int64_t> labels = {0, 1, 0, 1, 0};
  const AucAnchors wide{at::ones({1, 3}), {1}, {kUnknown}};
  at::Tensor bad = gallery();
  bad[1][1] = NAN;
  EXPECT_EQ(data_error_of([] { macro_auc(gallery(), {0, 1}, anchor(1)); }), "macro_auc: 5 rows and 2 labels; give one label per row");
  EXPECT_EQ(data_error_of([&] { macro_auc(gallery(), labels, wide); }),
            "macro_auc: anchors of width 3 and 1 places, a gallery of width 2; use one encoder for both");
  EXPECT_EQ(error_of(ErrorKind::kNumeric, [&] { macro_auc(bad, labels, anchor(1)); }),
            "macro_auc: a row is not finite; check the encoder's weights");
}

TEST(MacroAucProtocol, IsOneOnASeparableToyAndFollowsItsOptions) {
  const EvaluationInput input = toy_input();
  const EvaluationResult result = evaluated(input, "macro_auc", "{anchors: 20}");
  EXPECT_EQ(result.metrics.at("train.macro_auc"), 1);
  EXPECT_EQ(result.metrics.at("test.macro_auc"), 1);
  EXPECT_EQ(details(result)["anchors"]["train"], 20);
  EXPECT_EQ(details(evaluated(input, "macro_auc"))["anchors"]["test"], 31);
  EvaluationInput noisy = toy_input();
  const auto train = std::make_shared<ToyDataset>(60, 3);
  for (int64_t i = 0; i < 60; i += 2) train->set_label(i, (i / 2) % 3);
  noisy.train = train;
  const double seed1 = evaluated(noisy, "macro_auc", "{anchors: 5, seed: 1}").metrics.at("train.macro_auc");
  EXPECT_LT(seed1, 1);
  EXPECT_NE(evaluated(noisy, "macro_auc", "{anchors: 5, seed: 2}").metrics.at("train.macro_auc"), seed1);
}

TEST(ClassMeans, AreOfNormalisedLabelledRows) {
  const at::Tensor rows = at::tensor({3.f, 4.f, 0.f, 2.f, 5.f, 0.f, 9.f, 9.f}).view({4, 2});
  const at::Tensor means = class_means(rows, {0, 0, 2, kUnknown}, 3);
  EXPECT_TRUE(at::allclose(means, at::tensor({0.3f, 0.9f, 0.f, 0.f, 1.f, 0.f}).view({3, 2})));
}

TEST(ClassMeans, RefuseLengthsThatDifferAndRowsThatAreNotFinite) {
  const auto refusal = [](ErrorKind kind, const at::Tensor& rows) { return error_of(kind, [&] { class_means(rows, {0, 1}, 2); }); };
  EXPECT_EQ(refusal(ErrorKind::kData, at::ones({3, 2})), "mean_classifier: 3 rows and 2 labels; give one label per row");
  EXPECT_EQ(refusal(ErrorKind::kNumeric, at::full({2, 2}, INFINITY)), "mean_classifier: a row is not finite; check the encoder's weights");
}

TEST(MeanClassifier, TheLossFollowsTheTemperatureAndTheAccuracyDoesNot) {
  const EvaluationInput input = toy_input();
  const auto at_one = evaluated(input, "mean_classifier").metrics,
             sharp = evaluated(input, "mean_classifier", "{temperature: 0.1}").metrics;
  EXPECT_LT(at_one.at("test.mean_classifier_loss"), std::log(3.0));
  EXPECT_LT(sharp.at("test.mean_classifier_loss"), at_one.at("test.mean_classifier_loss"));
  EXPECT_EQ(sharp.at("test.mean_classifier_acc1"), at_one.at("test.mean_classifier_acc1"));
}

}  // namespace accuracy_test
}  // namespace debias
