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

#include "debias/losses/objective.h"
#include "debias/optim/optimizer.h"
#include "debias/runs/device_certificates.h"
#include "debias/runs/run_evaluation.h"
#include "debias/runtime/device.h"
#include "tests/device/device_double.h"
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
  double waits = 2;  // for the device in a step, at most
};

void PrintTo(const Training& training, std::ostream* out) { *out << training.name; }

class Trainings : public testing::TestWithParam<Training> {
 protected:
  void SetUp() override {
    use_device_double();
    reset_double_log();
  }

  Config recipe(const std::string& device, const std::string& output) const {
    Config root = small_config(folder_ / output);
    root.assign("train.epochs=1");
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
  Config still = recipe("cpu", "start");
  still.assign("optimizer.learning_rate=1e-12");
  train(input_for(still));
  train(input_for(recipe("cpu", "cpu")));
  train(input_for(recipe(kDoubleName, "double")));
  EXPECT_LT(distance("cpu", "double"), 0.03 * distance("cpu", "start"));
  EXPECT_GT(double_log().kernels["convolution_backward"], 0);

  const auto waits_of_six = static_cast<double>(double_log().host_waits);
  Config twelve = recipe(kDoubleName, "twelve");
  twelve.assign("train.batch_size=8");
  reset_double_log();
  train(input_for(twelve));
  EXPECT_LE((static_cast<double>(double_log().host_waits) - waits_of_six) / 6, GetParam().waits);
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

INSTANTIATE_TEST_SUITE_P(
    Methods, Trainings,
    testing::Values(Training{"simclr", {kSgd}}, Training{"micro_batches", {kSgd, "train.micro_batch=4"}},
                    Training{"adam_clipped", {"optimizer.clip_norm=1"}},
                    Training{"lars_clipped_by_tensor", {"optimizer={name: lars, learning_rate: 0.1, clip_norm_per_tensor: 1}"}},
                    Training{"moco", {kSgd, "method={name: moco, queue: 32}", "objective=infonce"}, 3},
                    Training{"moco_shuffled", {kSgd, "method={name: moco, queue: 32, shuffle_bn: 2}", "objective=infonce"}, 3},
                    Training{"moco_v3", {kSgd, "method={name: moco, version: v3, predictor: 8}", "objective=infonce"}, 7},
                    Training{"fairkl", on_classes({"objective=[{name: cross_entropy}, {name: fairkl, weight: 0.1}]"}), 9},
                    Training{"end", on_classes({"objective=[{name: cross_entropy}, {name: end, weight: 0.1}]"}), 20},
                    Training{"group_dro", on_classes({"method=group_dro"})}, Training{"lff", on_classes({"method=lff"})},
                    Training{"dfa", on_classes({"method=dfa"})},
                    Training{"rebias", on_classes({"method={name: rebias, bias_encoder: {name: simple_convnet, kernel: 1}}"})},
                    Training{"hex", on_classes({"method=hex"})}, Training{"lnl", on_classes({"method=lnl"})},
                    Training{"rubi", on_classes({"method={name: rubi, bias: labels}"})},
                    Training{"learned_mixin", on_classes({"method={name: learned_mixin, bias: labels}"})},
                    Training{"jtt", on_classes({"method={name: jtt, identification_epochs: 1}", "train.epochs=2"})}),
    [](const auto& each) { return std::string(each.param.name); });

INSTANTIATE_TEST_SUITE_P(Methods, Resumed,
                         testing::Values(Training{"adam", {}},
                                         Training{"moco", {kSgd, "method={name: moco, queue: 32}", "objective=infonce"}},
                                         Training{"lff", on_classes({"method=lff"})}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(OnTheDouble, BfloatTrainsAsOnTheCpu) {
  const TemporaryFolder folder;
  const auto loss = [&](const std::string& device, const std::string& precision) {
    Config root = small_config(folder / (device + precision));
    root.assign("train.device=" + device);
    root.assign("train.precision=" + precision);
    train(input_for(root));
    return last_loss(folder / (device + precision));
  };
  const double there = loss(kDoubleName, "bf16");
  EXPECT_NEAR(there, loss("cpu", "bf16"), 0.2);
  EXPECT_NE(there, loss(kDoubleName, "fp32"));
}

TEST_F(OnTheDouble, ProtocolsGiveTheCpusMetrics) {
  const TemporaryFolder folder;
  Config root = small_config(folder / "run");
  root.assign("data.train.correlation=0.8");
  root.assign("data.test={name: glyphs, size: 16, test_count: 48, split: test, correlation: 0.5}");
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

TEST_F(OnTheDouble, TwoRanksTrainAsOnTheCpu) {
  const TemporaryFolder folder;
  const auto losses = [&](const std::string& device) {
    Config root = in_folder(batches_of(16, 1), folder / device);
    root.assign("optimizer={name: sgd, learning_rate: 0.01, momentum: 0.9}");
    root.assign("train.device=" + device);
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
    Config root = in_folder(batches_of(16, epochs), folder / (synchronised + std::to_string(epochs)));
    root.assign(std::string("train.device=") + kDoubleName);
    root.assign("train.synchronise_norm=" + synchronised);
    root.assign("data.train.train_count=32");
    reset_double_log();
    train_on_ranks(root, 2);
    return double_log().host_waits;
  };
  // An epoch's waits, of saving among them: joint statistics cross by way of the host once a layer in each pass, these once a step.
  EXPECT_LT(waits("false", 2) - waits("false", 1), (waits("true", 2) - waits("true", 1)) / 2);
}

TEST_F(OnTheDouble, TheNextBatchIsPreparedBeforeTheStepIsWaitedFor) {
  const TemporaryFolder folder;
  Config root = small_config(folder / "run");
  root.assign(std::string("train.device=") + kDoubleName);
  const MethodWithBatch made(root);
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
    Config root = small_config(folder / "run");
    root.assign(std::string("train.device=") + kDoubleName);
    root.assign(std::string("train.tf32=") + on);
    root.assign(std::string("train.deterministic=") + on);
    const MethodWithBatch made(root);
    EXPECT_EQ(context.allowTF32CuBLAS(), on == std::string("true"));
    EXPECT_EQ(context.deterministicAlgorithms(), on == std::string("true"));
    EXPECT_EQ(context.deterministicCuDNN(), on == std::string("true"));
  }
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
}

TEST_F(OnTheDouble, MethodsOfTheCpuSaySo) {
  Config root = small_config("x");
  root.assign("views={preset: cmc_lab, count: 1, random_resized_crop: {size: 16}}");
  root.assign("objective=infonce");
  root.assign("method={name: cmc, negatives: 20}");
  root.assign(std::string("train.device=") + kDoubleName);
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { train(input_for(root)); }), testing::HasSubstr("method 'cmc' runs on the CPU"));
}

}  // namespace device_test
}  // namespace debias
