#include "debias/runs/device_certificates.h"

#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "debias/core/error.h"
#include "debias/data/dataset_registry.h"
#include "debias/losses/objective.h"
#include "debias/optim/optimizer.h"
#include "debias/runs/recipe_lookup.h"
#include "debias/runtime/device.h"
#include "debias/train/loop/rank_batches.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/loop/trainer.h"
#include "debias/train/state/resume.h"

namespace debias {
namespace {

constexpr double kObjectiveApart = 1e-4;  // of the largest entry: float32 there, float64 here
constexpr double kDescentApart = 0.05;    // of a step: convolutions of a device may round products to 10 bits
constexpr double kLossApart = 0.05;       // of the loss after some steps, in which roundings grow
constexpr double kBfloatApart = 0.7;      // of a step: 8 bits of mantissa move it by half on the CPU, too
constexpr double kBfloatLength = 1.33;    // the step's length is within this factor
constexpr double kResumedApart = 0.2;     // of what the steps after the stop change, since a device may add in varying order

constexpr const char* kSmallTraining = R"(
name: certify-device
data: {train: {name: glyphs, size: 32, train_count: 2048}}
views: {preset: sim32, count: 2}
encoder: {name: resnet18, width: 16}
head: simclr
objective: {name: debiased_negatives, tau_plus: 0.1}
optimizer: {name: adam, learning_rate: 1e-3}
train: {epochs: 10, batch_size: 64}
)";

// The same numbers wherever it runs.
at::Tensor wave(at::IntArrayRef shape, double pace) {
  return at::sin(at::arange(c10::multiply_integers(shape), at::kDouble) * pace +
                 at::arange(c10::multiply_integers(shape), at::kDouble).square() * 0.01)
      .reshape(shape);
}

struct Found {
  at::Tensor value, gradient;  // on the CPU, float64
};

Found evaluated(const ObjectiveEntry& entry, c10::Device device, at::ScalarType type) {
  constexpr int64_t kSamples = 48;
  ObjectiveInput input;
  if (entry.kind == InputKind::kLogits) {
    input.z = wave({kSamples, 5}, 0.7);
  } else {
    const at::Tensor rows = wave({kSamples, 2, 24}, 0.7) + wave({kSamples, 1, 24}, 1.9);
    input.z = rows / rows.norm(2, -1, true);
  }
  input.z = input.z.to(device, type).requires_grad_();
  const auto integers = [&](int64_t divisor, int64_t modulus) {
    return at::arange(kSamples, at::kLong).div(divisor, "floor").remainder(modulus).to(device);
  };
  input.labels = integers(1, 5);
  if (entry.needs_bias || entry.takes_bias_features) input.bias = integers(2, 3);
  if (entry.needs_bias_features) input.weights = (wave({kSamples, 6}, 0.3) + 1.5).to(device, type);
  const ObjectiveResult result = (*entry.make(parse_yaml("{}", "certify"), {}))(input);
  result.value.backward();
  return {result.value.detach().to(at::kCPU, at::kDouble), input.z.grad().to(at::kCPU, at::kDouble)};
}

double apart(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>() / std::max(b.abs().max().item<double>(), 1e-30);
}

class DeviceCertificates {
 public:
  DeviceCertificates(const DeviceSelfTest& test, const CertificateObserver& observer)
      : test_(test), observer_(observer), device_(resolve_device(test.device)) {
    root_ = test.recipe.empty() ? parse_yaml(kSmallTraining, "certify device") : read_recipe_config(test.recipe, {});
    for (const auto& word : test.overrides) root_.assign(word);
  }

  Certificate run() {
    for (const auto& entry : objective_registry()) equals_cpu(entry, device_);
    for (c10::DeviceIndex other = 0; other < devices_of_that_type(); ++other) {
      if (other != device_.index()) equals_cpu(objective_registry().front(), c10::Device(device_.type(), other));
    }
    trains_as_cpu();
    if (test_.recipe.empty() && root_.find("method") == nullptr) trains_with_a_queue();
    measure_costs();
    return std::move(certificate_);
  }

 private:
  void claim(const std::string& text, bool holds) {
    certificate_.claims.push_back({text, holds});
    observer_.on_claim(certificate_.claims.back());
  }

  c10::DeviceIndex devices_of_that_type() const {
    return device_.is_cpu() ? c10::DeviceIndex{0} : c10::impl::VirtualGuardImpl(device_.type()).deviceCount();
  }

  void equals_cpu(const ObjectiveEntry& entry, c10::Device device) {
    const Found there = evaluated(entry, device, at::kFloat), here = evaluated(entry, c10::Device(c10::kCPU), at::kDouble);
    const double value = apart(there.value, here.value), gradient = apart(there.gradient, here.gradient);
    claim(fmt::format("{} on {}: value {:.0e} and gradient {:.0e} from the CPU's in double, at most {:.0e}", entry.name, device.str(),
                      value, gradient, kObjectiveApart),
          value <= kObjectiveApart && gradient <= kObjectiveApart);
  }

  Recipe recipe_with(std::vector<std::string> words) const {
    Config root = root_;
    for (const auto& word : words) root.assign(word);
    return read_recipe(root);
  }

  TrialCost trial(const std::string& device, int64_t steps, const std::string& out, std::vector<std::string> words,
                  const std::string& from = "") const {
    words.push_back("train.device=" + device);
    const Recipe recipe = recipe_with(std::move(words));
    return run_trial(recipe, recipe.train_data.make_images(), Ranks::alone(),
                     {.steps = steps, .from = from.empty() ? "" : folder_ / from, .out = folder_ / out});
  }

  void claim_loss(const std::string& what, double there, double here, double largest) {
    const double off = std::abs(there - here) / std::max(std::abs(here), 1e-6);
    claim(fmt::format("{} after {} steps the loss is {:.4f}, the CPU's {:.4f}: they differ by {:.1f} %, at most {:.0f} %", what,
                      test_.steps, there, here, 100 * off, 100 * largest),
          off <= largest);
  }

  void trains_as_cpu() {
    // Gradient descent, whose step is as large as the gradient.
    std::vector<std::string> plain = {"optimizer={name: sgd, learning_rate: 0.01, momentum: 0}", "schedule=constant",
                                      "train.precision=fp32"};
    trial(test_.device, 1, "there", plain);
    trial("cpu", 1, "here", plain);
    plain.push_back("train.precision=bf16");
    trial(test_.device, 1, "in-bf16", plain);
    plain.insert(plain.end(), {"train.precision=fp32", "optimizer.learning_rate=1e-12"});
    trial("cpu", 1, "still", plain);
    claim_steps();
    const double here = trial("cpu", test_.steps, "here", {"train.precision=fp32"}).last_loss;
    claim_loss("in float32", trial(test_.device, test_.steps, "there", {"train.precision=fp32"}).last_loss, here, kLossApart);
    goes_on_after_a_stop();
  }

  void claim_steps() {
    const double moved = std::max(euclidean_distance(folder_ / "still", folder_ / "here"), 1e-30);
    const double there = euclidean_distance(folder_ / "there", folder_ / "here") / moved;
    claim(fmt::format("after a step of gradient descent, all tensors differ from the CPU's by {:.1g} % of the step, at most {:.0f} %",
                      100 * there, 100 * kDescentApart),
          there <= kDescentApart);
    const double off = euclidean_distance(folder_ / "in-bf16", folder_ / "here") / moved;
    const double length = euclidean_distance(folder_ / "in-bf16", folder_ / "still") / moved;
    claim(fmt::format("after a step in bfloat16, all tensors differ from the CPU's in float32 by {:.0f} % of the step, at most {:.0f} %; "
                      "the step is {:.2f} times as long, at most a factor of {}",
                      100 * off, 100 * kBfloatApart, length, kBfloatLength),
          off <= kBfloatApart && length <= kBfloatLength && length * kBfloatLength >= 1);
  }

  void goes_on_after_a_stop() {
    const int64_t half = test_.steps / 2;
    if (half < 1) return;
    trial(test_.device, half, "half", {"train.precision=fp32"});
    trial(test_.device, test_.steps, "rest", {"train.precision=fp32"}, "half");
    const double moved = euclidean_distance(folder_ / "half", folder_ / "there");
    const double off = euclidean_distance(folder_ / "rest", folder_ / "there");
    claim(fmt::format("stopped after {} steps and resumed, all tensors differ from those of an uninterrupted run by {:.0f} % of the later "
                      "change, at most {:.0f} %",
                      half, 100 * off / std::max(moved, 1e-30), 100 * kResumedApart),
          off <= kResumedApart * moved);
  }

  void trains_with_a_queue() {
    const std::vector<std::string> moco = {"method={name: moco, queue: 512}", "objective=infonce"};
    const double here = trial("cpu", test_.steps, "here", moco).last_loss;
    claim_loss("with a queue and a momentum copy", trial(test_.device, test_.steps, "there", moco).last_loss, here, kLossApart);
  }

  void measure_costs() {
    TrainInput input;
    input.recipe = recipe_with({"train.device=" + test_.device});
    input.dataset = input.recipe.train_data.make_images();
    const TrainPlan plan = plan_training(input);
    const double bytes = device_.is_cpu() ? static_cast<double>(plan.peak_bytes) : device_peak();
    certificate_.costs = {
        {"seconds_per_step", plan.seconds_per_step}, {"seconds_per_cached_step", plan.seconds_per_cached_step}, {"peak_bytes", bytes}};
    observer_.on_cost(fmt::format("a step of {} images: {:.4f} s with making views, {:.4f} s with ready views; {:.0f} MB at most",
                                  input.recipe.train.batch_size, plan.seconds_per_step, plan.seconds_per_cached_step, bytes / 1e6));
  }

  double device_peak() const {
    const auto stats = c10::getDeviceAllocator(device_.type())->getDeviceStats(device_.index());
    return static_cast<double>(stats.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak);
  }

  const DeviceSelfTest& test_;
  const CertificateObserver& observer_;
  c10::Device device_;
  Config root_;
  TrialFolder folder_;
  Certificate certificate_;
};

}  // namespace

Certificate certify_device(const DeviceSelfTest& test, const CertificateObserver& observer) {
  if (test.steps < 1) throw usage_error("certify: --steps {}: give 1 or more", test.steps);
  return DeviceCertificates(test, observer).run();
}

namespace {

double process_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Traffic between(const Traffic& before, const Traffic& after) {
  return {after.calls - before.calls, after.bytes - before.bytes, after.cpu_seconds - before.cpu_seconds, after.seconds - before.seconds};
}

struct Meter {
  explicit Meter(const Ranks& of) : ranks(of) { start(); }
  void start() {
    cpu = process_seconds();
    for (size_t i = 0; i < 3; ++i) traffic[i] = ranks.traffic(static_cast<Ranks::Channel>(i));
  }
  TrialCost read(int64_t steps, double last_loss) const {
    const auto of = [&](Ranks::Channel channel) { return between(traffic[static_cast<size_t>(channel)], ranks.traffic(channel)); };
    return {
        steps, process_seconds() - cpu, last_loss, of(Ranks::Channel::kRows), of(Ranks::Channel::kStatistics), of(Ranks::Channel::kSums)};
  }

  const Ranks& ranks;
  double cpu = 0;
  std::array<Traffic, 3> traffic;
};

}  // namespace

TrialCost run_trial(const Recipe& recipe, std::shared_ptr<const Dataset> dataset, const Ranks& ranks, const Trial& trial) {
  RunParts parts = make_run_parts(recipe, dataset, ranks);
  const RunDescription description = {resolve_recipe(recipe, *dataset), name_table(*dataset), {}};
  require_same_training(description.recipe, {}, ranks);
  const Trained trained = {parts.model, *parts.optimizers, *parts.method, *parts.source};
  TrainingState state;
  if (!trial.from.empty()) {
    const OpenCheckpoint from = open_checkpoint(trial.from);
    restore(from, trained);
    state = from.state;
  }
  require_same_weights(parts.model.state(), "at the start", ranks);
  parts.model.train(true);
  RankBatches batches(*parts.source, recipe.train.batch_size, ranks);
  const int64_t per_epoch = parts.source->batches_per_epoch(), last = std::min(trial.steps, recipe.train.epochs * per_epoch);
  const int64_t first = state.step;
  double last_loss = 0;
  Meter meter(ranks);
  while (state.step < last) {
    parts.method->terms().begin_epoch(state.epoch);
    parts.source->start(state.epoch, state.batch);
    for (const Batch* batch = nullptr; state.step < last && (batch = batches.next({})) != nullptr;) {
      set_learning_rate(*parts.optimizers->network, parts.schedule->learning_rate(state.epoch, batch->number, per_epoch));
      last_loss = parts.method->run(*batch, ++state.step).loss;
      ++state.batch;
      if (state.step == first + 1) meter.start();
    }
    if (state.batch < per_epoch) break;
    state.batch = 0;
    ++state.epoch;
  }
  const TrialCost cost = meter.read(state.step - first - 1, last_loss);
  require_same_weights(parts.model.state(), fmt::format("they differ after step {}", state.step), ranks);
  if (ranks.leads()) save_checkpoint(trial.out, trained, state, description);
  return cost;
}

}  // namespace debias
