// A source of batches that has no images, and a method of its own that is trained on it: what the training loop asks of either.
#include "debias/loader/batch_source.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "debias/core/error.h"
#include "debias/encoders/heads.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/methods/method.h"
#include "debias/train/named_tensor.h"
#include "tests/ranks/threads.h"
#include "tests/support/refusals.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/sample_list.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace batch_source_test {

using testing::HasSubstr;

constexpr int64_t kRows = 8, kBatches = 5;

// Two views of points about the corners of a square, and how far they are shifted: by what was seen so far, which is the source's state.
class Points : public BatchSource {
 public:
  explicit Points(std::shared_ptr<const SampleTable> samples) : samples_(std::move(samples)), seen_(at::zeros({1}, at::kLong)) {}

  std::string what() const override { return "points"; }
  const SampleTable& samples() const override { return *samples_; }
  int64_t batches_per_epoch() const override { return kBatches; }
  void start(int64_t epoch, int64_t first) override {
    batch_.epoch = epoch;
    next_ = first;
  }
  const Batch* next() override {
    if (next_ == kBatches) return nullptr;
    batch_.number = next_++;
    batch_.ids.clear();
    for (int64_t i = 0; i < kRows; ++i) batch_.ids.push_back((batch_.number * kRows + i) % samples_->size());
    batch_.indices = batch_.ids;
    batch_.occurrences.assign(kRows, 0);
    batch_.labels.clear();
    batch_.biases.assign(kRows, kUnknown);
    for (const int64_t id : batch_.ids) batch_.labels.push_back(samples_->label(id));
    const double phase = static_cast<double>(batch_.epoch * kBatches + batch_.number);
    const at::Tensor noise = at::arange(2 * kRows * 2, at::kFloat).add(phase).sin().view({2, kRows, 2}) * 0.3;
    const at::Tensor class_of = at::tensor(batch_.labels, at::kFloat).view({1, kRows, 1});
    batch_.inputs = {{"points", noise + at::cat({class_of, 1 - class_of}, 2)},
                     {"shift", at::full({2, kRows, 1}, 0.01 * static_cast<double>(seen_.item<int64_t>()))}};
    seen_ += 1;
    return &batch_;
  }
  std::vector<std::pair<std::string, at::Tensor>> state() const override { return {{"source.seen", seen_}}; }
  void load(const SafetensorsFile& file) override { seen_ = named_tensor(file, "source.seen", seen_).clone(); }

 private:
  std::shared_ptr<const SampleTable> samples_;
  at::Tensor seen_;
  Batch batch_;
  int64_t next_ = 0;
};

class Plane : public Encoder {
 public:
  Plane() {
    linear_ = register_module("linear", torch::nn::Linear(2, 3));
    const at::NoGradGuard no_grad;
    linear_->weight.copy_(at::arange(6, at::kFloat).view({3, 2}).sin());
    linear_->bias.zero_();
  }
  torch::Tensor forward(const torch::Tensor& points) override { return linear_->forward(points); }
  int64_t feature_dim() const override { return 3; }
  std::string registry_name() const override { return "plane"; }

 private:
  torch::nn::Linear linear_{nullptr};
};

class ShiftedPoints : public Method {
 public:
  using Method::Method;

 protected:
  Evaluated differentiate(const Batch& batch, int64_t) override {
    const ModelOutput output = forward(model(), batch.input("points") + batch.input("shift"), parts().forward);
    Evaluated evaluated = evaluate(
        output, batch, [&](const Term& term, const at::Tensor& logits) { return term.objective()(input_of(term, batch, output, logits)); });
    backward(evaluated, output);
    return evaluated;
  }
};

std::shared_ptr<const MethodEntry> points_entry() {
  auto entry = std::make_shared<MethodEntry>();
  entry->name = "points";
  entry->batches = [](const Recipe&, const std::shared_ptr<const SampleTable>& samples, const Ranks&) {
    return std::make_unique<Points>(samples);
  };
  entry->check = [](const Recipe&, const SampleTable&) {};
  entry->networks = [](const Recipe&, int64_t) { return Model{std::make_shared<Plane>(), make_no_head(3)}; };
  entry->make = [](const Recipe&, const SampleTable&, MethodParts parts) { return std::make_unique<ShiftedPoints>(std::move(parts)); };
  return entry;
}

TrainInput points_input(const std::string& output, int64_t count = 10) {
  Config root = changed(small_config(output), {"objective={name: supcon, temperature: 0.5}", "optimizer={name: sgd, learning_rate: 0.3}",
                                               "train.channels_last=false"});
  TrainInput input;
  input.recipe = read_recipe(root);
  input.recipe.method = {points_entry()};
  input.dataset = std::make_shared<SampleList>(sample_list({{{0, 0}, static_cast<int>(count / 2)}, {{1, 0}, static_cast<int>(count / 2)}}));
  return input;
}

TEST(BatchSource, AMethodThatSeesNoImagesTrains) {
  const TemporaryFolder folder;
  const TrainResult result = train(points_input(folder / "run"));
  std::vector<double> losses;
  for (const auto& line : metric_lines(result.folder)) {
    if (!line.contains("step")) losses.push_back(line.at("train_loss").get<double>());
  }
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_LT(losses.back(), losses.front() - 0.05);
  EXPECT_THAT(file_text(result.folder + "/classes.json"), HasSubstr("\"a\""));
  EXPECT_THAT(file_text(result.folder + "/train.log"), HasSubstr("s for points"));
}

TEST(BatchSource, LabelsOutOfRangeAreRefusedBeforeTheFirstStep) {
  for (const int64_t label : {int64_t{3}, int64_t{-2}}) {
    const TemporaryFolder folder;
    TrainInput input = points_input(folder / "run");
    input.recipe.classifier = ClassifierOptions();
    input.dataset = std::make_shared<SampleList>(sample_list({{{0, 0}, 5}, {{label, 0}, 5}}));
    EXPECT_THAT(data_error_of([&] { train(input); }),
                HasSubstr(fmt::format("label {} of sample 5 of data set 'listed' is outside 0..2", label)));
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  }
}

TEST(BatchSource, ItsStateGoesOnWithTheRun) {
  const TemporaryFolder folder;
  train(points_input(folder / "whole"));
  for (const int64_t steps : {2, 7}) {
    const std::string path = fmt::format("{}/stopped{}", folder.path(), steps);
    std::atomic<int> flag{0};
    StopAfter stop(flag, steps);
    TrainInput input = points_input(path);
    input.stop_signal = &flag;
    input.progress = &stop;
    EXPECT_THROW(train(input), Error);
    TrainInput rest = points_input(path);
    rest.existing = ExistingFolder::kResume;
    train(rest);
    expect_same_run(folder / "whole", path);
  }
}

TEST(BatchSource, APlanIsMadeOfItsBatches) {
  const TrainPlan plan = plan_training(points_input("x"));
  EXPECT_EQ(plan.steps_per_epoch, kBatches);
  EXPECT_EQ(plan.checkpoint_bytes, 2 * (6 + 3) * 4 + 8);  // weights, bias and their momentum; what was seen
}

TEST(BatchSource, ThatMakesAllRowsIsRefusedWhereThereAreSeveralRanks) {
  const TemporaryFolder folder;
  const auto train_on = [&](const Ranks& ranks) {
    TrainInput input = points_input(folder / "run");
    input.ranks = &ranks;
    tell_failures(ranks, [&] {
      train(input);
      return 0;
    });
  };
  EXPECT_THAT(usage_error_of([&] { on_ranks(2, train_on); }), HasSubstr("cannot be split between processes; train in one process"));
}

TEST(BatchSource, AMethodOnImagesRefusesSamplesThatAreNone) {
  TrainInput input = points_input("x");
  input.recipe.method = read_method(Config());
  EXPECT_THAT(usage_error_of([&] { make_run_parts(input.recipe, input.dataset); }),
              HasSubstr("method 'simclr' is trained on images, and the samples of data set 'listed' are not"));
}

}  // namespace batch_source_test
}  // namespace debias
