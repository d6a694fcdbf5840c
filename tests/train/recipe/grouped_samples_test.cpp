// data.groups: images of one group are no negatives of each other, counted by naive loops.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "debias/runtime/unit_rows.h"
#include "debias/train/methods/term.h"
#include "debias/train/recipe/linked_samples.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/grouped_images.h"
#include "tests/train/method_parts.h"
#include "tests/train/sample_list.h"
#include "tests/train/small_recipe.h"

namespace debias {
namespace grouped_samples_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Bursts of three; in order, so that batches have them whole.
Config grouped_recipe(const std::vector<std::string>& words) {
  return changed(changed(small_config("x"), {"objective={name: infonce, temperature: 0.2}"}), words);
}

void take_first_images(MethodWithBatch& run) {
  for (size_t i = 0; i < run.batch.indices.size(); ++i) run.batch.indices[i] = run.batch.ids[i] = static_cast<int64_t>(i);
}

// InfoNCE of the rows [B, 2, D], without the pairs of one group.
double naive_loss(const at::Tensor& rows, int64_t size, double t) {
  const at::Tensor z = unit_rows(rows).to(at::kDouble);
  const int64_t B = z.size(0);
  double sum = 0;
  for (int64_t i = 0; i < B; ++i) {
    for (int64_t v = 0; v < 2; ++v) {
      const double positive = z[i][v].dot(z[i][1 - v]).item<double>() / t;
      double negatives = 0;
      for (int64_t j = 0; j < B; ++j) {
        if (i / size == j / size) continue;
        for (int64_t w = 0; w < 2; ++w) negatives += std::exp(z[i][v].dot(z[j][w]).item<double>() / t - positive);
      }
      sum += std::log1p(negatives);
    }
  }
  return sum / static_cast<double>(2 * B);
}

TEST(GroupedSamples, AreThoseWithAMate) {
  SampleList samples = sample_list({{{0, 0}, 6}});
  EXPECT_THAT(grouped_samples(samples), IsEmpty());
  samples.take_groups({0, 1, 0, -1, -1, 2});
  EXPECT_THAT(grouped_samples(samples), ElementsAre(0, -1, 0, -1, -1, -1));
  EXPECT_THAT(joined_groups({-1, 1, 1, -1, -1, -1}, {0, -1, 0, -1, 4, 4}), ElementsAre(0, 0, 0, -1, 4, 4));
  EXPECT_THAT(joined_groups({}, {0, 0, -1}), ElementsAre(0, 0, -1));
}

TEST(GroupedSamples, GroupMatesAreNoNegatives) {
  MethodWithBatch excluded(grouped_input(grouped_recipe({}), 3));
  MethodWithBatch ignored(grouped_input(grouped_recipe({"data.groups=ignore"}), 3));
  for (MethodWithBatch* run : {&excluded, &ignored}) take_first_images(*run);
  const at::Tensor rows = excluded.output().projection;
  EXPECT_NEAR(excluded.run().loss, naive_loss(rows, 3, 0.2), 1e-5);
  EXPECT_NEAR(ignored.run().loss, naive_loss(rows, 1, 0.2), 1e-5);
}

TEST(GroupedSamples, MocoLeavesOutTheKeysOfGroupMates) {
  const std::string method = "method={name: moco, queue: 48, momentum: 0.9}";
  MethodWithBatch made(grouped_input(grouped_recipe({method, "objective={name: bayesian, temperature: 0.2, tau_plus: 0, beta: 0}"}), 3));
  MethodWithBatch infonce(grouped_input(grouped_recipe({method}), 3));
  EXPECT_NO_THROW(made.run());
  take_first_images(infonce);
  infonce.run();
  const auto queue = infonce.state().at("queue.rows").to(at::kDouble);  // its first rows are of the batch
  const at::Tensor q = unit_rows(infonce.output().projection.select(1, 0)).to(at::kDouble);
  const double loss = infonce.run(2).loss;
  const at::Tensor k = infonce.state().at("queue.rows").slice(0, 16, 32).to(at::kDouble);
  double sum = 0;
  for (int64_t i = 0; i < 16; ++i) {
    const double positive = q[i].dot(k[i]).item<double>() / 0.2;
    double negatives = 0;
    for (int64_t j = 0; j < 48; ++j) {
      if (j < 16 && j / 3 == i / 3) continue;
      negatives += std::exp(q[i].dot(queue[j]).item<double>() / 0.2 - positive);
    }
    sum += std::log1p(negatives);
  }
  EXPECT_NEAR(loss, sum / 16, 1e-5);
}

TEST(GroupedSamples, OfVersionThreeOfMocoAreNeitherNegativesNorPositives) {
  const std::string method = "method={name: moco, version: v3, predictor: 0, symmetric: false}";
  MethodWithBatch made(grouped_input(grouped_recipe({method}), 3));
  take_first_images(made);
  const at::Tensor z = unit_rows(made.output().projection).to(at::kDouble), q = z.select(1, 0), k = z.select(1, 1);
  double sum = 0;
  for (int64_t i = 0; i < 16; ++i) {
    const double positive = q[i].dot(k[i]).item<double>() / 0.2;
    double negatives = 0;
    for (int64_t j = 0; j < 16; ++j) {
      if (j / 3 != i / 3) negatives += std::exp(q[i].dot(k[j]).item<double>() / 0.2 - positive);
    }
    sum += std::log1p(negatives);
  }
  EXPECT_NEAR(made.run().loss, sum / 16, 1e-5);
}

TEST(GroupedSamples, ThePositiveRelationShowsAMateAsSecondView) {
  MethodWithBatch run(grouped_input(grouped_recipe({"data.groups=positive", "views={preset: none, count: 2}", "train.batch_size=96"}), 3));
  std::vector<at::Tensor> own(96);
  for (size_t i = 0; i < 96; ++i) own[static_cast<size_t>(run.batch.indices[i])] = run.batch.images()[0][static_cast<int64_t>(i)];
  int64_t others = 0;
  for (size_t i = 0; i < 96; ++i) {
    const int64_t index = run.batch.indices[i];
    const at::Tensor second = run.batch.images()[1][static_cast<int64_t>(i)];
    if (at::equal(second, own[static_cast<size_t>(index)])) continue;
    ++others;
    bool is_mate = false;
    for (int64_t mate = index / 3 * 3; mate < index / 3 * 3 + 3; ++mate) is_mate |= at::equal(second, own[static_cast<size_t>(mate)]);
    EXPECT_TRUE(is_mate) << index;
  }
  EXPECT_GT(others, 40);  // of 96, each with chance 2/3
  const TrainInput one = grouped_input(grouped_recipe({"data.groups=positive", "views.noise=0.1"}), 3);
  EXPECT_THAT(usage_error_of([&] { make_run_parts(one.recipe, one.dataset); }), HasSubstr("data: groups: positive and views: noise"));
}

std::vector<std::string> notes(const std::vector<std::string>& words, const SampleTable& samples) {
  return notes_on_groups(read_recipe(grouped_recipe(words)), samples).notes;
}

TEST(GroupedSamples, AreSaidWithWhatBecomesOfThem) {
  SampleList samples = sample_list({{{0, 0}, 4}, {{1, 0}, 4}});
  EXPECT_THAT(notes({}, samples), IsEmpty());
  samples.take_groups({0, 0, 0, 1, 1, -1, 2, 2});
  EXPECT_EQ(notes_on_groups(read_recipe(grouped_recipe({})), samples).groups, 4);
  EXPECT_THAT(notes({}, samples), ElementsAre("8 samples are 4 groups (column patient): group mates are excluded from the negatives"));
  EXPECT_THAT(notes({"data.groups=ignore"}, samples), ElementsAre(HasSubstr("are negatives of each other (data.groups: ignore)")));
  EXPECT_THAT(notes({"objective={name: hard_negatives}"}, samples),
              ElementsAre(HasSubstr("objective 'hard_negatives' cannot leave group mates out of its negatives; infonce, ")));
  EXPECT_THAT(notes({"objective={name: hard_negatives}", "method={name: moco, queue: 32}"}, samples),
              ElementsAre(HasSubstr("are excluded from the negatives")));
  EXPECT_THAT(notes({"objective={name: supcon}"}, samples), ElementsAre(HasSubstr("in 1 groups (the first: p1)")));
  EXPECT_THAT(notes({"objective={name: cross_entropy}", "classifier={name: linear, gradient: flow}"}, samples), IsEmpty());
  samples.lose_classes();
  EXPECT_THAT(notes({}, samples), ElementsAre(HasSubstr("are excluded from the negatives")));
}

TEST(GroupedSamples, StandInTheResolvedRecipe) {
  const TrainInput input = grouped_input(grouped_recipe({}), 3);
  const Config resolved = resolve_recipe(input.recipe, *input.dataset);
  EXPECT_EQ(resolved.find("data")->find("groups")->text(), "exclude");
  EXPECT_EQ(resolve_recipe(read_recipe(resolved), *input.dataset).to_yaml(), resolved.to_yaml());
  const TrainInput plain = input_for(grouped_recipe({}));
  EXPECT_EQ(resolve_recipe(plain.recipe, *plain.dataset).find("data")->find("groups"), nullptr);
  expect_refused(grouped_recipe({"data.groups=exlude"}), "exlude");
}

}  // namespace grouped_samples_test
}  // namespace debias
