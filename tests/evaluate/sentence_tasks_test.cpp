#include "debias/evaluate/sentence_tasks.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "debias/core/philox.h"
#include "tests/support/refusals.h"

namespace debias {
namespace sentence_tasks_test {

using testing::ElementsAre;

// Texts are numbers, of which a vector of eight is drawn: its first element says the class, and how surely.
at::Tensor drawn_vectors(const std::vector<std::string>& texts, double signal, int64_t classes) {
  at::Tensor vectors = at::empty({std::ssize(texts), 8});
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto number = static_cast<uint64_t>(std::stoll(texts[i]));
    Random random({.seed = 5, .sample = number});
    for (int64_t j = 0; j < 8; ++j) {
      const bool own = j == static_cast<int64_t>(number) % classes;
      vectors[static_cast<int64_t>(i)][j] = random.normal() + (own ? signal : 0);
    }
  }
  return vectors;
}

LabelledText numbers(int64_t first, int64_t count, int64_t classes) {
  LabelledText part;
  for (int64_t i = first; i < first + count; ++i) {
    part.texts.push_back(std::to_string(i));
    part.labels.push_back(i % classes);
  }
  return part;
}

EmbedTexts embedding(double signal, int64_t classes) {
  return [signal, classes](const std::vector<std::string>& texts) { return drawn_vectors(texts, signal, classes); };
}

TEST(SentenceTasks, CutsFoldsAsScikitLearnDoes) {
  EXPECT_THAT(fold_ends(23, 10), ElementsAre(3, 6, 9, 11, 13, 15, 17, 19, 21, 23));
  EXPECT_THAT(fold_ends(20, 4), ElementsAre(5, 10, 15, 20));
}

TEST(SentenceTasks, TellClassesByFolds) {
  SentenceSet set{"mr", {"0", "1"}, numbers(0, 300, 2), {}};
  for (const TaskMode mode : {TaskMode::kFull, TaskMode::kCheap}) {
    const TaskResult clear = evaluate_task(set, embedding(3, 2), mode, 1), blind = evaluate_task(set, embedding(0, 2), mode, 1);
    ASSERT_EQ(clear.scores.size(), 1u);
    EXPECT_EQ(clear.scores[0].metric, "mr_acc");
    EXPECT_GT(clear.scores[0].value, 0.95);
    EXPECT_NEAR(blind.scores[0].value, 0.5, 0.1);
    EXPECT_EQ(clear.C.size(), 10u);
    EXPECT_EQ(clear.evaluated, 300);
    EXPECT_DOUBLE_EQ(clear.majority, 0.5);
    EXPECT_LT(clear.scores[0].interval.first, clear.scores[0].value);
    EXPECT_GT(clear.scores[0].interval.second, clear.scores[0].value);
    EXPECT_EQ(clear.unfinished, 0);
  }
}

TEST(SentenceTasks, TellManyClassesOnATestSet) {
  SentenceSet set{"trec", {"A", "B", "C", "D"}, numbers(0, 400, 4), numbers(1000, 100, 4)};
  const TaskResult result = evaluate_task(set, embedding(3.5, 4), TaskMode::kFull, 1);
  EXPECT_GT(result.scores[0].value, 0.9);
  EXPECT_EQ(result.evaluated, 100);
  EXPECT_EQ(result.C.size(), 1u);
}

TEST(SentenceTasks, TellPairsByTheirDifference) {
  const auto pairs = [](int64_t first, int64_t count) {  // alike are pairs of neighbours of one class
    LabelledText part;
    for (int64_t i = first; i < first + count; ++i) {
      const bool alike = i % 3 != 0;
      part.texts.push_back(std::to_string(2 * i));
      part.seconds.push_back(std::to_string(alike ? 2 * i : 2 * i + 1));
      part.labels.push_back(alike ? 1 : 0);
    }
    return part;
  };
  SentenceSet set{"msrp", {"0", "1"}, pairs(0, 300), pairs(1000, 120)};
  const TaskResult result = evaluate_task(set, embedding(1, 2), TaskMode::kFull, 1);
  ASSERT_EQ(result.scores.size(), 2u);
  EXPECT_EQ(result.scores[1].metric, "msrp_f1");
  EXPECT_GT(result.scores[0].value, 0.95);
  EXPECT_GT(result.scores[1].value, 0.95);
  EXPECT_LE(result.scores[1].interval.first, result.scores[1].value);
  EXPECT_NEAR(result.majority, 2.0 / 3, 0.01);
}

// F1 of class 1 by hand: the commoner class said of all 120 gives 2 * 80 / (120 + 80).
TEST(SentenceTasks, F1OfBlindVectorsIsThatOfTheMajority) {
  LabelledText train = numbers(0, 300, 3), test = numbers(0, 120, 3);
  for (LabelledText* part : {&train, &test}) {
    part->seconds = part->texts;
    for (int64_t& label : part->labels) label = label > 0 ? 1 : 0;
  }
  const EmbedTexts zeros = [](const std::vector<std::string>& texts) { return at::zeros({std::ssize(texts), 4}); };
  const TaskResult result = evaluate_task({"msrp", {"0", "1"}, train, test}, zeros, TaskMode::kFull, 1);
  EXPECT_DOUBLE_EQ(result.scores[1].value, 2.0 * 80 / (120 + 80));
  EXPECT_THAT(result.C, ElementsAre(1));  // all are equal: the first
}

TEST(SentenceTasks, RefuseTooFewTexts) {
  EXPECT_EQ(data_error_of([] {
              evaluate_task({"cr", {"0", "1"}, numbers(0, 19, 2), {}}, embedding(1, 2), TaskMode::kFull, 1);
            }),
            "eval: sentence set 'cr' has 19 texts to train on, ten folds need at least 20");
}

// Which task each report belongs to.
class NotedTasks : public Progress {
 public:
  void begin(const std::string& label, int64_t) override { now_ = label; }
  void advance(int64_t, const std::string& note) override {
    if (note.starts_with("C = ")) fits.insert(now_);
  }
  void end() override { now_ = "none"; }
  std::set<std::string> fits;

 private:
  std::string now_ = "none";
};

TEST(SentenceTasks, ReportTheirFitsUnderTheirNameBehindThatOfEmbedding) {
  NotedTasks progress;
  const EmbedTexts embed = [&](const std::vector<std::string>& texts) {
    progress.begin("sentence vectors", 1);
    progress.end();
    return drawn_vectors(texts, 3, 2);
  };
  evaluate_task({"mr", {"0", "1"}, numbers(0, 60, 2), {}}, embed, TaskMode::kCheap, 1, progress);
  evaluate_task({"trec", {"A", "B"}, numbers(0, 60, 2), numbers(1000, 20, 2)}, embed, TaskMode::kCheap, 1, progress);
  EXPECT_THAT(progress.fits, ElementsAre("mr: fits", "trec: fits"));
}

}  // namespace sentence_tasks_test
}  // namespace debias
