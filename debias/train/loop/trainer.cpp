#include "debias/train/loop/trainer.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <set>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/human_units.h"
#include "debias/encoders/state.h"
#include "debias/train/loop/rank_batches.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/loop/train_log.h"
#include "debias/train/loop/training.h"
#include "debias/train/recipe/linked_samples.h"
#include "debias/train/state/resume.h"

namespace debias {
namespace {

// The training of an encoder, and what joins it, by a method on the batches of a source: what the loop of a run (loop/training.h) asks of it.

class EncoderTraining final : public Training {
 public:
  explicit EncoderTraining(const TrainInput& input);  // which must outlive it

  void build() override;
  void begin(RunAccess& run, const OpenCheckpoint* checkpoint) override;
  void write_files(const DataRecord& data) const override;
  void announce() const override;
  std::vector<EpochObserver*> observers() override;

  void begin_epoch() override;
  bool next(const StepOrders& own) override;
  void step() override;
  StepOrders orders_of_all() const override { return batches_->orders(); }
  Metrics epoch_metrics() const override;
  void end_epoch(const Metrics& metrics) override;

  std::optional<RunProgress> progress() const override;
  Counted counted() const override { return {samples_, input_.dataset->what()}; }
  std::string speed_text(double per_second) const override;
  std::string place() const override;

  NamedTensors weights() const override { return parts_.model.state(); }
  NamedTensors tensors() override { return stored_tensors(trained()); }

 private:
  Trained trained() const { return {parts_.model, *parts_.optimizers, *parts_.method, *parts_.source}; }
  int64_t steps_per_epoch() const { return parts_.source->batches_per_epoch(); }
  void restore_from(const OpenCheckpoint& checkpoint);
  void note_substitutions(const Batch& batch);
  void log_step(const StepReport& report, double learning_rate) const;
  std::string progress_note() const;

  const TrainInput& input_;
  const Recipe& recipe_;
  int64_t frozen_epochs_;  // at the beginning, of the whole encoder
  RunParts parts_;
  std::vector<std::unique_ptr<EpochObserver>> observers_;
  RunAccess* run_ = nullptr;
  std::optional<RankBatches> batches_;
  const Batch* batch_ = nullptr;  // of the step that is next
  std::set<int64_t> named_;       // unreadable images
  int64_t samples_ = 0;           // seen since begin_epoch()
  double waited_ = 0;             // for batches, before that
};

// A TrainObserver with the model that it looks at.
class ModelObserver final : public EpochObserver {
 public:
  ModelObserver(TrainObserver& observer, const Model& model) : observer_(observer), model_(model) {}
  bool is_due(int64_t epoch, int64_t epochs) const override { return observer_.is_due(epoch, epochs); }
  bool feeds_training() const override { return observer_.feeds_training(); }
  Metrics after_epoch(int64_t epoch, int64_t epochs) override { return observer_.after_epoch({epoch, epochs, model_}); }

 private:
  TrainObserver& observer_;
  const Model& model_;
};

EncoderTraining::EncoderTraining(const TrainInput& input)
    : input_(input), recipe_(input.recipe), frozen_epochs_(input.recipe.encoder.backbone.freeze_epochs) {
  for (const auto& observer : input.observers) observers_.push_back(std::make_unique<ModelObserver>(*observer, parts_.model));
}

void EncoderTraining::build() {
  parts_ = make_run_parts(recipe_, input_.dataset, *input_.ranks);
  for (const auto& observer : input_.observers) observer->before_training(parts_.model);
}

void EncoderTraining::begin(RunAccess& run, const OpenCheckpoint* checkpoint) {
  run_ = &run;
  if (checkpoint != nullptr) restore_from(*checkpoint);
  if (has_fixed_features(recipe_, *input_.dataset, *parts_.model.encoder, *input_.ranks)) {
    parts_.source = fixed_features(recipe_, input_.dataset, *parts_.model.encoder, parts_.device.device, run.progress);
  }
  batches_.emplace(*parts_.source, recipe_.train.batch_size, *input_.ranks);
}

void EncoderTraining::restore_from(const OpenCheckpoint& checkpoint) {
  restore(checkpoint, trained());
  parts_.method->terms().restore_estimates(run_->state.estimates);
  require_fitting(checkpoint, {steps_per_epoch(), parts_.method->terms().labels().size()}, recipe_.output);
}

void EncoderTraining::write_files(const DataRecord& data) const {
  write_listings(data, run_->folder);
  write_file_atomically(run_->folder + "/classes.json", json_text(to_json(name_table(*input_.dataset)), 2) + "\n");
  for (const auto& [name, text] : input_.kept_files) write_file_atomically(run_->folder + "/" + name, text);
}

void EncoderTraining::announce() const {
  TrainLog& log = run_->log;
  if (recipe_.train.micro_batch && *recipe_.train.micro_batch < recipe_.train.batch_size) {
    log.warn(
        fmt::format("micro_batch {}: the loss uses the whole batch of {}, but BatchNorm statistics are those of each part, so results "
                    "differ from a single pass",
                    *recipe_.train.micro_batch, recipe_.train.batch_size));
  }
  for (const auto& line : parts_.method->terms().cautions()) log.warn(line);
  const int64_t warmup = recipe_.schedule.warmup_epochs, epochs = recipe_.train.epochs;
  if (warmup >= epochs) {
    log.warn(fmt::format("schedule: warmup_epochs {} of a run of {} epochs: the learning rate is still rising when the run ends", warmup,
                         epochs));
  }
  if (recipe_.must_link) {
    const JoinedLinks links = joined_links(parts_.linked);
    links.is_large ? log.warn(links.text) : log.note(links.text);
  }
  const GroupNotes groups = notes_on_groups(recipe_, *input_.dataset);
  for (const auto& line : groups.notes) groups.has_cautions ? log.warn(line) : log.info(line);
  for (const auto& line : undrawn_groups(recipe_, *input_.dataset)) log.warn(line);
  for (const auto& line : parts_.source->notes()) log.warn(line);
  const std::string device = device_line(parts_.device);
  parts_.device.driver_unused ? log.warn(device) : log.note(device);
  log.note(fmt::format("precision: {}", rounding(recipe_.train)));
  if (frozen_epochs_ > 0)
    log.note(fmt::format("the encoder is frozen in epochs 1 to {} and trained from epoch {} on", frozen_epochs_, frozen_epochs_ + 1));
  if (has_fixed_features(recipe_, *input_.dataset, *parts_.model.encoder, *input_.ranks)) {
    log.note("the encoder is frozen and the views are fixed: the features of each image are computed once");
  }
  const Ranks& ranks = *input_.ranks;
  if (ranks.is_alone()) return;
  log.note(fmt::format("{} processes share each batch", ranks.size()));
  const DeviceExchange devices = ranks.device_exchange();
  if (!devices.groups.empty()) log.note(fmt::format("tensors cross between devices, through {}", devices.groups));
  if (!devices.refusal.empty()) log.warn(fmt::format("tensors of devices cross by way of the host: {}", devices.refusal));
}

std::vector<EpochObserver*> EncoderTraining::observers() {
  std::vector<EpochObserver*> all;
  for (const auto& observer : observers_) all.push_back(observer.get());
  return all;
}

void EncoderTraining::begin_epoch() {
  samples_ = 0;
  waited_ = parts_.source->seconds_waited();
  run_->progress.begin(fmt::format("epoch {}/{}", run_->state.epoch + 1, recipe_.train.epochs), steps_per_epoch());
  parts_.method->hold_encoders(run_->state.epoch < frozen_epochs_);
  parts_.model.train(true);
  parts_.method->terms().begin_epoch(run_->state.epoch);
  parts_.source->start(run_->state.epoch, run_->state.batch);
}

bool EncoderTraining::next(const StepOrders& own) {
  batch_ = batches_->next(own);
  return batch_ != nullptr;
}

void EncoderTraining::step() {
  TrainingState& state = run_->state;
  note_substitutions(*batch_);
  const double learning_rate = parts_.schedule->learning_rate(state.epoch, batch_->number, steps_per_epoch());
  set_learning_rate(*parts_.optimizers->network, learning_rate);
  const StepReport report = parts_.method->run(*batch_, state.step + 1, [this] { parts_.source->prepare(); });
  ++state.batch;
  ++state.step;
  samples_ += std::ssize(batch_->ids);
  state.loss_sum += report.loss;
  state.grad_norm_sum += report.grad_norm;
  state.diagnostics.add(report.diagnostics);
  if (state.step % recipe_.train.log_every == 0) log_step(report, learning_rate);
  run_->progress.advance(state.batch, progress_note());
}

void EncoderTraining::note_substitutions(const Batch& batch) {
  run_->state.substituted += batch.substituted;
  for (const auto& [index, reason] : batch.unreadable) {
    if (!named_.insert(index).second) continue;
    run_->log.warn(fmt::format("{}; another image replaces it (data.on_error: substitute)", reason));
  }
}

void EncoderTraining::log_step(const StepReport& report, double learning_rate) const {
  if (run_->metrics == nullptr) return;
  nlohmann::ordered_json line = {{"epoch", run_->state.epoch + 1},
                                 {"step", run_->state.step},
                                 {"loss", report.loss},
                                 {"grad_norm", report.grad_norm},
                                 {"learning_rate", learning_rate}};
  const auto labels = parts_.method->terms().labels();
  for (size_t i = 0; i < labels.size(); ++i) {
    line[term_prefix(labels, i) + "anchors"] = report.diagnostics.terms[i].anchors;
    line[term_prefix(labels, i) + "clamped"] = report.diagnostics.terms[i].clamped;
  }
  for (const auto& [name, value] : report.diagnostics.metrics(labels)) line[name] = value;
  for (const auto& [name, value] : parts_.method->terms().scheduled()) line[name] = value;
  run_->metrics->write(line, run_->state.step);
}

std::string EncoderTraining::progress_note() const {
  const double loss = run_->state.loss_sum / static_cast<double>(run_->state.batch);
  return fmt::format("run {} left, loss {}", clock_text(run_->seconds_left().value_or(0)), epoch_number(loss));
}

Metrics EncoderTraining::epoch_metrics() const {
  const TrainingState& state = run_->state;
  const double batches = static_cast<double>(state.batch);
  Metrics metrics = {{"train_loss", state.loss_sum / batches}, {"grad_norm", state.grad_norm_sum / batches}};
  for (auto& metric : state.diagnostics.metrics(parts_.method->terms().labels())) metrics.push_back(std::move(metric));
  for (auto& metric : parts_.method->terms().scheduled()) metrics.push_back(std::move(metric));
  if (recipe_.on_error == OnError::kSubstitute) metrics.emplace_back("substituted", static_cast<double>(state.substituted));
  return metrics;
}

void EncoderTraining::end_epoch(const Metrics& metrics) {
  TrainingState& state = run_->state;
  for (const auto& note : parts_.method->terms().take_estimates(state.epoch, metrics)) run_->log.warn(note);
  state.estimates = parts_.method->terms().estimates();
  state.loss_sum = state.grad_norm_sum = 0;
  state.substituted = 0;
  state.diagnostics = {};
}

std::optional<RunProgress> EncoderTraining::progress() const {
  return RunProgress{run_->state.step, recipe_.train.epochs * steps_per_epoch()};
}

std::string EncoderTraining::speed_text(double per_second) const {
  return fmt::format("{:.0f} {}/s, waited {:.2f} s for {}", per_second, input_.dataset->what(), parts_.source->seconds_waited() - waited_,
                     parts_.source->what());
}

std::string EncoderTraining::place() const { return fmt::format("batch {}", run_->state.batch); }

}  // namespace

TrainResult train(const TrainInput& input) {
  const Recipe& recipe = input.recipe;
  const LoopRecipe loop = {.output = recipe.output,
                           .resolved = resolve_recipe(recipe, *input.dataset),
                           .epochs = recipe.train.epochs,
                           .checkpoint_every = recipe.train.checkpoint_every,
                           .on_full_disk = recipe.train.on_full_disk,
                           .select = recipe.evaluate.select,
                           .on_evaluation_error = recipe.evaluate.on_error};
  require_same_training(loop.resolved, input.data, *input.ranks);
  EncoderTraining training(input);
  return run_training(training, loop, {name_table(*input.dataset), input.data, input.data_change, input.data_roots}, input);
}

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSlowStep = 5;  // seconds

int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

template <class Work>
double timed(const Work& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

int64_t state_bytes(const RunParts& parts) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : parts.model.state()) bytes += static_cast<int64_t>(tensor.nbytes());
  for (const auto& [name, tensor] : parts.optimizers->state()) bytes += static_cast<int64_t>(tensor.nbytes());
  for (const auto& [name, tensor] : parts.method->state()) bytes += static_cast<int64_t>(tensor.nbytes());
  for (const auto& [name, tensor] : parts.source->state()) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

// Steps of a run that is thrown away.
class TrialSteps {
 public:
  explicit TrialSteps(RunParts& parts) : parts_(parts) {
    parts_.model.train(true);
    parts_.source->start(epoch_);
    cached_ = next();
    for (auto& [name, tensor] : cached_.inputs) tensor = tensor.clone();
  }

  const Batch& next() {
    if (const Batch* batch = parts_.source->next()) return *batch;
    parts_.source->start(++epoch_);
    return *parts_.source->next();
  }
  void cached() { parts_.method->run(cached_, ++step_); }
  void fresh() {
    parts_.method->run(next(), ++step_, [this] { parts_.source->prepare(); });
  }

  // Seconds of one on a cached batch, behind the first, which allocates and chooses kernels.
  double warm_up() {
    cached();
    return timed([this] { cached(); });
  }

  // Medians, in seconds. The batches that were made while others were timed are used up first.
  double fresh_seconds(int64_t steps, int64_t prefetch) {
    for (int64_t i = 0; i <= prefetch; ++i) fresh();
    std::vector<double> seconds;
    for (int64_t i = 0; i < steps; ++i) seconds.push_back(timed([this] { fresh(); }));
    return median(seconds);
  }
  double cached_seconds(int64_t steps) {
    for (int64_t i = 0; i < 2; ++i) cached();  // until the workers have filled the ring and rest
    std::vector<double> seconds;
    for (int64_t i = 0; i < steps; ++i) seconds.push_back(timed([this] { cached(); }));
    return median(seconds);
  }

  // Of a network of weeks, whose step is not repeated a dozen times: loader and network overlap, and the slower one counts.
  double slow_seconds(double trial, int64_t prefetch) {
    for (int64_t i = 0; i <= prefetch; ++i) next();
    return std::max(trial, timed([this] { next(); }));
  }

 private:
  RunParts& parts_;
  Batch cached_;
  int64_t epoch_ = 0, step_ = 0;
};

int64_t parameter_count(const Model& model) {
  int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  if (model.classifier == nullptr) return count;
  for (const auto& parameter : model.classifier->linear()->parameters()) count += parameter.numel();
  return count;
}

}  // namespace

TrainPlan plan_training(const TrainInput& input) {
  constexpr double kTrialSeconds = 10;
  constexpr int64_t kMostTrials = 12;
  RunParts parts = make_run_parts(input.recipe, input.dataset);
  for (const auto& observer : input.observers) observer->before_training(parts.model);
  TrainPlan plan;
  plan.samples_are = input.dataset->what();
  plan.inputs_are = parts.source->what();
  plan.samples = input.dataset->size();
  plan.steps_per_epoch = parts.source->batches_per_epoch();
  plan.epochs = input.recipe.train.epochs;
  plan.parameters = parameter_count(parts.model);
  TrialSteps steps(parts);
  const int64_t prefetch = input.recipe.train.prefetch;
  const double trial = steps.warm_up();
  plan.trial_steps = std::clamp<int64_t>(static_cast<int64_t>(kTrialSeconds / std::max(trial, 1e-6)), 1, kMostTrials);
  const bool is_slow = trial > kSlowStep;
  plan.seconds_per_step = is_slow ? steps.slow_seconds(trial, prefetch) : steps.fresh_seconds(plan.trial_steps, prefetch);
  plan.seconds_per_cached_step = is_slow ? trial : steps.cached_seconds(plan.trial_steps);
  plan.seconds_per_epoch = plan.seconds_per_step * static_cast<double>(plan.steps_per_epoch);
  const bool once = has_fixed_features(input.recipe, *input.dataset, *parts.model.encoder, Ranks::alone());
  plan.seconds_total = plan.seconds_per_epoch * static_cast<double>(once ? 1 : plan.epochs);  // the encoder's part
  plan.peak_bytes = peak_resident_bytes();
  plan.checkpoint_bytes = state_bytes(parts);
  plan.groups = drawn_groups(input.recipe, *input.dataset);
  plan.undrawn = undrawn_groups(input.recipe, *input.dataset);
  for (const auto& line : parts.source->notes()) plan.undrawn.push_back(line);
  return plan;
}

double seconds_of_step(const TrainInput& input) {
  constexpr int64_t kTrials = 3;
  RunParts parts = make_run_parts(input.recipe, input.dataset);
  TrialSteps steps(parts);
  const int64_t prefetch = input.recipe.train.prefetch;
  const double trial = steps.warm_up();
  return trial > kSlowStep ? steps.slow_seconds(trial, prefetch) : steps.fresh_seconds(kTrials, prefetch);
}

}  // namespace debias
