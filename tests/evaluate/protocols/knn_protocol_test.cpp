// The images that the protocol knn shows with their nearest, their thumbnails, and the table of predictions.
#include "debias/evaluate/protocols/knn_protocol.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "debias/evaluate/prediction_file.h"
#include "debias/evaluate/thumbnail.h"
#include "tests/evaluate/toy.h"
#include "tests/support/temporary_folder.h"

namespace debias {
namespace knn_protocol_test {

std::set<int64_t> as_set(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

// 0 ... 9 are wrong, 10 ... 19 have no label, 20 ... 99 are right.
TEST(ExampleImages, AreHalfTheSameForAllAndHalfMistakes) {
  std::vector<int64_t> labels(100, 3), predictions(100, 3);
  for (int i = 0; i < 10; ++i) predictions[i] = 2;
  for (int i = 10; i < 20; ++i) labels[i] = kUnknown;
  for (const int64_t count : {0, 1, 8, 9, 24, 85, 500}) {
    const std::vector<int64_t> chosen = example_images(predictions, labels, count, 1);
    const int64_t half = count / 2, all = std::min<int64_t>(count, 90);
    ASSERT_EQ(std::ssize(chosen), all) << count;
    EXPECT_EQ(as_set(chosen).size(), chosen.size());
    const auto middle = chosen.begin() + std::min(half, all);
    EXPECT_TRUE(std::is_sorted(chosen.begin(), middle));
    EXPECT_TRUE(std::is_sorted(middle, chosen.end()));
    const auto is_wrong = [](int64_t i) { return i < 10; };
    const int64_t shared_wrong = std::count_if(chosen.begin(), middle, is_wrong);
    EXPECT_EQ(std::count_if(middle, chosen.end(), is_wrong), std::min<int64_t>(10 - shared_wrong, all - std::min(half, all))) << count;
    EXPECT_TRUE(std::none_of(chosen.begin(), chosen.end(), [](int64_t i) { return i >= 10 && i < 20; }));
  }
  const auto half_of = [](const std::vector<int64_t>& chosen) { return std::vector(chosen.begin(), chosen.begin() + 12); };
  const std::vector<int64_t> one = example_images(predictions, labels, 24, 1), other_seed = example_images(predictions, labels, 24, 2);
  EXPECT_EQ(half_of(one), half_of(other_seed));
  EXPECT_NE(one, other_seed);
  EXPECT_EQ(half_of(one), half_of(example_images(labels, labels, 24, 1))) << "another network";
}

TEST(NearestVoters, AreTheLabelledRowsOfHighestCosineNearestFirst) {
  const KnnGallery gallery{at::tensor({5.f, 0.f, 1.f, 1.f, 0.f, 3.f, 8.f, 1.f, -1.f, 0.f}).view({5, 2}), {0, 1, 1, kUnknown, 0}, 2};
  const at::Tensor queries = at::tensor({2.f, 0.f, 0.f, 1.f}).view({2, 2});
  const auto rows = [&](int64_t k, size_t query) {
    std::vector<int64_t> result;
    const auto nearest = nearest_voters(gallery, queries, k);
    for (const Neighbour& neighbour : nearest[query]) result.push_back(neighbour.row);
    return result;
  };
  EXPECT_EQ(rows(2, 0), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(rows(2, 1), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(rows(9, 0), (std::vector<int64_t>{0, 1, 2, 4}));
  EXPECT_NEAR(nearest_voters(gallery, queries, 2)[0][1].cosine, std::sqrt(0.5), 1e-6);
}

EvaluationInput biased_input() {
  EvaluationInput input = toy_input();
  const auto train = std::make_shared<ToyDataset>(60, 3);
  for (int i = 0; i < 60; ++i) train->set_bias(i, i % 4);
  train->set_label(5, kUnknown);
  const auto test = std::make_shared<ToyDataset>(31, 3, "test");
  for (int i = 0; i < 7; ++i) test->set_label(i, (i + 1) % 3);  // what their pictures are not
  input.train = train;
  input.test = test;
  return input;
}

TEST(KnnExamples, SayWhatWasAskedPredictedAndFound) {
  const EvaluationInput input = biased_input();
  const EvaluationResult result = evaluated(input, "knn", "{examples: 4}");
  const auto list = details(result)["neighbours"]["test"];
  ASSERT_EQ(list.size(), 4u);
  for (size_t i = 0; i < list.size(); ++i) {
    const auto& example = list[i];
    const int64_t query = example["query"];
    EXPECT_EQ(example["label"], input.test->label(query));
    EXPECT_EQ(example["predicted"], result.predictions.at("test")[query]);
    if (i >= 2) {
      EXPECT_NE(example["predicted"], example["label"]) << "the second half is wrong";
    }
    EXPECT_FALSE(example.contains("bias"));
    ASSERT_EQ(example["nearest"].size(), 8u);
    double before = 1;
    for (const auto& near : example["nearest"]) {
      const int64_t id = near["id"];
      EXPECT_NE(id, 5) << "an image without a label does not vote";
      EXPECT_EQ(near["label"], input.train->label(id));
      EXPECT_EQ(near["bias"], id % 4);
      EXPECT_LE(near["cosine"], before);
      before = near["cosine"];
      EXPECT_EQ(result.images.at("train_" + std::to_string(id)).index, id);
    }
    EXPECT_EQ(result.images.at("test_" + std::to_string(query)).dataset, input.test);
  }
}

TEST(KnnExamples, AreLeftOutWhenNoneAreAskedForAndNeverMoreThanImages) {
  const EvaluationResult none = evaluated(biased_input(), "knn", "{examples: 0}");
  EXPECT_FALSE(details(none).contains("neighbours"));
  EXPECT_TRUE(none.images.empty());
  EXPECT_EQ(details(evaluated(biased_input(), "knn"))["neighbours"]["test"].size(), 24u);
  EXPECT_EQ(details(evaluated(biased_input(), "knn", "{examples: 100}"))["neighbours"]["test"].size(), 31u);
  EvaluationInput few = toy_input();
  few.train = std::make_shared<ToyDataset>(5, 3);
  EXPECT_EQ(details(evaluated(few, "knn"))["neighbours"]["test"][0]["nearest"].size(), 5u);
}

TEST(Thumbnail, ShrinksTheLongerSideAndKeepsTheShape) {
  const auto sides = [](int height, int width) {
    const Image small = thumbnail({height, width, 3, std::vector<uint8_t>(static_cast<size_t>(height) * width * 3, 90)});
    EXPECT_EQ(small.pixels.size(), static_cast<size_t>(small.height) * small.width * 3);
    EXPECT_EQ(small.pixels[0], 90);
    return std::pair(small.height, small.width);
  };
  EXPECT_EQ(sides(6, 8), std::pair(6, 8));
  EXPECT_EQ(sides(64, 64), std::pair(64, 64));
  EXPECT_EQ(sides(65, 65), std::pair(64, 64));
  EXPECT_EQ(sides(128, 96), std::pair(64, 48));
  EXPECT_EQ(sides(50, 200), std::pair(16, 64));
  EXPECT_EQ(sides(1, 500), std::pair(1, 64));
}

TEST(PredictionFile, HoldsOneLineForEachEvaluatedImage) {
  EvaluationInput input = biased_input();
  input.valid = std::make_shared<ToyDataset>(4, 3, "held_out");
  const EvaluationResult result = evaluated(input, "knn");
  const TemporaryFolder folder;
  ASSERT_TRUE(write_predictions(folder / "knn.csv", result, input));
  std::ifstream file(folder / "knn.csv");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 1u + 4 + 31);
  EXPECT_EQ(lines[0], "split,filenames,labels,biases,predictions");
  EXPECT_EQ(lines[2], "valid,toy/1.png,1,-1,1");
  EXPECT_EQ(lines[5], "test,toy/0.png,1,-1,0");
  EXPECT_FALSE(write_predictions(folder / "none.csv", EvaluationResult(), input));
  EXPECT_FALSE(std::ifstream(folder / "none.csv").is_open());
}

TEST(LinearSupcon, PredictsWithTheEpochThatItReports) {
  const EvaluationInput input = toy_input();
  const auto result =
      evaluated(input, "linear_supcon", "{epochs: 10, batch_size: 8, learning_rate: 30, momentum: 0, gamma: 1, views: eval}");
  const std::vector<int64_t>& predictions = result.predictions.at("test");
  int64_t right = 0;
  for (size_t i = 0; i < predictions.size(); ++i) right += predictions[i] == input.test->label(static_cast<int64_t>(i));
  EXPECT_DOUBLE_EQ(static_cast<double>(right) / 31, result.metrics.at("test.linear_acc1"));
}

}  // namespace knn_protocol_test
}  // namespace debias
