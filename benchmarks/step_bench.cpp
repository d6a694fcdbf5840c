// Whole training steps (forward of two views, batch norm, loss, backward, optimizer) of a ResNet-18 on images of 32 x 32 pixels, for
// benchmarks/compare_steps.py, which times them in turn with PyTorch's.
//
//   step_bench WEIGHTS.safetensors IMAGES.npy WIDTH fp32|bf16 THREADS
//
// Writes the initial weights to WEIGHTS, reads the views float32 [2, B, 3, 32, 32], and answers each line of standard input, until its end:
//   step       loss, seconds by the clock, seconds of the processor
//   profile    "part seconds" pairs of one step, on one thread: where the processor's time goes
//
// Without these words, a few steps of a small batch of its own, as every benchmark has at a small size.
#include <ATen/record_function.h>

#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "debias/core/npy.h"
#include "debias/data/dataset_registry.h"
#include "debias/encoders/state.h"
#include "debias/process/startup.h"
#include "debias/train/loop/run_parts.h"

namespace debias {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double processor_seconds(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Recipe recipe_of(const std::string& width, const std::string& precision, const std::string& threads, int64_t batch) {
  return read_recipe(
      parse_yaml("{name: step, seed: 1, data: {train: {name: glyphs, size: 32, train_count: " + std::to_string(batch) +
                     "}}, views: {preset: sim32, count: 2, forward: per_view}, encoder: {name: resnet18, stem: cifar, width: " + width +
                     "}, head: {name: simclr}, objective: {name: infonce, temperature: 0.5}, " +
                     "optimizer: {name: adam, learning_rate: 1e-3}, train: {epochs: 1, batch_size: " + std::to_string(batch) +
                     ", device: cpu, precision: " + precision + ", threads: " + threads + "}}",
                 "step_bench"));
}

// The views as the loader writes them: channels last, rounded where the network would round them.
Batch batch_of(const at::Tensor& views, const std::string& precision) {
  Batch batch;
  const at::Tensor last = views.permute({0, 1, 3, 4, 2}).contiguous().permute({0, 1, 4, 2, 3});
  batch.inputs = {{"images", precision == "bf16" ? last.to(at::kBFloat16) : last}};
  const auto B = static_cast<size_t>(views.size(1));
  batch.ids.resize(B);
  std::iota(batch.ids.begin(), batch.ids.end(), 0);
  batch.indices = batch.ids;
  for (auto* column : {&batch.occurrences, &batch.labels, &batch.biases}) column->assign(B, 0);
  return batch;
}

at::Tensor views_of(const NpyArray& images) {
  const at::Tensor views = at::empty(images.shape, at::kFloat);
  std::copy_n(images.as<float>().data(), images.count(), views.mutable_data_ptr<float>());
  return views;
}

void write_weights(const Model& model, const std::string& path) {
  std::vector<TensorBytes> tensors;
  const auto state = model.state();
  for (const auto& [name, tensor] : state) tensors.push_back(bytes_of(name, tensor));
  write_safetensors(path, tensors, {});
}

// The processor's seconds inside recorded functions, without those that they call.
class Profile {
 public:
  Profile() {
    current_ = this;
    handle_ = at::addThreadLocalCallback(
        at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
  }
  ~Profile() { at::removeCallback(handle_); }
  const std::map<std::string, double>& parts() const { return parts_; }

 private:
  struct Open {
    std::string part;
    double start, inside;
  };

  static std::string part_of(const std::string& name) {
    const auto has = [&name](const char* word) { return name.find(word) != std::string::npos; };
    if (has("convolution_backward") || has("ConvolutionBackward")) return "convolutions, backward";
    if (has("convolution")) return "convolutions, forward";
    if (has("Norm") || has("norm")) return "normalisation";
    if (has("mm") || has("linear")) return "linear layers";
    if (has("Log") || has("Sum") || has("Triplet")) return "loss";
    if (has("copy") || has("Copy") || has("contiguous") || has("clone")) return "copies";
    if (has("empty") || has("zeros") || has("resize") || has("fill") || has("zero_")) return "allocation";
    return std::getenv("STEP_BENCH_NAMES") != nullptr ? name : "other operators";
  }

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    current_->open_.push_back({part_of(function.name()), processor_seconds(CLOCK_THREAD_CPUTIME_ID), 0});
    return nullptr;
  }
  static void end(const at::RecordFunction&, at::ObserverContext*) {
    const Open done = current_->open_.back();
    current_->open_.pop_back();
    const double all = processor_seconds(CLOCK_THREAD_CPUTIME_ID) - done.start;
    current_->parts_[done.part] += all - done.inside;
    if (!current_->open_.empty()) current_->open_.back().inside += all;
  }

  static inline thread_local Profile* current_ = nullptr;
  at::CallbackHandle handle_;
  std::vector<Open> open_;
  std::map<std::string, double> parts_;
};

void print_profile(const RunParts& parts, const Batch& batch, int64_t step) {
  const double start = processor_seconds();
  std::map<std::string, double> seconds;
  {
    const Profile profile;
    parts.method->run(batch, step);
    seconds = profile.parts();
  }
  const double whole = processor_seconds() - start;
  const double before = processor_seconds();
  parts.optimizers->step();  // once more, by itself
  const double optimizer = processor_seconds() - before;
  double recorded = 0;
  for (const auto& [part, value] : seconds) recorded += value;
  std::cout << "whole\t" << whole << "\toutside operators\t" << whole - recorded << "\toptimizer (part of others)\t" << optimizer;
  for (const auto& [part, value] : seconds) std::cout << '\t' << part << '\t' << value;
  std::cout << std::endl;
}

RunParts ready_parts(const Recipe& recipe) {
  RunParts parts = make_run_parts(recipe, recipe.train_data.make_images());
  parts.model.train(true);
  parts.method->terms().begin_epoch(0);
  return parts;
}

void print_step(const RunParts& parts, const Batch& batch, int64_t step) {
  const double wall = now(), processor = processor_seconds();
  const double loss = parts.method->run(batch, step).loss;
  std::cout << loss << ' ' << now() - wall << ' ' << processor_seconds() - processor << std::endl;
}

int small_steps() {
  for (const std::string precision : {"fp32", "bf16"}) {
    const Batch batch = batch_of(at::rand({2, 32, 3, 32, 32}), precision);
    const RunParts parts = ready_parts(recipe_of("16", precision, "1", 32));
    std::cout << precision << ": loss, seconds, seconds of the processor\n";
    for (int64_t step = 1; step <= 3; ++step) print_step(parts, batch, step);
  }
  return 0;
}

int serve(char** words) {
  const Batch batch = batch_of(views_of(read_npy(words[2])), words[4]);
  const RunParts parts = ready_parts(recipe_of(words[3], words[4], words[5], batch.images().size(1)));
  write_weights(parts.model, words[1]);
  std::cout << "ready" << std::endl;
  int64_t step = 0;
  for (std::string word; std::cin >> word;) {
    if (word == "profile") {
      print_profile(parts, batch, ++step);
      continue;
    }
    print_step(parts, batch, ++step);
  }
  return 0;
}

}  // namespace
}  // namespace debias

int main(int argc, char** argv) {
  const bool small = argc < 2 || std::string(argv[1]).starts_with("--benchmark");
  if (!small && argc != 6) {
    std::cerr << "usage: step_bench [WEIGHTS.safetensors IMAGES.npy WIDTH fp32|bf16 THREADS]\n";
    return 2;
  }
  debias::keep_large_blocks();
  std::cout.precision(9);
  return small ? debias::small_steps() : debias::serve(argv);
}
