#include "debias/train/loop/training_loop.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/human_units.h"
#include "debias/core/nearest_name.h"
#include "debias/train/loop/disk_wait.h"
#include "debias/train/loop/train_log.h"
#include "debias/train/loop/training.h"
#include "debias/train/state/checkpoint.h"
#include "debias/train/state/metric_files.h"
#include "debias/train/state/resume.h"

namespace debias {
namespace {

using LoopClock = std::chrono::steady_clock;

double seconds_since(LoopClock::time_point start) { return std::chrono::duration<double>(LoopClock::now() - start).count(); }

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

bool is_interruption(const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  return ours != nullptr && ours->kind() == ErrorKind::kInterrupted;
}

class TrainingLoop {
 public:
  TrainingLoop(Training& training, const LoopRecipe& recipe, const LoopData& data, const RunControl& control)
      : training_(training),
        recipe_(recipe),
        data_(data),
        control_(control),
        ranks_(*control.ranks),
        built_(build_ahead()),
        folder_(open_folder()),
        description_{recipe.resolved, data.names, data.record},
        log_(folder_ ? folder_->path() + "/train.log" : "/dev/null", *control.log),
        disk_(
            recipe.on_full_disk, control.full_disk_retry, [this] { return stop_signal() != 0; }, log_),
        run_{recipe.output, log_, *control.progress, state_, nullptr, [this] { return seconds_left(); }} {
    report_saved(true);
    if (control_.begun != nullptr) control_.begun->store(true);
  }

  TrainResult run() {
    const auto start = LoopClock::now();
    TrainResult result;
    result.folder = recipe_.output;
    result.epochs = recipe_.epochs;
    ResumeCheck check;
    std::optional<OpenCheckpoint> checkpoint;
    const std::string begins = ranks_.leader_says([&] {
      checkpoint = newest_checkpoint(check);
      return checkpoint ? checkpoint->state.finished ? kFinished : kResumed : kNew;
    });
    if (begins == kFinished) {
      on_leader([&] { training_.end(recipe_.output); });  // the run may have been ended between its last checkpoint and that
      result.already_finished = true;
      return result;
    }
    description_.data.accepted = check.accepted;
    if (!built_) training_.build();
    if (begins == kResumed) share_checkpoint(checkpoint);
    on_leader([&] { folder_->put_in_force(recipe_.resolved); });
    begin(checkpoint, check.forgets_best);
    on_leader([&] { open_files(); });
    require_same_weights(training_.weights(), fmt::format("they differ after step {}", state_.step), ranks_);
    training_.announce();
    last_checkpoint_ = LoopClock::now();
    while (state_.epoch < recipe_.epochs) result.metrics = epoch();
    if (metrics_) metrics_->finish();
    on_leader([&] { training_.end(recipe_.output); });
    result.failed_evaluations = state_.failed_evaluations;
    result.seconds = seconds_since(start);
    return result;
  }

 private:
  static constexpr const char *kNew = "new", *kResumed = "resumed", *kFinished = "finished";

  // A run that is there is looked at first: it may be finished. Ranks build together, and only rank 0 sees the folder.
  bool build_ahead() const {
    const bool may_resume = control_.existing == ExistingFolder::kResume;
    std::error_code ignored;
    if (may_resume && (!ranks_.is_alone() || std::filesystem::exists(recipe_.output + "/config.yaml", ignored))) return false;
    training_.build();
    return true;
  }

  // Rank 0's alone.
  std::optional<RunFolder> open_folder() const {
    if (!ranks_.leads()) return std::nullopt;
    return RunFolder::open(recipe_.output, control_.existing, recipe_.resolved, data_.roots, *control_.log);
  }

  // Work with the run's folder, for which the other ranks wait.
  void on_leader(const std::function<void()>& work) const {
    ranks_.leader_says([&] {
      work();
      return std::string();
    });
  }

  std::optional<OpenCheckpoint> newest_checkpoint(ResumeCheck& check) {
    if (!folder_->resumed()) return std::nullopt;
    std::optional<OpenCheckpoint> checkpoint = open_newest(folder_->checkpoints(), log_);
    if (!checkpoint) return checkpoint;
    require_possible(*checkpoint, recipe_.epochs);
    check = check_resume(*checkpoint, description_, folder_->path(), data_.change, log_);
    if (checkpoint->state.finished) require_metrics(folder_->path() + "/metrics.jsonl", checkpoint->state.metrics);
    return checkpoint;
  }

  void share_checkpoint(std::optional<OpenCheckpoint>& checkpoint) const {
    if (ranks_.leads()) return give_checkpoint(checkpoint->file.path(), ranks_);
    checkpoint = take_checkpoint(ranks_);
  }

  void begin(const std::optional<OpenCheckpoint>& checkpoint, bool forgets_best) {
    if (!checkpoint) {
      if (folder_ && folder_->resumed()) {
        log_.warn(fmt::format("no checkpoint in '{}' yet: starting from the beginning", folder_->path()));
      }
      return training_.begin(run_, nullptr);
    }
    state_ = checkpoint->state;
    training_.begin(run_, &*checkpoint);
    saved_step_ = state_.step;
    if (ranks_.leads()) set_damaged_aside(checkpoint->file.path());
    if (forgets_best && state_.best_value) {
      log_.warn("the criterion of `best` has changed: `best` is chosen among the epochs from now on");
      state_.best_value.reset();
    }
    for (const auto& line : changes_of_machine(state_, ranks_.size())) log_.warn(line);
    log_.info(fmt::format("resuming '{}' at epoch {}{} (step {})", recipe_.output, state_.epoch + 1, place_behind_comma(), state_.step));
  }

  // A `last` that could not be read must not replace the `previous` from which the run resumes.
  void set_damaged_aside(const std::string& opened) const {
    const std::string last = folder_->checkpoints() + "/last.safetensors";
    if (opened == last || !std::filesystem::exists(last)) return;
    rename_durably(last, last + ".damaged");
  }

  void open_files() {
    to_disk([&] {
      training_.write_files(description_.data);
      metrics_ = std::make_unique<MetricFiles>(folder_->path(), state_.metrics, log_);
    });
    metrics_->begin(recipe_.resolved);
    run_.metrics = metrics_.get();
  }

  // With several processes a signal is always obeyed by the loop, so that all of them end.
  void report_saved(bool all) const {
    if (control_.all_saved != nullptr) control_.all_saved->store(all && ranks_.is_alone());
  }

  Metrics epoch() {
    begun_ = {LoopClock::now(), state_.step};
    training_.begin_epoch();
    for (;;) {
      if (const auto now = training_.progress(); now && !run_clock_) run_clock_.emplace(now->done);
      if (!training_.next(own_orders())) break;
      report_saved(false);
      training_.step();
      after_step();
    }
    control_.progress->end();
    if (metrics_ && state_.step > begun_.step) note_speed("");
    return end_epoch();
  }

  // Of the whole run, evaluations so far included.
  std::optional<double> seconds_left() const {
    const auto now = training_.progress();
    return now && run_clock_ ? run_clock_->left(now->done, now->total) : std::nullopt;
  }

  // Of the epoch, or of its part, that has been trained.
  void note_speed(const std::string& remark) {
    const Counted counted = training_.counted();
    const EpochTime time = {state_.epoch + 1, seconds_since(begun_.at), counted.count, counted.what};
    log_.note(fmt::format("epoch {}: {:.1f} s, {}{}", time.epoch, time.seconds, training_.speed_text(time.per_second()), remark));
    metrics_->write_time(time, state_.step);
  }

  std::string place_behind_comma() const {
    const std::string place = training_.place();
    return place.empty() ? "" : ", " + place;
  }

  int stop_signal() const { return control_.stop_signal == nullptr ? 0 : control_.stop_signal->load(); }

  StepOrders own_orders() const {
    const bool is_late = recipe_.checkpoint_every > 0 && seconds_since(last_checkpoint_) >= recipe_.checkpoint_every;
    return {stop_signal(), ranks_.rank(), is_late || training_.needs_save()};
  }

  // One process uses its current orders; several use those that they agreed on before the step.
  StepOrders orders() const { return ranks_.is_alone() ? own_orders() : training_.orders_of_all(); }

  void after_step() {
    const StepOrders now = orders();
    if (now.stop_signal == 0 && !now.save) return;
    save();
    if (metrics_ && orders().stop_signal != 0) {
      const std::string place = training_.place();
      note_speed(fmt::format("; stopped after {}", place.empty() ? fmt::format("step {}", state_.step) : place));
    }
    stop_if_asked();
  }

  void to_disk(const std::function<void()>& write) const {
    try {
      disk_.run(write);
    } catch (const DiskFull& full) {
      const int signal = stop_signal();
      if (signal == 0 || recipe_.on_full_disk == OnFullDisk::kStop) throw;
      throw Error(
          ErrorKind::kInterrupted,
          fmt::format(
              "stopped by {} after step {} while waiting for space on the disk; --resume continues from the previous checkpoint; {}",
              signal_name(signal), state_.step, full.what()));
    }
  }

  void stop_if_asked() const {
    const StepOrders now = orders();
    if (now.stop_signal == 0) return;
    control_.progress->end();
    const std::string text = fmt::format("stopped by {} after step {} (epoch {}{}); continue with --resume", signal_name(now.stop_signal),
                                         state_.step, state_.epoch + 1, place_behind_comma());
    if (ranks_.is_alone()) throw Error(ErrorKind::kInterrupted, text);
    throw RankLost(ErrorKind::kInterrupted, fmt::format("rank {} of {}: {}", now.stopped_rank, ranks_.size(), text));
  }

  Metrics end_epoch() {
    Metrics metrics = training_.epoch_metrics();
    evaluate(metrics);
    ++state_.epoch;
    training_.end_epoch(metrics);
    nlohmann::ordered_json line = {{"epoch", state_.epoch}};
    for (const auto& [name, value] : metrics) line[name] = value;
    if (metrics_) metrics_->write(line, state_.step);
    state_.batch = 0;
    state_.finished = state_.epoch == recipe_.epochs;
    const EpochSummary summary = {state_.epoch, recipe_.epochs, metrics, state_.finished ? std::nullopt : seconds_left()};
    log_.info_shortened(whole_epoch_line(summary), short_epoch_line(summary));
    on_leader([&] { keep_best(metrics); });
    save();
    if (!state_.finished) stop_if_asked();
    return metrics;
  }

  bool is_evaluated() const {
    const auto observers = training_.observers();
    return std::any_of(observers.begin(), observers.end(),
                       [&](const auto* observer) { return observer->is_due(state_.epoch + 1, recipe_.epochs); });
  }

  // Rank 0 evaluates and sends the metrics to all, since training may depend on them.
  void evaluate(Metrics& metrics) {
    const std::string due = ranks_.leader_says([&] { return is_evaluated() ? "due" : ""; });
    if (due.empty()) return;
    if (saved_step_ != state_.step) save();
    const std::string broadcast = ranks_.leader_says([&] {
      evaluate_here(metrics);
      const auto packed = nlohmann::json::to_cbor(nlohmann::json(metrics));
      return std::string(packed.begin(), packed.end());
    });
    if (!ranks_.leads()) metrics = nlohmann::json::from_cbor(broadcast).get<Metrics>();
  }

  void evaluate_here(Metrics& metrics) {
    const int64_t epoch = state_.epoch + 1;
    for (EpochObserver* observer : training_.observers()) {
      if (!observer->is_due(epoch, recipe_.epochs)) continue;
      try {
        Metrics more;
        to_disk([&] { more = observer->after_epoch(epoch, recipe_.epochs); });
        for (auto& metric : more) metrics.push_back(std::move(metric));
      } catch (const std::exception& error) {
        control_.progress->end();
        if (is_interruption(error)) throw;
        if (observer->feeds_training() || recipe_.on_evaluation_error == EvaluationFailure::kStop) throw;
        state_.failed_evaluations.push_back({epoch, error.what()});
        log_.warn(
            fmt::format("the evaluation after epoch {} failed: {}; training continues (evaluate.on_error: continue)", epoch, error.what()));
      }
    }
  }

  // If the split was evaluated now, `select` must be among the metrics.
  void require_selected(const Metrics& metrics) const {
    const size_t dot = recipe_.select.find('.');
    const std::string split = dot == std::string::npos ? "valid." : recipe_.select.substr(0, dot + 1);
    std::vector<std::string> names;
    for (const auto& metric : metrics) names.push_back(metric.first);
    const bool evaluated = std::ranges::any_of(names, [&](const auto& name) { return name.starts_with(split); });
    if (!evaluated || std::ranges::find(names, recipe_.select) != names.end()) return;
    throw usage_error("evaluate: select '{}' is not among the metrics of the {} set{}", recipe_.select,
                      split == "test." ? "test" : "validation", suggestion(recipe_.select, names));
  }

  void keep_best(const Metrics& metrics) {
    if (recipe_.select.empty()) return;
    require_selected(metrics);
    for (const auto& [name, value] : metrics) {
      if (name != recipe_.select || std::isnan(value) || (state_.best_value && value <= *state_.best_value)) continue;
      state_.best_value = value;
      state_.best_epoch = state_.epoch;
      to_disk([&] { write_checkpoint(folder_->checkpoints() + "/best.safetensors"); });
    }
  }

  void require_finite_weights() const {
    for (const auto& [name, tensor] : training_.weights()) {
      if (!tensor.is_floating_point() || at::isfinite(tensor).all().item<bool>()) continue;
      throw numeric_error("training stopped after step {}: '{}' is not finite, so it is not saved; lower the learning rate", state_.step,
                          name);
    }
  }

  void write_checkpoint(const std::string& path) {
    require_finite_weights();
    state_.metrics = metrics_->commit();
    state_.threads = at::get_num_threads();
    state_.ranks = ranks_.size();
    state_.instruction_set = instruction_set();
    Metadata metadata = stored_metadata(state_, description_);
    metadata.merge(training_.metadata());
    save_checkpoint(path, training_.tensors(), std::move(metadata));
  }

  void save() {
    require_same_weights(training_.weights(), fmt::format("they differ after step {}, so nothing is saved", state_.step), ranks_);
    on_leader(
        [&] { to_disk([&] { save_generation(folder_->checkpoints(), [this](const std::string& path) { write_checkpoint(path); }); }); });
    last_checkpoint_ = LoopClock::now();
    saved_step_ = state_.step;
    report_saved(true);
  }

  Training& training_;
  const LoopRecipe& recipe_;
  const LoopData& data_;
  const RunControl& control_;
  const Ranks& ranks_;
  bool built_;                       // ahead of the folder
  std::optional<RunFolder> folder_;  // rank 0's alone
  RunDescription description_;
  TrainLog log_;
  DiskWait disk_;
  std::unique_ptr<MetricFiles> metrics_;  // likewise
  TrainingState state_;
  RunAccess run_;
  int64_t saved_step_ = -1;  // of the last checkpoint
  struct {
    LoopClock::time_point at;
    int64_t step = 0;
  } begun_;  // the epoch, or what was left of it
  LoopClock::time_point last_checkpoint_;
  std::optional<RunClock> run_clock_;
};

}  // namespace

TrainResult run_training(Training& training, const LoopRecipe& recipe, const LoopData& data, const RunControl& control) {
  if (recipe.output.empty()) throw usage_error("no output folder is given; write `output: runs/NAME` or add output=runs/NAME");
  return TrainingLoop(training, recipe, data, control).run();
}

}  // namespace debias
