#include "debias/train/loop/encoder_training.h"

#include "debias/core/atomic_file.h"
#include "debias/core/human_units.h"
#include "debias/train/loop/run_parts.h"
#include "debias/train/loop/train_log.h"
#include "debias/train/recipe/linked_samples.h"
#include "debias/train/state/resume.h"

namespace debias {
namespace {

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

}  // namespace

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

}  // namespace debias
