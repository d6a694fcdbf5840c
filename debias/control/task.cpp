#include "debias/control/task.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <mutex>
#include <numeric>

#include "debias/core/error.h"
#include "debias/core/input_file.h"

namespace debias {

const std::vector<Task>& task_registry() {
  static const std::vector<Task> registry = {finger_spin(), cartpole_swingup(), reacher_easy(),
                                             cheetah_run(), walker_walk(),      ball_in_cup_catch()};
  return registry;
}

MujocoModel make_model(const Task& task) {
  MujocoModel model(task.name, task.mjcf);
  if (std::abs(model.mass() - task.mass) > 1e-4 * task.mass) {
    throw Error(ErrorKind::kFailure,
                fmt::format("task '{}': MuJoCo {} makes a model of {:.6f} kg of it, where {:.6f} is known; use MuJoCo 2.2.2 (package "
                            "libmujoco-dev; in a checkout: scripts/bootstrap.sh --rl)",
                            task.name, mujoco_version(), model.mass(), task.mass));
  }
  task.prepare(model);
  return model;
}

void begin_episode(const Task& task, MujocoModel& model, Random& draws) {
  model.reset();
  task.begin(model, draws);
  model.forward_without_actuation();
}

namespace {

// MuJoCo's own handler ends the process; its warnings go to a file MUJOCO_LOG.TXT in the working directory.
void refuse(const char* message) { throw Error(ErrorKind::kFailure, fmt::format("MuJoCo stopped: {}", message)); }
void stay_silent(const char*) {}

std::string version_text(int number) { return fmt::format("{}.{}.{}", number / 100, number / 10 % 10, number % 10); }

void begin_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    mju_user_error = refuse;
    mju_user_warning = stay_silent;
  });
  if (mj_version() == mjVERSION_HEADER) return;
  throw usage_error("MuJoCo {} is loaded, and this program was built with {}; install that one, or build again with MUJOCO=DIR",
                    version_text(mj_version()), version_text(mjVERSION_HEADER));
}

// A file in memory: versions of MuJoCo differ in how a text is passed to them, and agree on file names.
class TextFile {
 public:
  explicit TextFile(const std::string& text) : file_(memfd_create("mjcf", MFD_CLOEXEC)) {
    const auto size = static_cast<ssize_t>(text.size());
    if (file_.value() < 0 || write(file_.value(), text.data(), text.size()) != size) {
      throw resource_error("no memory for a file with a model; free some");
    }
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", file_.value()); }

 private:
  Descriptor file_;
};

mjModel* compiled(const std::string& name, const std::string& mjcf) {
  begin_library();
  const TextFile file(mjcf);
  std::array<char, 500> reason{};
  mjModel* model = mj_loadXML(file.path().c_str(), nullptr, reason.data(), static_cast<int>(reason.size()));
  if (model != nullptr) return model;
  throw Error(ErrorKind::kFailure,
              fmt::format("model '{}': MuJoCo {} rejects it: {}; use MuJoCo 2.2.2 (package libmujoco-dev; in a checkout: "
                          "scripts/bootstrap.sh --rl)",
                          name, mujoco_version(), reason.data()));
}

}  // namespace

MujocoModel::MujocoModel(const std::string& name, const std::string& mjcf)
    : model_(compiled(name, mjcf), mj_deleteModel), data_(mj_makeData(model_.get()), mj_deleteData) {
  reset();
}

void MujocoModel::reset() {
  mj_resetData(model_.get(), data_.get());
  forward_without_actuation();
}

void MujocoModel::forward_without_actuation() {
  const int kept = model_->opt.disableflags;
  model_->opt.disableflags |= mjDSBL_ACTUATION;
  mj_forward(model_.get(), data_.get());
  model_->opt.disableflags = kept;
}

void MujocoModel::step(int substeps) {
  const bool in_one_piece = model_->opt.integrator == mjINT_RK4;  // which has no two halves
  if (!in_one_piece) mj_step2(model_.get(), data_.get());
  for (int i = in_one_piece ? 0 : 1; i < substeps; ++i) mj_step(model_.get(), data_.get());
  mj_step1(model_.get(), data_.get());
}

bool MujocoModel::diverged() const {
  for (const mjtWarning kind : {mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC, mjWARN_BADCTRL}) {
    if (data_->warning[kind].number > 0) return true;
  }
  return false;
}

int MujocoModel::id(mjtObj kind, const char* name) const {
  const int found = mj_name2id(model_.get(), kind, name);
  if (found < 0) throw Error(ErrorKind::kFailure, fmt::format("the model has no '{}'", name));
  return found;
}

double MujocoModel::sensor(const char* name) const { return data_->sensordata[model_->sensor_adr[id(mjOBJ_SENSOR, name)]]; }

double MujocoModel::mass() const { return std::accumulate(model_->body_mass, model_->body_mass + model_->nbody, 0.0); }

std::string mujoco_version() { return version_text(mj_version()); }

// Each form is written as dm_control writes it, so that rewards agree in the last digit.
double tolerance(double x, const Tolerance& within) {
  if (within.low <= x && x <= within.high) return 1;
  if (within.margin == 0) return 0;
  const double d = (x < within.low ? within.low - x : x - within.high) / within.margin, v = within.value_at_margin;
  switch (within.sigmoid) {
    case Sigmoid::kGaussian: {
      const double scale = std::sqrt(-2 * std::log(v));
      return std::exp(-0.5 * std::pow(d * scale, 2));
    }
    case Sigmoid::kLinear: {
      const double scaled = d * (1 - v);
      return std::abs(scaled) < 1 ? 1 - scaled : 0;
    }
    case Sigmoid::kQuadratic: {
      const double scaled = d * std::sqrt(1 - v);
      return std::abs(scaled) < 1 ? 1 - scaled * scaled : 0;
    }
  }
  return 0;
}

}  // namespace debias
