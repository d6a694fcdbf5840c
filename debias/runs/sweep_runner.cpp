#include "debias/runs/sweep_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"
#include "debias/core/human_units.h"
#include "debias/process/child_process.h"
#include "debias/report/metric_title.h"
#include "debias/sweep/sweep_record.h"
#include "debias/train/recipe/hyper_parameters.h"
#include "debias/train/state/metric_files.h"
#include "debias/train/state/run_folder.h"

namespace debias {
namespace {

namespace fs = std::filesystem;
using SweepClock = std::chrono::steady_clock;

constexpr int kResumableExit = 75, kFirstSignalExit = 128;

int64_t length_of(const std::string& file) {
  std::error_code code;
  const auto length = fs::file_size(file, code);
  return code ? 0 : static_cast<int64_t>(length);
}

// Message of a failed run since then: the last line of the program's own, without its name.
std::string last_complaint(const std::string& log, int64_t since) {
  constexpr std::string_view kName = "debias: ";
  std::ifstream file(log);
  file.seekg(since);
  std::string found;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kName)) found = line.substr(kName.size());
  }
  return found;
}

struct RunningJob {
  ChildProcess process;
  size_t run;  // number in the plan
  int slot;
  SweepClock::time_point started;
  int64_t log_begin;  // what its log held before, of earlier attempts
};

class SweepJobs {
 public:
  SweepJobs(const SweepPlan& plan, const std::vector<size_t>& to_do, int jobs, const StopSignals& signals, Log& log)
      : plan_(plan), to_do_(to_do), jobs_(jobs), signals_(signals), log_(log) {}

  void run() {
    constexpr std::chrono::milliseconds kPause(30);
    while (true) {
      while (!stopping_ && next_ < to_do_.size() && running_.size() < static_cast<size_t>(jobs_)) start(to_do_[next_++]);
      if (running_.empty()) return;
      std::this_thread::sleep_for(kPause);
      if (signals_.received.load() != 0 && !stopping_) stop();
      reap();
    }
  }

 private:
  void start(size_t number) {
    const SweepRun& run = plan_.runs[number];
    constexpr std::chrono::seconds kPatience(10);
    const std::vector<std::string> words = write_run_recipe(plan_, run);
    wait_until_unlocked(plan_.output + "/" + run.name(),
                        kPatience);  // of a sweep that was killed; a run that lives on is the next one's complaint
    record(number, RunState::kRunning);
    log_.info(fmt::format("[{}/{}] {}: started", next_, to_do_.size(), run.name()));
    const int slot = free_slot();
    const int64_t log_begin = length_of(log_path(run));
    running_.push_back({ChildProcess::start(words, log_path(run), share_of_cpus(slot, jobs_)), number, slot, SweepClock::now(), log_begin});
  }

  int free_slot() const {
    int slot = 0;
    while (std::ranges::any_of(running_, [&](const RunningJob& job) { return job.slot == slot; })) ++slot;
    return slot;
  }

  void stop() {
    stopping_ = true;
    log_.info(fmt::format("stopping: {} in progress {} a checkpoint", running_.size(), running_.size() == 1 ? "writes" : "write"));
    for (const auto& job : running_) job.process.signal(SIGTERM);
  }

  void reap() {
    for (size_t i = running_.size(); i-- > 0;) {
      const auto exit = running_[i].process.ended();
      if (!exit) continue;
      const RunningJob job = running_[i];
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      take(job, *exit);
    }
  }

  void take(const RunningJob& job, int exit) {
    const SweepRun& run = plan_.runs[job.run];
    const double seconds = std::chrono::duration<double>(SweepClock::now() - job.started).count();
    if (exit == 0) {
      record(job.run, RunState::kFinished);
      log_.info(fmt::format("{}: finished after {}", run.name(), duration_text(seconds)));
    } else if (exit == kResumableExit || (stopping_ && exit > kFirstSignalExit)) {
      record(job.run, RunState::kStopped);
      log_.info(fmt::format("{}: stopped, to continue later", run.name()));
    } else {
      std::string message = last_complaint(log_path(run), job.log_begin);
      if (message.empty()) message = exit > kFirstSignalExit ? fmt::format("ended by signal {}", exit - kFirstSignalExit) : "no message";
      record(job.run, RunState::kFailed, exit, message);
      log_.warn(fmt::format("{}: failed (exit {}): {}", run.name(), exit, message));
    }
  }

  void record(size_t number, RunState state, int exit = 0, const std::string& message = "") const {
    const SweepRun& run = plan_.runs[number];
    record_state(plan_.output, {run.point, run.seed, state, exit, message});
  }

  std::string log_path(const SweepRun& run) const { return plan_.output + "/" + run.name() + ".log"; }

  const SweepPlan& plan_;
  const std::vector<size_t>& to_do_;
  int jobs_;
  const StopSignals& signals_;
  Log& log_;
  std::vector<RunningJob> running_;
  size_t next_ = 0;
  bool stopping_ = false;
};

// The options that differ between settings, for TensorBoard, where the sweep's folder is one table then.
void write_experiment(const SweepPlan& plan, const CheckedPoints& points) {
  std::vector<std::string> order = {"seed"};
  std::map<std::string, std::set<std::string>> values;
  for (const auto& [number, point] : points) {
    for (const auto& [name, value] : hyper_parameters(point.recipe)) {
      if (values[name].insert(value.text()).second && values[name].size() == 2 && name != "seed") order.push_back(name);
    }
  }
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(plan.output, ignored)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) std::filesystem::remove(entry.path(), ignored);
  }
  const auto metrics = metric_names(plan.metric);
  const std::string first_metric = metrics.empty() ? "" : metrics.front();
  TensorBoardWriter(plan.output).plugin(kExperimentTag, kHyperPlugin, experiment(order, {first_metric}));
}

std::string counted(size_t count, const char* one, const char* many) { return fmt::format("{} {}", count, count == 1 ? one : many); }

}  // namespace

bool is_finished(const std::string& output, const RecordedRun& run) {
  return run.state == RunState::kFinished && fs::exists(output + "/" + run.name() + "/checkpoints/last.safetensors");
}

std::vector<size_t> runs_to_do(const SweepPlan& plan, const SweepRecord& record, const Shard& shard) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    const RecordedRun* run = record.find(plan.runs[i].name());
    if (shard.has(i) && (run == nullptr || !is_finished(plan.output, *run))) numbers.push_back(i);
  }
  return numbers;
}

std::vector<std::string> write_run_recipe(const SweepPlan& plan, const SweepRun& run) {
  const std::string path = plan.output + "/" + run.name() + ".yaml";
  std::error_code code;
  fs::create_directories(fs::path(path).parent_path(), code);
  if (code) throw resource_error("creating '{}': {}; choose another output", fs::path(path).parent_path().string(), code.message());
  write_file_atomically(path, run.recipe.to_yaml());
  std::vector<std::string> words = run.verb();
  words.insert(words.end(), {path, "--resume"});
  return words;
}

SweepRecord sweep_record_if_any(const SweepPlan& plan) {
  require_own_output(plan);
  return has_sweep_record(plan.output) ? read_sweep_record(plan.output) : SweepRecord{plan.metric, plan.grid, {}};
}

std::set<size_t> points_of(const SweepPlan& plan, const Shard& shard) {
  std::set<size_t> points;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    if (shard.has(i)) points.insert(i / plan.seeds.size());
  }
  return points;
}

std::string size_text(const SweepPlan& plan) {
  return fmt::format("{} ({}, {} each)", counted(plan.runs.size(), "run", "runs"), counted(plan.points.size(), "setting", "settings"),
                     counted(plan.seeds.size(), "seed", "seeds"));
}

SweepRecord run_sweep(const SweepPlan& plan, const CheckedPoints& points, const SweepJobOptions& options, const StopSignals& signals,
                      Log& log) {
  const Shard& shard = options.shard;
  const SweepRecord record = open_sweep_record(plan);
  const FolderLock lock = FolderLock::take(plan.output, fmt::format(".shard-{}-of-{}.lock", shard.number, shard.of),
                                           fmt::format("{}: another process is at work on '{}'; wait for it{}", plan.verb, plan.output,
                                                       plan.points.size() > 1 ? ", or take a --shard each" : ""));
  write_experiment(plan, points);
  const std::vector<size_t> to_do = runs_to_do(plan, record, shard);
  if (to_do.size() < plan.runs.size()) log.info(fmt::format("{}: {}, {} to do here", plan.output, size_text(plan), to_do.size()));
  SweepJobs(plan, to_do, options.jobs, signals, log).run();
  return read_sweep_record(plan.output);
}

void require_finished(const SweepPlan& plan, const SweepRecord& record, const Shard& shard, int signal) {
  size_t failed = 0, unfinished = 0;
  std::string first;
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    const RecordedRun* run = record.find(plan.runs[i].name());
    if (!shard.has(i) || run == nullptr || run->state == RunState::kFinished) continue;
    ++unfinished;
    if (run->state == RunState::kFailed && ++failed == 1) first = fmt::format("{} (exit {}): {}", run->name(), run->exit, run->message);
  }
  if (unfinished == 0) return;
  const bool stopped = signal != 0 || unfinished > failed;
  const std::string more = failed > 1 ? fmt::format(" ({} others failed, too)", failed - 1) : "";
  if (!stopped) {
    throw Error(ErrorKind::kFailure, fmt::format("{}: {} of {} failed: {}{}; {} tries again", plan.verb, failed,
                                                 counted(plan.runs.size(), "run", "runs"), first, more, plan.again));
  }
  throw Error(ErrorKind::kInterrupted, fmt::format("{}: stopped with {} to go{}; {} continues", plan.verb,
                                                   counted(unfinished, "run", "runs"), failed == 0 ? "" : ", " + first + more, plan.again));
}

}  // namespace debias
