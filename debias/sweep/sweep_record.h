// OUTPUT/sweep.json: what a sweep consists of and how far each run has come.
//
// Several processes may work on one output, a shard each (`--shard`): every change is made to the file as it is then, under a lock. It
// holds no times, so that a sweep that was stopped and resumed ends with the bytes of one that was not.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debias/core/input_file.h"
#include "debias/sweep/sweep_plan.h"

namespace debias {

enum class RunState { kWaiting, kRunning, kStopped, kFailed, kFinished };
const char* to_text(RunState state);

struct RecordedRun {
  SweepPoint point;
  std::string seed;
  RunState state = RunState::kWaiting;
  int exit = 0;         // of a failed run
  std::string message;  // the same

  std::string name() const;  // as SweepRun::name()
};

struct SweepRecord {
  std::string metric;
  std::vector<std::string> grid;
  std::vector<RecordedRun> runs;
  std::vector<VariantAxis> axes = {};  // none in the records of older versions

  const RecordedRun* find(const std::string& name) const;
};

inline constexpr const char* kSweepFile = "sweep.json";

bool has_sweep_record(const std::string& output);

// Data errors, naming the file, where it is missing or damaged.
SweepRecord read_sweep_record(const std::string& output);

// Writes the plan into OUTPUT (which is made), with the states that its runs have there; runs of the file that the plan lacks go.
// Usage errors: OUTPUT is a file, holds something but no sweep, or a sweep that shares no run with this one.
SweepRecord open_sweep_record(const SweepPlan& plan);

// Throws those usage errors, and writes nothing.
void require_own_output(const SweepPlan& plan);

// The record as it is now, after the change.
SweepRecord record_state(const std::string& output, const RecordedRun& run);

// A lock on a folder that lasts as long as the object, or the process.
class FolderLock {
 public:
  // Creates and locks the file NAME in the folder. Waits while another process has it.
  static FolderLock wait(const std::string& folder, const std::string& name);
  // The same without waiting: a usage error that ends with `otherwise`.
  static FolderLock take(const std::string& folder, const std::string& name, const std::string& otherwise);

 private:
  explicit FolderLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace debias
