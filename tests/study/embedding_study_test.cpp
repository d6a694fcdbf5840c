#include "debias/study/embedding_study.h"

#include <gtest/gtest.h>

#include <cmath>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/core/registry.h"
#include "debias/losses/objective.h"
#include "tests/support/refusals.h"

namespace debias {
namespace embedding_study_test {

// Rows about one direction for each class; spread 0 puts them on it.
LabelledEmbeddings blobs(int64_t classes, int64_t per_class, double spread) {
  LabelledEmbeddings out{.rows = classes * per_class, .dimensions = classes + 2, .values = {}, .labels = {}};
  Random random({.seed = 4});
  for (int64_t i = 0; i < out.rows; ++i) {
    for (int64_t j = 0; j < out.dimensions; ++j)
      out.values.push_back(static_cast<float>(3 * ((j == i % classes) + spread * random.normal())));
    out.labels.push_back(i % classes);
  }
  return out;
}

const EstimatorFigures& at(const EmbeddingFigures& figures, Estimator estimator) { return figures.of[static_cast<size_t>(estimator)]; }

EmbeddingStudyOptions small() {
  EmbeddingStudyOptions options;
  options.negatives = 32;
  options.anchors = 40;
  return options;
}

TEST(EmbeddingStudy, SeparateClassesHaveKnownErrors) {
  const auto study = study_embeddings(blobs(4, 25, 0), small(), {.repetitions = 4});
  EXPECT_NEAR(study.tau_plus, 24.0 / 99, 1e-12);
  EXPECT_DOUBLE_EQ(study.alpha, 1);
  const auto& base = study.settings[0];
  const double own = std::exp(2.0), share = 24.0 / 99;
  EXPECT_NEAR(at(base, Estimator::kOracle).mse.mean, 0, 1e-12);
  EXPECT_NEAR(at(base, Estimator::kBiased).target, 1, 1e-6);
  EXPECT_NEAR(at(base, Estimator::kBiased).bias, share * (own - 1), 0.1);
  EXPECT_NEAR(at(base, Estimator::kDebiased).bias, 0, 0.12);
  EXPECT_NEAR(at(base, Estimator::kPositiveOracle).target, own, 1e-5);
  EXPECT_EQ(study.recommendation.rfind("Take ", 0), 0U) << study.recommendation;
}

TEST(EmbeddingStudy, PlainIsAsGoodWithoutStructure) {
  auto embeddings = blobs(2, 100, 0.1);
  for (size_t i = 0; i < embeddings.labels.size(); ++i) embeddings.labels[i] = static_cast<int64_t>(i / 2 % 50);
  const auto study = study_embeddings(embeddings, small(), {.repetitions = 3});
  EXPECT_EQ(study.recommendation.rfind("Plain InfoNCE is as good here", 0), 0U) << study.recommendation;
}

TEST(EmbeddingStudy, RecommendsAnObjectiveThatARecipeCanName) {
  for (const auto winner : {Estimator::kDebiasedFloor, Estimator::kHard, Estimator::kBayesianPaper, Estimator::kBayesianCorrected,
                            Estimator::kBayesianAuthors}) {
    EmbeddingFigures figures;
    for (auto& of : figures.of) of.mse.mean = 1;
    figures.of[static_cast<size_t>(winner)].mse.mean = 0.1;
    const std::string advice = recommendation({figures});
    const std::string name = advice.substr(5, advice.find(' ', 5) - 5);
    EXPECT_NO_THROW(find_entry(objective_registry(), name, "objective")) << advice;
  }
}

TEST(EmbeddingStudy, SameFiguresForAnyNumberOfThreads) {
  const auto embeddings = blobs(3, 30, 0.4);
  const auto one = study_embeddings(embeddings, small(), {.repetitions = 3, .threads = 1});
  const auto many = study_embeddings(embeddings, small(), {.repetitions = 3, .threads = 5});
  ASSERT_EQ(one.settings.size(), many.settings.size());
  for (size_t s = 0; s < one.settings.size(); ++s) {
    for (size_t e = 0; e < kEstimators; ++e) {
      const double a = one.settings[s].of[e].mse.mean, b = many.settings[s].of[e].mse.mean;
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)));
    }
  }
}

TEST(EmbeddingStudy, UnknownLabelsAreLeftOut) {
  auto embeddings = blobs(3, 30, 0.4);
  for (size_t i = 0; i < 10; ++i) embeddings.labels[i] = -1;
  EXPECT_EQ(study_embeddings(embeddings, small(), {.repetitions = 1}).rows, 80);
}

void expect_refused(const LabelledEmbeddings& embeddings, const EmbeddingStudyOptions& options, ErrorKind kind, const std::string& words) {
  const std::string message = error_of(kind, [&] { study_embeddings(embeddings, options, {.repetitions = 1}); });
  EXPECT_NE(message.find(words), std::string::npos) << message << " without " << words;
}

TEST(EmbeddingStudy, BadInputIsRefused) {
  expect_refused(blobs(1, 60, 0.3), small(), ErrorKind::kData, "1 class;");
  auto alone = blobs(2, 30, 0.3);
  for (size_t i = 0; i < alone.labels.size(); ++i) alone.labels[i] = static_cast<int64_t>(i);
  expect_refused(alone, small(), ErrorKind::kData, "share a class");
  auto zero = blobs(2, 30, 0.3);
  for (int64_t j = 0; j < zero.dimensions; ++j) zero.values[static_cast<size_t>(7 * zero.dimensions + j)] = 0;
  expect_refused(zero, small(), ErrorKind::kData, "row 7");
  const auto refused = [](auto change, const std::string& words) {
    EmbeddingStudyOptions options = small();
    change(options);
    expect_refused(blobs(2, 30, 0.3), options, ErrorKind::kUsage, words);
  };
  refused([](EmbeddingStudyOptions& o) { o.negatives = 60; }, "rows have 59");
  refused([](EmbeddingStudyOptions& o) { o.negatives = 0; }, "negatives");
  refused([](EmbeddingStudyOptions& o) { o.alpha = 0.3; }, "alpha");
  refused([](EmbeddingStudyOptions& o) { o.tau_plus = 1; }, "tau_plus");
}

}  // namespace embedding_study_test
}  // namespace debias
