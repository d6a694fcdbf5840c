// Quick-Thoughts: its first step written out, its refusals, resuming, and that it learns what there is to learn.
#include "debias/train/methods/quick_thoughts.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "debias/core/registry.h"
#include "debias/encoders/sentence_encoders.h"
#include "debias/losses/neighbours.h"
#include "debias/losses/objective.h"
#include "debias/train/loop/run_parts.h"
#include "tests/support/refusals.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/rank_training.h"
#include "tests/train/training.h"

namespace debias {
namespace quick_thoughts_test {

using testing::HasSubstr;

constexpr const char* kBiased = "{name: infonce, temperature: 1}";
constexpr const char* kDebiased = "{name: debiased_negatives, temperature: 1, tau_plus: 0.01, clamp: positive}";

constexpr const char* kHard = "{name: hard_negatives, temperature: 1, tau_plus: 0.01, beta: 0.5, clamp: positive}";
constexpr const char* kBayesian = "{name: bayesian, temperature: 1, tau_plus: 0.05}";

struct SmallRun {
  explicit SmallRun(const std::string& encoder = "{name: bag_of_words, features: 6}", const std::string& objective = kBiased) {
    write_small_corpus(folder.path());
    root = parse_yaml(
        "{name: small, seed: 3, method: quick_thoughts, optimizer: {name: adam, learning_rate: 0.01, clip_norm_per_tensor: 5}, "
        "train: {epochs: 2, batch_size: 10, device: cpu, threads: 1, log_every: 1}}",
        "small.yaml");
    root.assign("data={train: " + small_corpus_section(folder.path()) + "}");
    root.assign("encoder=" + encoder);
    root.assign("objective=" + objective);
    root.assign("output=" + folder.path() + "/run");
  }
  TemporaryFolder folder;
  Config root;
};

at::Tensor scores_of(Encoder& pair, const Batch& batch) {
  const at::NoGradGuard no_grad;
  const at::Tensor features = pair.forward(batch.input("words")[0]).unflatten(1, {2, -1});
  return features.select(1, 0).mm(features.select(1, 1).t());
}

double loss_of_scores(const char* objective, const NeighbourScores& scores) {
  const Config term = parse_yaml(objective, "term");
  return find_entry(objective_registry(), term.find("name")->text(), "objective")
      .make(term, {"name"})
      ->on_scores({scores})
      .value.item<double>();
}

TEST(QuickThoughts, FirstStepIsTheLossOfItsNeighbours) {
  const std::vector<std::pair<const char*, NeighbourNegatives>> cases = {{kBiased, NeighbourNegatives::kOfficial},
                                                                         {kDebiased, NeighbourNegatives::kNegatives},
                                                                         {kHard, NeighbourNegatives::kNegatives},
                                                                         {kBayesian, NeighbourNegatives::kNegatives}};
  for (const auto& [objective, negatives] : cases) {
    for (const char* encoder : {"{name: bag_of_words, features: 6}", "{name: gru, embedding: 4, features: 6}"}) {
      const SmallRun small(encoder, objective);
      const TrainInput input = input_for(small.root);
      const RunParts parts = make_run_parts(input.recipe, input.dataset);
      parts.source->start(0);
      const Batch batch = *parts.source->next();
      const at::Tensor scores = scores_of(*parts.model.encoder, batch);
      const StepReport report = parts.method->run(batch, 1);
      EXPECT_NEAR(report.loss, loss_of_scores(objective, {scores, 1, negatives}), 1e-6);
      EXPECT_EQ(report.diagnostics.metric_of_method("next_acc")->count, 9);
      EXPECT_EQ(report.diagnostics.metric_of_method("next_acc")->sum, neighbour_hits(scores).next);
      EXPECT_EQ(report.diagnostics.terms[0].anchors, 18);
      EXPECT_GT(report.grad_norm, 0);
    }
  }
}

TEST(QuickThoughts, OptionsChooseDenominatorContextAndTemperature) {
  const auto first_loss = [](const std::string& method, const std::string& objective) {
    SmallRun small("{name: bag_of_words, features: 6}", objective);
    small.root.assign("method=" + method);
    const TrainInput input = input_for(small.root);
    const RunParts parts = make_run_parts(input.recipe, input.dataset);
    parts.source->start(0);
    return parts.method->run(*parts.source->next(), 1).loss;
  };
  const double official = first_loss("quick_thoughts", kBiased);
  EXPECT_EQ(first_loss("{name: quick_thoughts, denominator: official}", kBiased), official);
  EXPECT_LT(first_loss("{name: quick_thoughts, denominator: negatives}", kBiased), official - 0.1);
  EXPECT_NE(first_loss("{name: quick_thoughts, denominator: official}", kDebiased), first_loss("quick_thoughts", kDebiased));
  EXPECT_NE(first_loss("{name: quick_thoughts, context: 2}", kBiased), official);
  EXPECT_NE(first_loss("quick_thoughts", "{name: infonce, temperature: 0.1}"), official);
}

TEST(QuickThoughts, ResumesByteForByte) {
  for (const char* encoder : {"{name: bag_of_words, features: 6}", "{name: gru, embedding: 4, features: 6}"}) {
    expect_resumes(SmallRun(encoder, kDebiased).root, {1, 12, 17});  // 12 an epoch
  }
}

// A sentence's negatives are those of all ranks; sums of gradients are formed in another order.
TEST(QuickThoughts, OfSeveralRanksIsThatOfOneProcess) {
  for (const char* encoder : {"{name: bag_of_words, features: 6}", "{name: gru, embedding: 4, features: 6}"}) {
    SmallRun small(encoder, kDebiased);
    small.root.assign("optimizer={name: sgd, learning_rate: 0.1, momentum: 0}");
    const std::string one = small.folder.path() + "/run", ranks = small.folder.path() + "/ranks";
    train(input_for(small.root));
    for (const int64_t W : {2, 3}) {  // 3: shares of three, three and four
      const std::string path = fmt::format("{}-{}", ranks, W);
      train_on_ranks(in_folder(small.root, path), W);
      const auto expected = metric_lines(one), found = metric_lines(path);
      ASSERT_EQ(found.size(), expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        for (const char* name : {"loss", "train_loss"}) {
          ASSERT_EQ(found[i].contains(name), expected[i].contains(name));
          EXPECT_NEAR(found[i].value(name, 0.0), expected[i].value(name, 0.0), 1e-4) << path << " " << name;
        }
      }
      const auto in_one = tensors_of(one + "/checkpoints/last.safetensors"), in_ranks = tensors_of(path + "/checkpoints/last.safetensors");
      ASSERT_EQ(in_ranks.size(), in_one.size());
      for (size_t i = 0; i < in_one.size(); ++i) {
        if (in_ranks[i] == in_one[i]) continue;
        ASSERT_EQ(in_ranks[i].second.size(), in_one[i].second.size());
        const auto* x = reinterpret_cast<const float*>(in_one[i].second.data());
        const auto* y = reinterpret_cast<const float*>(in_ranks[i].second.data());
        for (size_t k = 0; k < in_one[i].second.size() / sizeof(float); ++k) EXPECT_NEAR(x[k], y[k], 1e-4) << in_one[i].first;
      }
    }
  }
}

TEST(QuickThoughts, LearnsWhichSentencesAreNeighbours) {
  SmallRun small("{name: bag_of_words, features: 16}");
  small.root.assign("train.epochs=30");
  train(input_for(small.root));
  const auto lines = metric_lines(small.folder.path() + "/run");
  double first = -1, last = -1;
  for (const auto& line : lines) {
    if (!line.contains("train_loss")) continue;
    last = line.at("next_acc").get<double>() + line.at("previous_acc").get<double>();
    if (first < 0) first = last;
    EXPECT_TRUE(line.contains("clamped_share"));
  }
  EXPECT_GT(last, 2 * first);
  EXPECT_GT(last, 0.6);
}

class Unhurried : public Progress {
 public:
  void advance(int64_t, const std::string&) override { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }
};

// Of 40 sentences a batch has 37, the next one 3.
TEST(QuickThoughts, LogsHowManySentencesWereReadASecond) {
  SmallRun small;
  small.root.assign("train.batch_size=37");
  small.root.assign("train.drop_last=false");
  small.root.assign("train.epochs=1");
  Unhurried progress;
  TrainInput input = input_for(small.root);
  input.progress = &progress;
  train(input);
  const std::string log = file_text(small.folder.path() + "/run/train.log");
  const size_t at = log.find("epoch 1: ");
  ASSERT_NE(at, std::string::npos) << log;
  double seconds = 0, rate = 0;
  ASSERT_EQ(std::sscanf(log.c_str() + at, "epoch 1: %lf s, %lf sentences/s, waited", &seconds, &rate), 2) << log;
  EXPECT_THAT(log, HasSubstr(" sentences/s, waited "));
  EXPECT_NEAR(seconds * rate, kSmallBooks * kSmallSentences, 15) << log;  // six whole batches would be 222
}

TEST(QuickThoughts, ResolvedRecipeIsARecipeThatResolvesToItself) {
  const SmallRun small;
  const TrainInput input = input_for(small.root);
  const Config once = resolve_recipe(input.recipe, *input.dataset);
  EXPECT_EQ(once.find("views"), nullptr);
  EXPECT_EQ(resolve_recipe(read_recipe(once), *input.dataset).to_yaml(), once.to_yaml());
}

TEST(QuickThoughts, DoesNotDivideScoresWhereARecipeSaysNothing) {
  const auto resolved = [](const std::string& objective) {
    SmallRun small("{name: bag_of_words, features: 6}", objective);
    const TrainInput input = input_for(small.root);
    return resolve_recipe(input.recipe, *input.dataset).find("objective")->to_yaml();
  };
  EXPECT_EQ(resolved("infonce"), resolved(kBiased));
  EXPECT_EQ(resolved("{name: debiased_negatives, tau_plus: 0.01}"), resolved(kDebiased));
  EXPECT_THAT(resolved("infonce"), HasSubstr("temperature: 1"));
  EXPECT_THAT(resolved("{name: infonce, temperature: 0.5}"), HasSubstr("temperature: 0.5"));
}

std::string refusal_of(const std::vector<std::string>& words, const char* objective = kBiased) {
  SmallRun small("{name: bag_of_words, features: 6}", objective);
  for (const auto& word : words) small.root.assign(word);
  return usage_error_of([&] {
    const TrainInput input = input_for(small.root);
    make_run_parts(input.recipe, input.dataset);
  });
}

TEST(QuickThoughts, RefusesWhatSentencesDoNotHave) {
  EXPECT_THAT(refusal_of({"encoder={name: resnet18}"}), HasSubstr("'resnet18' is one of images; choose gru or bag_of_words"));
  EXPECT_THAT(refusal_of({"views={preset: sim32}"}), HasSubstr("takes no views"));
  EXPECT_THAT(refusal_of({"head={name: simclr}"}), HasSubstr("takes no head"));
  EXPECT_THAT(refusal_of({"train.micro_batch=5"}), HasSubstr("takes no train.micro_batch"));
  EXPECT_THAT(refusal_of({"train.precision=bf16"}), HasSubstr("takes no train.precision"));
  EXPECT_THAT(refusal_of({"train.batch_size=2"}), HasSubstr("batch_size 2"));
  EXPECT_THAT(refusal_of({"data.train={name: glyphs}"}), HasSubstr("data set 'glyphs' has none"));
  EXPECT_THAT(refusal_of({"objective={name: supcon}"}), HasSubstr("objective 'supcon' does not take scores of neighbours; choose infonce"));
  EXPECT_THAT(refusal_of({"objective={name: unbiased}"}), HasSubstr("needs labels"));
  EXPECT_THAT(refusal_of({"objective={name: debiased_negatives, clamp: floor}"}), HasSubstr("needs clamp: positive"));
  EXPECT_THAT(refusal_of({"objective={name: debiased_negatives, aggregation: pairs}"}),
              HasSubstr("objective 'debiased_negatives': aggregation: sentences have no views to average"));
  EXPECT_THAT(refusal_of({"objective={name: hard_negatives, clamp: fallback}"}), HasSubstr("needs clamp: positive"));
  EXPECT_THAT(refusal_of({"method=simclr"}), HasSubstr("needs an encoder of images, 'bag_of_words' is one of sentences"));
  EXPECT_THAT(refusal_of({"method=simclr", "encoder={name: resnet18}"}), HasSubstr("the samples of data set 'sentences' are not"));
}

}  // namespace quick_thoughts_test
}  // namespace debias
