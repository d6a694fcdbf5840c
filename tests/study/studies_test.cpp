// The studies of embeddings and of Bayesian contrastive learning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "debias/core/error.h"
#include "debias/core/philox.h"
#include "debias/core/registry.h"
#include "debias/losses/objective.h"
#include "debias/study/bcl_study.h"
#include "debias/study/embedding_study.h"
#include "debias/study/study_results.h"
#include "tests/support/refusals.h"

namespace debias {
namespace studies_test {

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
  EXPECT_THAT(error_of(kind, [&] { study_embeddings(embeddings, options, {.repetitions = 1}); }), testing::HasSubstr(words));
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

double mse(const BclFigures& figures, Estimator estimator) { return figures.of[static_cast<size_t>(estimator)].mse.mean; }

// Mean squared errors computed independently with 20 repetitions; 0 where there is none.
struct Expected {
  double biased, debiased, paper, corrected;
};
constexpr Expected kReference[] = {{4.84e-3, 2.03e-3, 1.49e-3, 1.11e-3}, {8.6e-3, 6.6e-3, 4.9e-3, 4.5e-3},
                                   {3.9e-3, 9.3e-4, 6.6e-4, 2.8e-4},     {3.6e-3, 6.6e-4, 4.5e-4, 7.0e-5},
                                   {3.6e-3, 5.7e-4, 4.0e-4, 1.7e-5},     {7.9e-4, 1.44e-3, 7.9e-4, 7.9e-4},
                                   {1.84e-3, 1.67e-3, 9.1e-4, 9.1e-4},   {6.9e-3, 2.26e-3, 5.0e-3, 1.20e-3},
                                   {3.6e-2, 1.5e-2, 3.3e-3, 3.0e-3},     {1135, 898, 325, 321}};

void expect_reference(size_t first, size_t last) {
  const auto rows = reference_rows({});
  ASSERT_EQ(rows.size(), std::size(kReference));
  std::vector<BclSetting> settings;
  for (size_t i = first; i < last; ++i) settings.push_back(rows[i].setting);
  const auto measured = measure(settings, {});
  for (size_t i = first; i < last; ++i) {
    const auto& row = measured[i - first];
    const auto near = [&](Estimator estimator, double expected) {
      EXPECT_NEAR(mse(row, estimator) / expected, 1, 0.1) << rows[i].change << ", " << enum_name(estimator);
    };
    near(Estimator::kBiased, kReference[i].biased);
    near(Estimator::kDebiasedFloor, kReference[i].debiased);
    near(Estimator::kBayesianPaper, kReference[i].paper);
    near(Estimator::kBayesianCorrected, kReference[i].corrected);
  }
}

TEST(BclStudy, ReferenceAtFewNegatives) {
  expect_reference(0, 3);
  expect_reference(5, 10);
}
TEST(BclStudy, SlowReferenceAtManyNegatives) { expect_reference(3, 5); }

TEST(BclStudy, ReferenceMeansAndFloor) {
  const auto rows = reference_rows({});
  const auto measured = measure({rows[0].setting, rows[9].setting}, {});
  const auto mean = [&](Estimator estimator) { return measured[0].of[static_cast<size_t>(estimator)].mean; };
  EXPECT_NEAR(mean(Estimator::kOracle), 0.884, 2e-3);
  EXPECT_NEAR(mean(Estimator::kBiased), 0.944, 2e-3);
  EXPECT_NEAR(mean(Estimator::kDebiased), 0.885, 2e-3);
  EXPECT_NEAR(mean(Estimator::kBayesianPaper), 0.864, 2e-3);
  EXPECT_NEAR(mean(Estimator::kBayesianCorrected), 0.882, 2e-3);
  EXPECT_NEAR(mse(measured[1], Estimator::kDebiased) / 1013, 1, 0.1);
  EXPECT_LT(mse(measured[1], Estimator::kDebiasedFloor), mse(measured[1], Estimator::kDebiased));
}

TEST(BclStudy, ThreeEstimatorsCoincideWithoutKnowledge) {
  BclSetting setting{.population = {.alpha = 0.5}, .anchors = 50};
  const auto row = measure({setting}, {.repetitions = 2})[0];
  EXPECT_NEAR(mse(row, Estimator::kBayesianPaper), mse(row, Estimator::kBiased), 1e-14);
  EXPECT_NEAR(mse(row, Estimator::kBayesianCorrected), mse(row, Estimator::kBiased), 1e-14);
}

TEST(BclStudy, ErrorsAreBiasAndVariance) {
  const auto row = measure({BclSetting{.population = {}, .anchors = 200}}, {.repetitions = 3})[0];
  for (const auto& of : row.of) EXPECT_NEAR(of.bias * of.bias + of.variance, of.mse.mean, 1e-12 + 1e-9 * of.mse.mean);
  EXPECT_LT(row.of[0].mse.low, row.of[0].mse.mean);
  EXPECT_GT(row.of[0].mse.high, row.of[0].mse.mean);
}

TEST(BclStudy, SameFiguresForAnyNumberOfThreads) {
  BclSetting small{.population = {}, .anchors = 40, .negatives = 16};
  const auto results = [&](int64_t threads) {
    const StudyRun run{.repetitions = 5, .threads = threads, .seed = 9};
    BclResults out{
        .rows = reference_rows(small), .row_figures = {}, .panels = {}, .panel_figures = {}, .samplers = check_samplers(500, run)};
    std::vector<BclSetting> settings;
    for (const auto& row : out.rows) settings.push_back(row.setting);
    out.row_figures = measure(settings, run);
    return to_json(out).dump();
  };
  EXPECT_EQ(results(1), results(3));
  EXPECT_EQ(results(3), results(16));
}

TEST(BclStudy, ProgressCountsEveryRepetitionOfEverySetting) {
  class Counting : public Progress {
   public:
    void begin(const std::string&, int64_t total) override { total_ = total; }
    void advance(int64_t done, const std::string&) override { reported.push_back(done); }
    void end() override { ended = std::ssize(reported) == total_; }
    std::vector<int64_t> reported;
    bool ended = false;

   private:
    int64_t total_ = -1;
  } progress;
  const BclSetting small{.population = {}, .anchors = 5};
  measure({small, small}, {.repetitions = 3, .threads = 4, .progress = &progress});
  EXPECT_EQ(progress.reported, (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(progress.ended);
}

TEST(BclStudy, SeedsDiffer) {
  BclSetting small{.population = {}, .anchors = 10};
  EXPECT_NE(mse(measure({small}, {.repetitions = 1, .seed = 1})[0], Estimator::kBiased),
            mse(measure({small}, {.repetitions = 1, .seed = 2})[0], Estimator::kBiased));
}

TEST(BclStudy, PanelsCoverTheFiguresByBothReadings) {
  const auto all = panels({});
  for (const auto reading : {ProposalReading::kText, ProposalReading::kCode}) {
    for (const std::string parameter : {"alpha", "gamma", "tau_plus", "negatives", "positives", "temperature", "beta"}) {
      const auto found = std::count_if(
          all.begin(), all.end(), [&](const BclPanel& p) { return p.figure == "5" && p.reading == reading && p.parameter == parameter; });
      EXPECT_EQ(found, 1) << parameter;
    }
  }
  for (const auto& panel : all) {
    for (const auto& setting : panel.settings) EXPECT_NO_THROW(verify(setting));
  }
}

}  // namespace studies_test
}  // namespace debias
