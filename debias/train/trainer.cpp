#include "debias/train/trainer.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <functional>
#include <set>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/nearest_name.h"
#include "debias/optim/optimizer.h"
#include "debias/train/checkpoint.h"
#include "debias/train/disk_wait.h"
#include "debias/train/metric_files.h"
#include "debias/train/rank_batches.h"
#include "debias/train/rank_resume.h"
#include "debias/train/resume_check.h"
#include "debias/train/run_parts.h"
#include "debias/train/train_log.h"

namespace debias {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string signal_name(int signal) {
  if (signal == SIGTERM) return "SIGTERM";
  if (signal == SIGINT) return "SIGINT";
  if (signal == SIGUSR1) return "SIGUSR1";
  if (signal == SIGHUP) return "SIGHUP";
  if (signal == SIGXCPU) return "SIGXCPU";
  return fmt::format("signal {}", signal);
}

bool is_interruption(const std::exception& error) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  return ours != nullptr && ours->kind() == ErrorKind::kInterrupted;
}

// The loop of one run, and what it carries from step to step.
class Run {
 public:
  Run(const TrainInput& input, const Config& resolved)
      : input_(input),
        recipe_(input.recipe),
        ranks_(*input.ranks),
        parts_(input.existing == ExistingFolder::kResume ? RunParts{} : checked_parts()),
        folder_(open_folder(resolved)),
        description_{resolved.to_yaml(), name_table(*input.dataset), input.data},
        log_(folder_ ? folder_->path() + "/train.log" : "/dev/null", *input.log),
        disk_(
            recipe_.train.on_full_disk(), input.full_disk_retry, [this] { return stop_signal() != 0; }, log_) {
    say_saved(true);
    if (input_.begun != nullptr) input_.begun->store(true);
  }

  TrainResult run() {
    const auto start = Clock::now();
    TrainResult result;
    result.folder = recipe_.output;
    result.epochs = recipe_.train.epochs();
    ResumeCheck check;
    std::optional<OpenCheckpoint> checkpoint;
    const std::string begins = ranks_.leader_says([&] {
      checkpoint = newest_checkpoint(check);
      return checkpoint ? checkpoint->state.finished ? kFinished : kResumed : kNew;
    });
    if (begins == kFinished) {
      result.already_finished = true;
      return result;
    }
    description_.data.accepted = check.accepted;
    if (!parts_.method) parts_ = checked_parts();
    if (begins == kResumed) share_checkpoint(checkpoint);
    on_leader([&] { folder_->put_in_force(parse_yaml(description_.recipe_yaml, "recipe")); });
    if (checkpoint) {
      restore_from(*checkpoint, check.forgets_best);
    } else if (folder_ && folder_->resumed()) {
      log_.warn(fmt::format("no checkpoint in '{}' yet: starting from the beginning", folder_->path()));
    }
    on_leader([&] { open_files(); });
    require_same_weights(parts_.model, fmt::format("they differ after step {}", state_.step), ranks_);
    RankBatches batches(*parts_.source, recipe_.train.batch_size(), ranks_);
    batches_ = &batches;
    if (recipe_.train.micro_batch() && *recipe_.train.micro_batch() < recipe_.train.batch_size()) {
      log_.warn(
          fmt::format("micro_batch {}: the loss sees the whole batch of {}, BatchNorm statistics are those of each part, so results "
                      "differ from one large pass",
                      *recipe_.train.micro_batch(), recipe_.train.batch_size()));
    }
    for (const auto& line : undrawn_groups(recipe_, *input_.dataset)) log_.warn(line);
    for (const auto& line : parts_.source->notes()) log_.warn(line);
    log_.note(fmt::format("precision: {}", rounding(recipe_.train)));
    if (!ranks_.is_alone()) say_how_ranks_exchange();
    last_checkpoint_ = Clock::now();
    while (state_.epoch < recipe_.train.epochs()) result.metrics = epoch();
    if (metrics_) metrics_->finish();
    result.failed_evaluations = state_.failed_evaluations;
    result.seconds = seconds_since(start);
    return result;
  }

 private:
  static constexpr const char *kNew = "new", *kResumed = "resumed", *kFinished = "finished";

  RunParts checked_parts() const {
    RunParts parts = make_run_parts(recipe_, input_.dataset, ranks_);
    for (const auto& observer : input_.observers) observer->before_training(parts.model);
    return parts;
  }

  void say_how_ranks_exchange() {
    log_.note(fmt::format("{} processes share each batch", ranks_.size()));
    const DeviceExchange devices = ranks_.device_exchange();
    if (!devices.groups.empty()) log_.note(fmt::format("tensors cross between devices, through {}", devices.groups));
    if (!devices.refusal.empty()) log_.warn(fmt::format("tensors of devices cross by way of the host: {}", devices.refusal));
  }

  Trained trained() const { return {parts_.model, *parts_.optimizers, *parts_.method, *parts_.source}; }

  // Rank 0's alone.
  std::optional<RunFolder> open_folder(const Config& resolved) const {
    if (!ranks_.leads()) return std::nullopt;
    return RunFolder::open(recipe_.output, input_.existing, resolved, input_.data_roots, *input_.log);
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
    require_possible(*checkpoint, recipe_.train.epochs());
    check = check_resume(*checkpoint, description_, folder_->path(), input_.data_change, log_);
    if (checkpoint->state.finished) require_metrics(folder_->path() + "/metrics.jsonl", checkpoint->state.metrics);
    return checkpoint;
  }

  void share_checkpoint(std::optional<OpenCheckpoint>& checkpoint) const {
    if (ranks_.leads()) return give_checkpoint(checkpoint->file.path(), ranks_);
    checkpoint = take_checkpoint(ranks_);
  }

  void open_files() {
    to_disk([&] {
      write_listings(description_.data, folder_->path());
      write_file_atomically(folder_->path() + "/classes.json", json_text(to_json(description_.names), 2) + "\n");
      for (const auto& [name, text] : input_.kept_files) write_file_atomically(folder_->path() + "/" + name, text);
      metrics_ = std::make_unique<MetricFiles>(folder_->path(), state_.metrics, log_);
    });
    metrics_->begin(parse_yaml(description_.recipe_yaml, "recipe"));
  }

  // With several processes a signal is always obeyed by the loop, so that all of them end.
  void say_saved(bool all) const {
    if (input_.all_saved != nullptr) input_.all_saved->store(all && ranks_.is_alone());
  }

  void restore_from(const OpenCheckpoint& checkpoint, bool forgets_best) {
    restore(checkpoint, trained());
    state_ = checkpoint.state;
    parts_.method->terms().restore_estimates(state_.estimates);
    require_fitting(checkpoint, {parts_.source->batches_per_epoch(), parts_.method->terms().labels().size()}, recipe_.output);
    saved_step_ = state_.step;
    if (ranks_.leads()) set_damaged_aside(checkpoint.file.path());
    if (forgets_best && state_.best_value) {
      log_.warn("what `best` is chosen by has changed: it is chosen among the epochs from now on");
      state_.best_value.reset();
    }
    for (const auto& line : changes_of_machine(state_, ranks_.size())) log_.warn(line);
    log_.info(fmt::format("resuming '{}' at epoch {}, batch {} (step {})", recipe_.output, state_.epoch + 1, state_.batch, state_.step));
  }

  // A `last` that could not be read must not take the place of the `previous` that the run goes on from.
  void set_damaged_aside(const std::string& opened) const {
    const std::string last = folder_->checkpoints() + "/last.safetensors";
    if (opened == last || !std::filesystem::exists(last)) return;
    rename_durably(last, last + ".damaged");
  }

  std::vector<std::pair<std::string, double>> epoch() {
    const int64_t batches = parts_.source->batches_per_epoch();
    begun_ = {Clock::now(), parts_.source->seconds_waited(), 0};
    input_.progress->begin(fmt::format("epoch {}/{}", state_.epoch + 1, recipe_.train.epochs()), batches);
    parts_.model.train(true);
    parts_.method->terms().begin_epoch(state_.epoch);
    parts_.source->start(state_.epoch, state_.batch);
    while (const Batch* batch = batches_->next(own_orders())) {
      say_saved(false);
      one_step(*batch, batches);
      input_.progress->advance(state_.batch, fmt::format("loss {:.4f}", state_.loss_sum / static_cast<double>(state_.batch)));
      after_step();
    }
    input_.progress->end();
    if (metrics_ && begun_.samples > 0) {
      const std::string tag = fmt::format("time/{}_per_second", input_.dataset->what());
      metrics_->timing(tag, state_.step, note_speed(""));
    }
    return end_epoch();
  }

  // Of the epoch, or of its part, that has been trained. The report reads this line (report/training_speed.h). Returns samples a second.
  double note_speed(const std::string& remark) {
    const double seconds = seconds_since(begun_.at);
    const double rate = static_cast<double>(begun_.samples) / seconds;
    log_.note(fmt::format("epoch {}: {:.1f} s, {:.0f} {}/s, waited {:.2f} s for {}{}", state_.epoch + 1, seconds, rate,
                          input_.dataset->what(), parts_.source->seconds_waited() - begun_.waited, parts_.source->what(), remark));
    return rate;
  }

  void one_step(const Batch& batch, int64_t batches) {
    note_substitutions(batch);
    const double learning_rate = parts_.schedule->learning_rate(state_.epoch, batch.number, batches);
    set_learning_rate(*parts_.optimizers->network, learning_rate);
    const StepReport report = parts_.method->run(batch, state_.step + 1);
    ++state_.batch;
    ++state_.step;
    begun_.samples += std::ssize(batch.ids);
    state_.loss_sum += report.loss;
    state_.grad_norm_sum += report.grad_norm;
    state_.evidence.add(report.evidence);
    if (state_.step % recipe_.train.log_every() == 0) log_step(report, learning_rate);
  }

  void note_substitutions(const Batch& batch) {
    state_.substituted += batch.substituted;
    for (const auto& [index, reason] : batch.unreadable) {
      if (!named_.insert(index).second) continue;
      log_.warn(fmt::format("{}; another image stands in for it (data.on_error: substitute)", reason));
    }
  }

  void log_step(const StepReport& report, double learning_rate) {
    if (!metrics_) return;
    nlohmann::ordered_json line = {{"epoch", state_.epoch + 1},
                                   {"step", state_.step},
                                   {"loss", report.loss},
                                   {"grad_norm", report.grad_norm},
                                   {"learning_rate", learning_rate}};
    const auto labels = parts_.method->terms().labels();
    for (size_t i = 0; i < labels.size(); ++i) {
      line[term_prefix(labels, i) + "anchors"] = report.evidence.terms[i].anchors;
      line[term_prefix(labels, i) + "clamped"] = report.evidence.terms[i].clamped;
    }
    for (const auto& [name, value] : report.evidence.metrics(labels)) line[name] = value;
    for (const auto& [name, value] : parts_.method->terms().scheduled()) line[name] = value;
    metrics_->write(line, state_.step);
  }

  int stop_signal() const { return input_.stop_signal == nullptr ? 0 : input_.stop_signal->load(); }

  StepOrders own_orders() const {
    const double every = recipe_.train.checkpoint_every();
    return {stop_signal(), ranks_.rank(), every > 0 && seconds_since(last_checkpoint_) >= every};
  }

  // Of one process, what it knows now; of several, what they told each other before the step.
  StepOrders orders() const { return ranks_.is_alone() ? own_orders() : batches_->orders(); }

  void after_step() {
    const StepOrders now = orders();
    if (now.stop_signal == 0 && !now.save) return;
    save();
    if (metrics_ && orders().stop_signal != 0) note_speed(fmt::format("; stopped after batch {}", state_.batch));
    stop_if_asked();
  }

  void to_disk(const std::function<void()>& write) const {
    try {
      disk_.run(write);
    } catch (const DiskFull& full) {
      const int signal = stop_signal();
      if (signal == 0 || recipe_.train.on_full_disk() == OnFullDisk::kStop) throw;
      throw Error(
          ErrorKind::kInterrupted,
          fmt::format("stopped by {} after step {} while waiting for room on the disk, so that --resume goes on from the checkpoint "
                      "before; {}",
                      signal_name(signal), state_.step, full.what()));
    }
  }

  void stop_if_asked() const {
    const StepOrders now = orders();
    if (now.stop_signal == 0) return;
    input_.progress->end();
    const std::string text = fmt::format("stopped by {} after step {} (epoch {}, batch {}); go on with --resume",
                                         signal_name(now.stop_signal), state_.step, state_.epoch + 1, state_.batch);
    if (ranks_.is_alone()) throw Error(ErrorKind::kInterrupted, text);
    throw RankLost(ErrorKind::kInterrupted, fmt::format("rank {} of {}: {}", now.stopped_rank, ranks_.size(), text));
  }

  std::vector<std::pair<std::string, double>> end_epoch() {
    const double batches = static_cast<double>(state_.batch);
    std::vector<std::pair<std::string, double>> metrics = {{"train_loss", state_.loss_sum / batches},
                                                           {"grad_norm", state_.grad_norm_sum / batches}};
    for (auto& metric : state_.evidence.metrics(parts_.method->terms().labels())) metrics.push_back(std::move(metric));
    for (auto& metric : parts_.method->terms().scheduled()) metrics.push_back(std::move(metric));
    if (recipe_.on_error == OnError::kSubstitute) metrics.emplace_back("substituted", static_cast<double>(state_.substituted));
    judge(metrics);
    ++state_.epoch;
    for (const auto& note : parts_.method->terms().take_estimates(state_.epoch, metrics)) log_.warn(note);
    state_.estimates = parts_.method->terms().estimates();
    nlohmann::ordered_json line = {{"epoch", state_.epoch}};
    std::string text;
    for (const auto& [name, value] : metrics) {
      line[name] = value;
      text += fmt::format(", {} {:.4f}", name, value);
    }
    if (metrics_) metrics_->write(line, state_.step);
    log_.info(fmt::format("epoch {}/{}{}", state_.epoch, recipe_.train.epochs(), text));
    state_.batch = 0;
    state_.loss_sum = state_.grad_norm_sum = 0;
    state_.substituted = 0;
    state_.evidence = {};
    state_.finished = state_.epoch == recipe_.train.epochs();
    on_leader([&] { keep_best(metrics); });
    save();
    if (!state_.finished) stop_if_asked();
    return metrics;
  }

  bool is_judged() const {
    return std::any_of(input_.observers.begin(), input_.observers.end(),
                       [&](const auto& observer) { return observer->is_due(state_.epoch + 1, recipe_.train.epochs()); });
  }

  // Rank 0 judges; the metrics are told to all, since training may go by them.
  void judge(std::vector<std::pair<std::string, double>>& metrics) {
    const std::string due = ranks_.leader_says([&] { return is_judged() ? "due" : ""; });
    if (due.empty()) return;
    if (saved_step_ != state_.step) save();
    const std::string told = ranks_.leader_says([&] {
      judge_here(metrics);
      const auto packed = nlohmann::json::to_cbor(nlohmann::json(metrics));
      return std::string(packed.begin(), packed.end());
    });
    if (!ranks_.leads()) metrics = nlohmann::json::from_cbor(told).get<Metrics>();
  }

  void judge_here(std::vector<std::pair<std::string, double>>& metrics) {
    const int64_t epoch = state_.epoch + 1, epochs = recipe_.train.epochs();
    for (const auto& observer : input_.observers) {
      if (!observer->is_due(epoch, epochs)) continue;
      try {
        Metrics more;
        to_disk([&] { more = observer->after_epoch({epoch, epochs, parts_.model}); });
        for (auto& metric : more) metrics.push_back(std::move(metric));
      } catch (const std::exception& error) {
        input_.progress->end();
        if (is_interruption(error)) throw;
        if (observer->feeds_training() || recipe_.evaluate.on_error() == EvaluationFailure::kStop) throw;
        state_.failed_evaluations.push_back({epoch, error.what()});
        log_.warn(
            fmt::format("the evaluation after epoch {} failed: {}; training goes on (evaluate.on_error: continue)", epoch, error.what()));
      }
    }
  }

  void keep_best(const std::vector<std::pair<std::string, double>>& metrics) {
    const std::string& select = recipe_.evaluate.select();
    if (select.empty()) return;
    std::vector<std::string> names;
    for (const auto& metric : metrics) names.push_back(metric.first);
    const bool evaluated = std::any_of(names.begin(), names.end(), [](const auto& name) { return name.starts_with("valid."); });
    if (evaluated && std::find(names.begin(), names.end(), select) == names.end()) {
      throw usage_error("evaluate: select '{}' is not among the metrics of the validation set{}", select, suggestion(select, names));
    }
    for (const auto& [name, value] : metrics) {
      if (name != select || (state_.best_value && value <= *state_.best_value)) continue;
      state_.best_value = value;
      state_.best_epoch = state_.epoch;
      to_disk([&] {
        prepare_to_save();
        save_checkpoint(folder_->checkpoints() + "/best.safetensors", trained(), state_, description_);
      });
    }
  }

  void require_finite_weights() const {
    for (const auto& [name, tensor] : parts_.model.state()) {
      if (!tensor.is_floating_point() || at::isfinite(tensor).all().item<bool>()) continue;
      throw numeric_error("training stopped after step {}: '{}' is not finite, so it is not saved; lower the learning rate", state_.step,
                          name);
    }
  }

  void prepare_to_save() {
    require_finite_weights();
    state_.metrics = metrics_->commit();
    state_.threads = at::get_num_threads();
    state_.ranks = ranks_.size();
    state_.instruction_set = instruction_set();
  }

  void save() {
    require_same_weights(parts_.model, fmt::format("they differ after step {}, so nothing is saved", state_.step), ranks_);
    on_leader([&] {
      to_disk([&] {
        prepare_to_save();
        save_generation(folder_->checkpoints(), trained(), state_, description_);
      });
    });
    last_checkpoint_ = Clock::now();
    saved_step_ = state_.step;
    say_saved(true);
  }

  const TrainInput& input_;
  const Recipe& recipe_;
  const Ranks& ranks_;
  RunParts parts_;                   // of a new run before its folder, so that a recipe that cannot run leaves none
  std::optional<RunFolder> folder_;  // rank 0's alone
  RunDescription description_;
  TrainLog log_;
  DiskWait disk_;
  std::unique_ptr<MetricFiles> metrics_;  // likewise
  RankBatches* batches_ = nullptr;
  TrainingState state_;
  int64_t saved_step_ = -1;  // of the last checkpoint
  std::set<int64_t> named_;  // unreadable images
  struct {
    Clock::time_point at;
    double waited = 0;
    int64_t samples = 0;  // seen since
  } begun_;               // with the epoch, or with what was left of it
  Clock::time_point last_checkpoint_;
};

}  // namespace

TrainResult train(const TrainInput& input) {
  if (input.recipe.output.empty()) throw usage_error("train: no output folder is given; write `output: runs/NAME` or add output=runs/NAME");
  const Config resolved = resolve_recipe(input.recipe, *input.dataset);
  require_same_training(resolved.to_yaml(), input.data, *input.ranks);
  return Run(input, resolved).run();
}

}  // namespace debias
