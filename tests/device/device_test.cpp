// What runs on a device runs on the double, and gives what the CPU gives.
#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "debias/encoders/encoder.h"
#include "debias/evaluate/eval_views.h"
#include "debias/evaluate/features.h"
#include "debias/losses/objective.h"
#include "debias/optim/optimizer.h"
#include "debias/runs/device_certificates.h"
#include "debias/runs/run_evaluation.h"
#include "debias/runtime/device.h"
#include "tests/device/device_double.h"
#include "tests/support/small_corpus.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/method_parts.h"
#include "tests/train/rank_training.h"
#include "tests/train/small_recipe.h"
#include "tests/train/training.h"

namespace debias {
namespace device_test {

class OnTheDouble : public testing::Test {
 protected:
  void SetUp() override {
    use_device_double();
    reset_double_log();
  }
};

using DeviceDouble = OnTheDouble;

at::Tensor ramp() { return at::arange(12, at::kFloat).view({3, 4}); }

TEST_F(DeviceDouble, ComputesWhatTheCpuComputes) {
  const at::Tensor there = ramp().to(double_device());
  EXPECT_TRUE(there.t().mm(there).add(1).to(at::kCPU).equal(ramp().t().mm(ramp()).add(1)));
  EXPECT_TRUE(there.select(1, 2).to(at::kCPU).equal(ramp().select(1, 2)));
  at::Tensor changed = there.clone();
  changed.narrow(0, 1, 2).mul_(2);
  EXPECT_EQ(changed.sum().item<float>(), 66 + 60);
  changed.t().narrow(0, 0, 1).zero_();
  EXPECT_TRUE(changed.select(1, 0).to(at::kCPU).eq(0).all().item<bool>());
  EXPECT_EQ(double_log().threads.size(), 1u);
  EXPECT_EQ(double_log().host_waits, 5);
}

TEST_F(DeviceDouble, StopsAHostThatReadsItsMemory) {
  const at::Tensor there = ramp().to(double_device());
  EXPECT_DEATH(static_cast<void>(*static_cast<const volatile float*>(there.const_data_ptr())), "");
}

TEST_F(DeviceDouble, ShowsACopyThatNobodyWaitedFor) {
  const at::Tensor pinned = ramp().pin_memory();
  ASSERT_TRUE(pinned.is_pinned());
  const c10::impl::VirtualGuardImpl guard(c10::kPrivateUse1);
  const c10::Stream stream = guard.getStreamFromGlobalPool(double_device());
  c10::Event copied(c10::kPrivateUse1);
  at::Tensor there;
  {
    const c10::StreamGuard on(stream);
    there = pinned.to(double_device(), /*non_blocking=*/true);
    copied.record(stream);
  }
  EXPECT_TRUE(std::isnan(there.sum().item<float>()));
  copied.block(guard.getStream(double_device()));
  EXPECT_EQ(there.sum().item<float>(), 66);
}

TEST_F(DeviceDouble, IsTakenByItsNameOnly) {
  EXPECT_EQ(choose_device(kDoubleName, 1).device, double_device(1));
  EXPECT_THAT(error_of(ErrorKind::kResource, [] { choose_device(kDoubleName, 2); }), testing::HasSubstr("there are 2"));
  EXPECT_TRUE(choose_device("auto").device.is_cpu());
}

Certificate certificate_of_double(int64_t steps) {
  return certify_device({.device = kDoubleName,
                         .overrides = {"encoder.width=8", "data.train.train_count=64", "train.batch_size=16", "data.train.size=16",
                                       "views={preset: sim32, random_resized_crop: {size: 16}}"},
                         .steps = steps});
}

TEST_F(OnTheDouble, AGradientOfHalfItsSizeFailsTheCertificate) {
  halve_gradients(true);
  const Certificate found = certificate_of_double(1);
  halve_gradients(false);
  int64_t failed = 0;
  for (const auto& claim : found.claims) failed += !claim.holds && claim.text.starts_with("after a step ");
  EXPECT_EQ(failed, 2);
}

TEST_F(OnTheDouble, TensorsOfTheHostBesideItsOwnAreAnError) {
  const at::Tensor there = ramp().to(double_device());
  EXPECT_THROW(there.add(ramp()), std::exception);
  EXPECT_THROW(there.index_select(0, at::tensor({1, 0}, at::kLong)), std::exception);
  EXPECT_NO_THROW(there.add(2.5));
}

// Every objective, a step of descent and a short training.
TEST_F(OnTheDouble, TheCertificateHolds) {
  const Certificate found = certificate_of_double(8);
  for (const auto& claim : found.claims) EXPECT_TRUE(claim.holds) << claim.text;
  EXPECT_GE(found.claims.size(), 24u);
  EXPECT_GT(double_log().deferred_copies, 0);
}

// Value and gradient of an objective by one engine; nothing where it does not have that engine.
std::optional<std::pair<at::Tensor, at::Tensor>> evaluated(const ObjectiveEntry& entry, Engine engine, c10::Device device,
                                                           at::ScalarType type) {
  ObjectiveInput input;
  input.engine = engine;
  const at::Tensor wave = at::sin(at::arange(12 * 2 * 8, at::kDouble).view({12, 2, 8}) * 0.7);
  input.z = (wave / wave.norm(2, -1, true)).to(device, type).requires_grad_();
  input.labels = at::arange(12, at::kLong).remainder(3).to(device);
  if (entry.needs_bias || entry.takes_bias_features) input.bias = at::arange(12, at::kLong).div(2, "floor").remainder(2).to(device);
  if (entry.needs_bias_features) input.weights = (at::sin(at::arange(12 * 4, at::kDouble).view({12, 4})) + 1.5).to(device, type);
  try {
    const ObjectiveResult result = (*entry.make(parse_yaml("{}", "test"), {}))(input);
    EXPECT_EQ(result.engine, engine) << entry.name;
    result.value.backward();
    return std::pair(result.value.detach().to(at::kCPU, at::kDouble), input.z.grad().to(at::kCPU, at::kDouble));
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST_F(OnTheDouble, EachEngineOfAnObjectiveGivesTheCpusValue) {
  int compared = 0;
  for (const auto& entry : objective_registry()) {
    if (entry.kind == InputKind::kLogits) continue;
    for (const Engine engine : {Engine::kDense, Engine::kBlocked}) {
      const auto there = evaluated(entry, engine, double_device(), at::kFloat), here = evaluated(entry, engine, at::kCPU, at::kDouble);
      ASSERT_EQ(there.has_value(), here.has_value()) << entry.name << " " << enum_name(engine);
      if (!there) continue;
      EXPECT_NEAR(there->first.item<double>(), here->first.item<double>(), 1e-4 * (1 + here->first.abs().item<double>())) << entry.name;
      EXPECT_LT((there->second - here->second).abs().max().item<double>(), 1e-4 * (1 + here->second.abs().max().item<double>()))
          << entry.name << " " << enum_name(engine);
      ++compared;
    }
  }
  EXPECT_GE(compared, 20);
}

// Of an optimizer's second step, over so many matrices.
int64_t launches(const std::string& yaml, int64_t parameters) {
  std::vector<OptimizedParameter> given;
  for (int64_t i = 0; i < parameters; ++i) {
    given.push_back({std::to_string(i), at::full({2, 3}, 0.5, double_device()).set_requires_grad(true)});
    given.back().tensor.mutable_grad() = at::full({2, 3}, 0.1 * static_cast<double>(i + 1), double_device());
  }
  const auto optimizer = read_optimizer(parse_yaml(yaml, "r.yaml")).make(given);
  optimizer->step();
  reset_double_log();
  optimizer->step();
  EXPECT_EQ(double_log().host_waits, 0) << yaml;
  EXPECT_LT(given.back().tensor.to(at::kCPU).max().item<float>(), 0.5) << yaml;
  return double_log().calls();
}

TEST_F(OnTheDouble, OptimizersLaunchNoMoreForMoreParameters) {
  for (const char* yaml : {"adam", "{name: adamw, weight_decay: 0.1}", "sgd", "{name: sgd, momentum: 0}", "{name: sgd, nesterov: true}",
                           "{name: adam, clip_norm: 0.1}", "{name: lars, no_adaptation: [], weight_decay: 0}"}) {
    const int64_t of_four = launches(yaml, 4), ratios = std::string(yaml).find("lars") != std::string::npos ? 8 : 0;
    EXPECT_GT(of_four, 0) << yaml;
    EXPECT_EQ(launches(yaml, 12), of_four + ratios) << yaml;  // the product of a tensor with its own ratio is a launch for each
  }
  EXPECT_EQ(launches("{name: adam, clip_norm_per_tensor: 0.1}", 12), launches("{name: adam, clip_norm_per_tensor: 0.1}", 4) + 8);
}

struct Training {
  const char* name;
  std::vector<std::string> changes;
  double waits = 2;     // for the device in a step, at most
  double launches = 0;  // of kernels in a step, at most
};

void PrintTo(const Training& training, std::ostream* out) { *out << training.name; }

class Trainings : public testing::TestWithParam<Training> {
 protected:
  void SetUp() override {
    use_device_double();
    reset_double_log();
  }

  Config recipe(const std::string& device, const std::string& output) const {
    Config root = changed(small_config(folder_ / output), {"train.epochs=1"});
    for (const auto& change : GetParam().changes) root.assign(change);
    root.assign("train.device=" + device);
    return root;
  }

  // The Euclidean distance of the last checkpoints' encoders, without running statistics.
  double distance(const std::string& a, const std::string& b) const {
    const auto first = SafetensorsFile::open(folder_ / (a + "/checkpoints/last.safetensors"));
    const auto second = SafetensorsFile::open(folder_ / (b + "/checkpoints/last.safetensors"));
    double sum = 0;
    for (const auto& entry : first.tensors()) {
      if (entry.dtype != DType::kFloat32 || !entry.name.starts_with("encoder.") || entry.name.find("running") != std::string::npos)
        continue;
      std::vector<float> x((entry.end - entry.begin) / sizeof(float)), y(x.size());
      first.read(entry, x.data());
      const auto other = std::ranges::find(second.tensors(), entry.name, &TensorEntry::name);
      second.read(*other, y.data());
      for (size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return std::sqrt(sum);
  }

  TemporaryFolder folder_;
};

TEST_P(Trainings, EqualTheCpusAndRarelyWait) {
  train(input_for(changed(recipe("cpu", "start"), {"optimizer.learning_rate=1e-12"})));
  train(input_for(recipe("cpu", "cpu")));
  train(input_for(recipe(kDoubleName, "double")));
  EXPECT_LT(distance("cpu", "double"), 0.03 * distance("cpu", "start"));
  EXPECT_GT(double_log().kernels["convolution_backward"], 0);

  const DoubleLog of_six = double_log();
  Config twelve = changed(recipe(kDoubleName, "twelve"), {"train.batch_size=8"});
  reset_double_log();
  train(input_for(twelve));
  const DoubleLog of_twelve = double_log();
  EXPECT_LE(static_cast<double>(of_twelve.host_waits - of_six.host_waits) / 6, GetParam().waits);
  EXPECT_LE(static_cast<double>(of_twelve.calls() - of_six.calls()) / 6, GetParam().launches);
}

class Resumed : public Trainings {};

TEST_P(Resumed, GoOnAfterAStopAsWithoutOne) {
  train(input_for(recipe(kDoubleName, "whole")));
  train_in_two(recipe(kDoubleName, "two"), folder_ / "two", 4);
  EXPECT_EQ(tensors_of(folder_ / "two/checkpoints/last.safetensors"), tensors_of(folder_ / "whole/checkpoints/last.safetensors"));
}

double last_loss(const std::string& run) {
  double loss = std::nan("");
  for (const auto& line : metric_lines(run)) loss = line.value("loss", loss);
  return loss;
}

std::vector<std::string> on_classes(const std::vector<std::string>& changes) {
  std::vector<std::string> all = {"optimizer={name: sgd, learning_rate: 0.01, momentum: 0.9}",
                                  "data.train.classes=4",
                                  "data.train.correlation=0.8",
                                  "views.count=1",
                                  "head=none",
                                  "classifier={name: linear, gradient: flow}",
                                  "objective=cross_entropy"};
  all.insert(all.end(), changes.begin(), changes.end());
  return all;
}

const char* const kSgd = "optimizer={name: sgd, learning_rate: 0.01, momentum: 0.9}";

std::vector<std::string> on_halves(const std::vector<std::string>& changes) {
  std::vector<std::string> all = {kSgd, "views={preset: cmc_lab, count: 1, random_resized_crop: {size: 16}}",
                                  "method={name: cmc, negatives: 20}"};
  all.insert(all.end(), changes.begin(), changes.end());
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Methods, Trainings,
    testing::Values(Training{"simclr", {kSgd}, 2, 600}, Training{"micro_batches", {kSgd, "train.micro_batch=4"}, 2, 140},
                    Training{"adam_clipped", {"optimizer.clip_norm=1"}, 2, 615},
                    Training{"lars_clipped_by_tensor", {"optimizer={name: lars, learning_rate: 0.1, clip_norm_per_tensor: 1}"}, 2, 725},
                    Training{"moco", {kSgd, "method={name: moco, queue: 32}", "objective=infonce"}, 3, 475},
                    Training{"moco_shuffled", {kSgd, "method={name: moco, queue: 32, shuffle_bn: 2}", "objective=infonce"}, 3, 580},
                    Training{"moco_v3", {kSgd, "method={name: moco, version: v3, predictor: 8}", "objective=infonce"}, 7, 1045},
                    Training{"cmc", on_halves({"objective=infonce"}), 3, 555},
                    Training{"cmc_debiased", on_halves({"objective={name: debiased_negatives, tau_plus: 0.1, clamp: fallback}"}), 3, 640},
                    Training{"cmc_nce", on_halves({"objective=infonce", "method.loss=nce"}), 3, 555},
                    Training{"cmc_keys", on_halves({"objective={name: hard_negatives, tau_plus: 0.1}"}), 17, 1085},
                    Training{"fairkl", on_classes({"objective=[{name: cross_entropy}, {name: fairkl, weight: 0.1}]"}), 2, 670},
                    Training{"end", on_classes({"objective=[{name: cross_entropy}, {name: end, weight: 0.1}]"}), 2, 400},
                    Training{"group_dro", on_classes({"method=group_dro"}), 2, 280}, Training{"lff", on_classes({"method=lff"}), 2, 520},
                    Training{"dfa", on_classes({"method=dfa"}), 2, 600},
                    Training{"rebias", on_classes({"method={name: rebias, bias_encoder: {name: simple_convnet, kernel: 1}}"}), 2, 615},
                    Training{"hex", on_classes({"method=hex"}), 2, 370}, Training{"lnl", on_classes({"method=lnl"}), 2, 505},
                    Training{"rubi", on_classes({"method={name: rubi, bias: labels}"}), 2, 285},
                    Training{"learned_mixin", on_classes({"method={name: learned_mixin, bias: labels}"}), 2, 295},
                    Training{"jtt", on_classes({"method={name: jtt, identification_epochs: 1}", "train.epochs=2"}), 2, 530}),
    [](const auto& each) { return std::string(each.param.name); });

INSTANTIATE_TEST_SUITE_P(Methods, Resumed,
                         testing::Values(Training{"adam", {}}, Training{"cmc", on_halves({"objective=infonce", "method.loss=nce"})},
                                         Training{"moco", {kSgd, "method={name: moco, queue: 32}", "objective=infonce"}},
                                         Training{"lff", on_classes({"method=lff"})}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(OnTheDouble, BfloatTrainsAsOnTheCpu) {
  const TemporaryFolder folder;
  const auto loss = [&](const std::string& device, const std::string& precision) {
    train(input_for(changed(small_config(folder / (device + precision)), {"train.device=" + device, "train.precision=" + precision})));
    return last_loss(folder / (device + precision));
  };
  const double there = loss(kDoubleName, "bf16");
  EXPECT_NEAR(there, loss("cpu", "bf16"), 0.2);
  EXPECT_NE(there, loss(kDoubleName, "fp32"));
}

TEST_F(OnTheDouble, ProtocolsGiveTheCpusMetrics) {
  const TemporaryFolder folder;
  Config root =
      changed(small_config(folder / "run"),
              {"data.train.correlation=0.8", "data.test={name: glyphs, size: 16, test_count: 48, split: test, correlation: 0.5}"});
  train(input_for(root));
  const auto metrics = [&](const std::string& device) {
    EvaluationRequest request{.run = folder / "run", .device = device};
    for (const char* name : {"knn", "linear", "groups", "geometry"}) request.protocols.push_back({name});
    return evaluate_run(request, Progress::silent(), Log::silent()).metrics();
  };
  const NamedMetrics here = metrics("cpu"), there = metrics(kDoubleName);
  ASSERT_EQ(here.size(), there.size());
  for (size_t i = 0; i < here.size(); ++i) {
    EXPECT_EQ(here[i].first, there[i].first);
    EXPECT_NEAR(here[i].second, there[i].second, 0.05 * (1 + std::abs(here[i].second))) << here[i].first;
  }
}

// Batches go round the devices, in the order of the images.
TEST_F(OnTheDouble, FeaturesComeFromAllDevices) {
  const TrainInput input = input_for(small_config("x"));
  const auto open = [&] { return input.recipe.encoder.make(3, 7); };
  const ViewPipeline views = eval_views(input.recipe.view_steps, input.dataset->info());
  const auto values = [&](c10::Device device) {
    const auto encoder = open();
    encoder->to(device);
    return extract_features(*encoder, images_of(input.dataset), views, ExtractOptions{.batch_size = 10}, Progress::silent(),
                            copies_beside(*encoder, open))
        .values;
  };
  const at::Tensor here = values(at::kCPU);
  reset_double_log();
  const at::Tensor there = values(double_device());
  EXPECT_TRUE(at::allclose(here, there, 1e-4, 1e-5));
  const DoubleLog log = double_log();
  ASSERT_EQ(log.devices.size(), 2u);
  EXPECT_GT(log.devices.at(1), log.devices.at(0) / 2);
  EXPECT_LT(log.devices.at(1), log.devices.at(0) * 2);
}

TEST_F(OnTheDouble, TwoRanksTrainAsOnTheCpu) {
  const TemporaryFolder folder;
  const auto losses = [&](const std::string& device) {
    Config root = changed(in_folder(batches_of(16, 1), folder / device),
                          {"optimizer={name: sgd, learning_rate: 0.01, momentum: 0.9}", "train.device=" + device});
    train_on_ranks(root, 2);
    return last_loss(folder / device);
  };
  EXPECT_NEAR(losses(kDoubleName), losses("cpu"), 1e-3);
  EXPECT_GT(double_log().kernels["batch_norm_stats"], 0);  // of all rows, by torch's kernels for that
}

// Statistics of each rank's own rows are joined without a read, however many layers there are.
TEST_F(OnTheDouble, RanksJoinRunningStatisticsWithoutWaiting) {
  const TemporaryFolder folder;
  const auto waits = [&](const std::string& synchronised, int64_t epochs) {
    Config root =
        changed(in_folder(batches_of(16, epochs), folder / (synchronised + std::to_string(epochs))),
                {std::string("train.device=") + kDoubleName, "train.synchronise_norm=" + synchronised, "data.train.train_count=32"});
    reset_double_log();
    train_on_ranks(root, 2);
    return double_log().host_waits;
  };
  // An epoch's waits, of saving among them: joint statistics cross by way of the host once a layer in each pass, these once a step.
  EXPECT_LT(waits("false", 2) - waits("false", 1), (waits("true", 2) - waits("true", 1)) / 2);
}

TEST_F(OnTheDouble, TheNextBatchIsPreparedBeforeTheStepIsWaitedFor) {
  const TemporaryFolder folder;
  const MethodWithBatch made(changed(small_config(folder / "run"), {std::string("train.device=") + kDoubleName}));
  reset_double_log();
  int64_t before = -1, kernels = 0;
  made.parts.method->run(made.batch, 1, [&] {
    before = double_log().host_waits;
    kernels = double_log().kernels["convolution_backward"];
  });
  EXPECT_EQ(before, 0);
  EXPECT_GT(kernels, 0);
  EXPECT_GT(double_log().host_waits, 0);
}

TEST_F(OnTheDouble, ComputesAsTheRecipeSays) {
  const TemporaryFolder folder;
  const auto& context = at::globalContext();
  for (const char* on : {"true", "false"}) {
    const MethodWithBatch made(
        changed(small_config(folder / "run"),
                {std::string("train.device=") + kDoubleName, std::string("train.tf32=") + on, std::string("train.deterministic=") + on}));
    EXPECT_EQ(context.allowTF32CuBLAS(), on == std::string("true"));
    EXPECT_EQ(context.deterministicAlgorithms(), on == std::string("true"));
    EXPECT_EQ(context.deterministicCuDNN(), on == std::string("true"));
  }
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
}

// Sentences of two encoders, against the CPU: the steps of training, and what is found of them afterwards.
class Sentences : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    use_device_double();
    reset_double_log();
    write_small_corpus(folder_.path());
  }

  std::string trained_on(const std::string& device, int64_t epochs) const {
    Config root = changed(parse_yaml("{name: small, seed: 3, method: quick_thoughts, optimizer: {name: sgd, learning_rate: 0.1, momentum: "
                                     "0, clip_norm_per_tensor: 5}, "
                                     "train: {batch_size: 10, threads: 1, log_every: 1}}",
                                     "small.yaml"),
                          {"data={train: " + small_corpus_section(folder_.path()) + "}", std::string("encoder=") + GetParam(),
                           "objective={name: debiased_negatives, temperature: 1, tau_plus: 0.01, clamp: positive}",
                           "train.device=" + device, "train.epochs=" + std::to_string(epochs)});
    const std::string output = folder_ / (device + std::to_string(epochs));
    root.assign("output=" + output);
    train(input_for(root));
    return output;
  }

  TemporaryFolder folder_;
};

TEST_P(Sentences, AreTrainedAsOnTheCpu) {
  const auto lines = [&](const std::string& device) { return metric_lines(trained_on(device, 1)); };
  const auto here = lines("cpu"), there = lines(kDoubleName);
  ASSERT_EQ(here.size(), there.size());
  for (size_t i = 0; i < here.size(); ++i) {
    for (const char* name : {"loss", "train_loss", "grad_norm", "next_acc", "previous_acc"}) {
      ASSERT_EQ(here[i].contains(name), there[i].contains(name)) << name;
      EXPECT_NEAR(there[i].value(name, 0.0), here[i].value(name, 0.0), 1e-3) << name;
    }
  }
}

TEST_P(Sentences, RarelyWait) {
  const auto waits = [&](int64_t epochs) {
    reset_double_log();
    trained_on(kDoubleName, epochs);
    return double_log().host_waits;
  };
  EXPECT_LE(static_cast<double>(waits(2) - waits(1)) / 12, 5);  // 12 steps and a checkpoint
}

INSTANTIATE_TEST_SUITE_P(Encoders, Sentences,
                         testing::Values("{name: bag_of_words, features: 6}", "{name: gru, embedding: 4, features: 6}",
                                         "{name: gru, embedding: 4, features: 6, cell: torch}"));

}  // namespace device_test
}  // namespace debias
