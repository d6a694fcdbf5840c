#include "debias/sweep/sweep_record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "debias/core/atomic_file.h"
#include "debias/core/error.h"

namespace debias {
namespace {

namespace fs = std::filesystem;

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<RunState, const char*>, 5> kStates = {{{RunState::kWaiting, "waiting"},
                                                                      {RunState::kRunning, "running"},
                                                                      {RunState::kStopped, "stopped"},
                                                                      {RunState::kFailed, "failed"},
                                                                      {RunState::kFinished, "finished"}}};

std::string record_path(const std::string& output) { return output + "/" + kSweepFile; }

FolderLock record_lock(const std::string& output) { return FolderLock::wait(output, ".sweep.lock"); }

RunState state_of(const std::string& text) {
  for (const auto& [state, name] : kStates) {
    if (text == name) return state;
  }
  return RunState::kWaiting;
}

Json to_json(const RecordedRun& run) {
  Json json = {
      {"name", run.name()}, {"variant", run.point.variant}, {"grid", Json::object()}, {"seed", run.seed}, {"state", to_text(run.state)}};
  for (const auto& [key, value] : run.point.grid) json["grid"][key] = value;
  if (run.state == RunState::kFailed) {
    json["exit"] = run.exit;
    json["message"] = run.message;
  }
  return json;
}

RecordedRun run_from(const Json& json) {
  RecordedRun run;
  run.point.variant = json.at("variant").get<std::string>();
  for (const auto& [key, value] : json.at("grid").items()) run.point.grid.emplace_back(key, value.get<std::string>());
  run.seed = json.at("seed").get<std::string>();
  run.state = state_of(json.at("state").get<std::string>());
  run.exit = json.value("exit", 0);
  run.message = json.value("message", "");
  return run;
}

Json to_json(const VariantAxis& axis) {
  Json json = {{"over", axis.over}, {"line", axis.line}, {"variants", Json::object()}};
  for (const auto& [variant, number] : axis.variants) json["variants"][variant] = number;
  return json;
}

VariantAxis axis_from(const Json& json) {
  VariantAxis axis{json.at("over").get<std::string>(), json.at("line").get<std::string>(), {}};
  for (const auto& [variant, number] : json.at("variants").items()) axis.variants.emplace_back(variant, number.get<double>());
  return axis;
}

void write_record(const std::string& output, const SweepRecord& record) {
  Json json = {{"metric", record.metric}, {"grid", record.grid}};
  for (const auto& axis : record.axes) json["axes"].push_back(to_json(axis));
  json["runs"] = Json::array();
  for (const auto& run : record.runs) json["runs"].push_back(to_json(run));
  write_file_atomically(record_path(output), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

// Nothing, or what a sweep that was stopped at its very start has left.
bool is_empty(const std::string& folder) {
  return std::ranges::all_of(fs::directory_iterator(folder),
                             [](const auto& entry) { return entry.path().filename().string().starts_with("."); });
}

SweepRecord record_of(const SweepPlan& plan) {
  SweepRecord record{plan.metric, plan.grid, {}, plan.axes};
  for (const auto& run : plan.runs) record.runs.push_back({run.point, run.seed, RunState::kWaiting, 0, ""});
  return record;
}

// Finished runs of this plan's settings with seeds that it does not ask for any more: they are still results.
void keep_other_seeds(const SweepRecord& before, const SweepPlan& plan, SweepRecord& record) {
  for (const auto& run : before.runs) {
    if (run.state != RunState::kFinished || record.find(run.name()) != nullptr) continue;
    const bool is_of_plan = std::ranges::any_of(
        plan.points, [&](const SweepPoint& point) { return point.variant == run.point.variant && point.grid == run.point.grid; });
    if (is_of_plan) record.runs.push_back(run);
  }
}

}  // namespace

const char* to_text(RunState state) { return std::ranges::find(kStates, state, &std::pair<RunState, const char*>::first)->second; }

std::string RecordedRun::name() const { return SweepRun{point, seed, {}}.name(); }

const RecordedRun* SweepRecord::find(const std::string& name) const {
  const auto found = std::ranges::find_if(runs, [&](const RecordedRun& run) { return run.name() == name; });
  return found == runs.end() ? nullptr : &*found;
}

bool has_sweep_record(const std::string& output) {
  std::error_code ignored;
  return fs::is_regular_file(record_path(output), ignored);
}

SweepRecord read_sweep_record(const std::string& output) {
  const std::string path = record_path(output);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw data_error("reading '{}': no such readable file; give the output of a sweep", path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  try {
    const Json json = Json::parse(text);
    SweepRecord record{json.at("metric").get<std::string>(), json.at("grid").get<std::vector<std::string>>(), {}};
    for (const auto& axis : json.value("axes", Json::array())) record.axes.push_back(axis_from(axis));
    for (const auto& run : json.at("runs")) record.runs.push_back(run_from(run));
    return record;
  } catch (const nlohmann::json::exception& error) {
    throw data_error("reading '{}': not a sweep's record ({}); remove it, and `debias sweep` writes it again from the runs", path,
                     error.what());
  }
}

void require_own_output(const SweepPlan& plan) {
  std::error_code ignored;
  if (!fs::exists(plan.output, ignored)) return;
  if (!fs::is_directory(plan.output)) throw usage_error("{}: output '{}' is a file; choose another output", plan.verb, plan.output);
  if (!has_sweep_record(plan.output)) {
    if (is_empty(plan.output)) return;
    const bool any =
        std::ranges::any_of(plan.runs, [&](const SweepRun& run) { return fs::exists(plan.output + "/" + run.name() + "/config.yaml"); });
    if (any) return;  // sweep.json was removed
    throw usage_error("{}: output '{}' exists and has none of these runs; choose another output", plan.verb, plan.output);
  }
  const SweepRecord record = read_sweep_record(plan.output);
  if (std::ranges::any_of(plan.runs, [&](const SweepRun& run) { return record.find(run.name()) != nullptr; })) return;
  throw usage_error("{}: output '{}' is that of another sweep, which has none of these runs; choose another output", plan.verb,
                    plan.output);
}

SweepRecord open_sweep_record(const SweepPlan& plan) {
  require_own_output(plan);
  std::error_code code;
  fs::create_directories(plan.output, code);
  if (code) throw resource_error("creating '{}': {}; choose another output", plan.output, code.message());
  const FolderLock lock = record_lock(plan.output);
  SweepRecord record = record_of(plan);
  if (has_sweep_record(plan.output)) {
    const SweepRecord before = read_sweep_record(plan.output);
    for (auto& run : record.runs) {
      if (const RecordedRun* known = before.find(run.name())) run = *known;
    }
    keep_other_seeds(before, plan, record);
  }
  write_record(plan.output, record);
  return record;
}

SweepRecord record_state(const std::string& output, const RecordedRun& changed) {
  const FolderLock lock = record_lock(output);
  SweepRecord record = read_sweep_record(output);
  for (auto& run : record.runs) {
    if (run.name() == changed.name()) run = changed;
  }
  write_record(output, record);
  return record;
}

namespace {

// Not inherited by children, which may outlive the process.
Descriptor opened(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file.value() < 0) throw resource_error("opening '{}': {}; check its permissions", path, std::strerror(errno));
  return file;
}

// False while another process has it. Where the file system has no locks, the lock is had.
bool locked(int descriptor, int operation) {
  while (flock(descriptor, operation) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) return true;
  }
  return true;
}

}  // namespace

FolderLock FolderLock::wait(const std::string& folder, const std::string& name) {
  FolderLock lock(opened(folder + "/" + name));
  locked(lock.file_.value(), LOCK_EX);
  return lock;
}

FolderLock FolderLock::take(const std::string& folder, const std::string& name, const std::string& otherwise) {
  FolderLock lock(opened(folder + "/" + name));
  if (!locked(lock.file_.value(), LOCK_EX | LOCK_NB)) throw Error(ErrorKind::kUsage, otherwise);
  return lock;
}

}  // namespace debias
